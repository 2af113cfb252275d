import { classify, Fault, type MessageKind, type RpcResponse } from './message.ts'

/** A message of a batch that was received. */
export interface BatchMember {
  readonly message: unknown
  readonly kind: MessageKind
}

/** The kind of a received value. For a batch: its members, each with its own kind. */
export type ReceivedKind = MessageKind | readonly BatchMember[]

export interface BatchRules {
  /** Whether the revision of the peer has batches. */
  readonly batching: boolean
  readonly maxBatch: number
}

/** Classifies a received value, which may be a batch. */
export function classifyReceived(value: unknown, rules: BatchRules): ReceivedKind {
  return Array.isArray(value) ? classifyMembers(value, rules) : classify(value)
}

/** Whether a received value is a batch. */
export function isBatch(kind: ReceivedKind): kind is readonly BatchMember[] {
  return typeof kind === 'object' && !(kind instanceof Fault)
}

function classifyMembers(messages: readonly unknown[], { batching, maxBatch }: BatchRules): ReceivedKind {
  if (!batching)
    return new Fault(-32600, 'Batches are not supported in this protocol revision: send one message at a time')
  if (messages.length === 0) return new Fault(-32600, 'A batch cannot be empty')
  if (messages.length > maxBatch) return new Fault(-32600, `A batch can have at most ${maxBatch} messages`)
  return messages.map((message) => ({ message, kind: classify(message) }))
}

/** Collects the responses to one batch (2025-03-26) and sends them together. A batch of notifications has none. */
export class Batch {
  readonly #responses: RpcResponse[] = []
  readonly #send: (responses: RpcResponse[]) => void
  #expected = 0
  #isSealed = false

  constructor(send: (responses: RpcResponse[]) => void) {
    this.#send = send
  }

  /** Adds one more member that `settle` will be called for. */
  expect(): void {
    this.#expected++
  }

  /** Adds a response that is known already. */
  answer(response: RpcResponse): void {
    this.#responses.push(response)
  }

  /** @param response Undefined when the member was cancelled and gets no response. */
  settle(response: RpcResponse | undefined): void {
    if (response) this.#responses.push(response)
    this.#expected--
    this.#sendIfComplete()
  }

  /** Every member has been passed on. */
  seal(): void {
    this.#isSealed = true
    this.#sendIfComplete()
  }

  #sendIfComplete(): void {
    if (this.#isSealed && this.#expected === 0) this.#send(this.#responses)
  }
}
