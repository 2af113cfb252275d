import { isObject, type JsonObject } from '../util/objects.ts'

export type RequestId = string | number
export type Params = JsonObject
export type ResultObject = JsonObject

export interface RpcRequest {
  jsonrpc: '2.0'
  id: RequestId
  method: string
  params?: Params
}
export interface RpcNotification {
  jsonrpc: '2.0'
  method: string
  params?: Params
}
export interface RpcErrorBody {
  code: number
  message: string
  data?: unknown
}
export interface RpcResponse {
  jsonrpc: '2.0'
  /** Absent or null only on an error whose request could not be read. */
  id?: RequestId | null
  result?: ResultObject
  error?: RpcErrorBody
}
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse

/** Describes why received input is not a valid message, with the code and text of the error response. */
export class Fault {
  readonly code: number
  readonly message: string
  /** The id of the invalid message, if it could be read. */
  readonly id: RequestId | undefined
  /** What the message was meant to be. A response is never answered; without method, result and error it could be either. */
  readonly meant: 'request' | 'response' | 'either'

  constructor(code: number, message: string, id?: RequestId, meant: Fault['meant'] = 'request') {
    this.code = code
    this.message = message
    this.id = id
    this.meant = meant
  }
}

/** A result that is JSON text already, so that a list is serialised once instead of for every caller. */
export class Prepared {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** What a received value is: one of the three kinds of message, or a `Fault` that says what is wrong with it. */
export type MessageKind = 'request' | 'notification' | 'response' | Fault

/**
 * Checks the shape of a received message. Call it once, where the message is parsed, and pass the kind on with the message.
 */
export function classify(value: unknown): MessageKind {
  if (!isObject(value)) return new Fault(-32600, 'A message must be a JSON object')
  if (value.jsonrpc !== '2.0') return refuse(value, 'jsonrpc must be the string "2.0"')
  if (value.method === undefined) return classifyResponse(value)
  if (typeof value.method !== 'string') return refuse(value, 'method must be a string')
  if (value.params !== undefined && !isObject(value.params)) return refuse(value, 'params must be an object')
  if (value.result !== undefined || value.error !== undefined) {
    return refuse(value, 'A message cannot be both a request and a response')
  }
  if (value.id === undefined) return 'notification'
  return isRequestId(value.id) ? 'request' : refuse(value, idRule)
}

/** Narrows a message by the kind that `classify` found. */
export function isRequest(value: unknown, kind: unknown): value is RpcRequest {
  return kind === 'request'
}

/** Narrows a message by the kind that `classify` found. */
export function isNotification(value: unknown, kind: unknown): value is RpcNotification {
  return kind === 'notification'
}

/** Narrows a message by the kind that `classify` found. */
export function isResponse(value: unknown, kind: unknown): value is RpcResponse {
  return kind === 'response'
}

/** Ids are strings, or integers that survive a round trip through JSON. Fractions and null are invalid. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))
}

const idRule = 'id must be a string or a safe integer'

function classifyResponse(value: JsonObject): 'response' | Fault {
  const hasResult = value.result !== undefined
  if (hasResult === (value.error !== undefined)) {
    return refuse(value, 'A message needs a method, or exactly one of result and error')
  }
  if (hasResult) {
    if (!isObject(value.result)) return refuse(value, 'result must be an object')
    return isRequestId(value.id) ? 'response' : refuse(value, idRule)
  }
  const error = value.error
  if (!isObject(error) || !Number.isInteger(error.code) || typeof error.message !== 'string') {
    return refuse(value, 'error must have an integer code and a string message')
  }
  // From 2025-11-25 on, an error may have no id if the id of the request could not be read.
  return value.id === undefined || value.id === null || isRequestId(value.id) ? 'response' : refuse(value, idRule)
}

function refuse(value: JsonObject, message: string): Fault {
  return new Fault(-32600, message, isRequestId(value.id) ? value.id : undefined, meantAs(value))
}

function meantAs(value: JsonObject): Fault['meant'] {
  if (value.method !== undefined) return 'request'
  return value.result !== undefined || value.error !== undefined ? 'response' : 'either'
}

/** A result that cannot be written as JSON. */
export class Unsendable extends Error {
  readonly result: unknown

  constructor(result: unknown, cause: unknown) {
    super('A result cannot be written as JSON', { cause })
    this.result = result
  }
}

/** Serialises a result; throws `Unsendable`. */
export function toResultText(result: ResultObject): string {
  try {
    return JSON.stringify(result)
  } catch (cause) {
    throw new Unsendable(result, cause)
  }
}

/** Serialises a response. Built by hand, so that a prepared result is inserted as it is. */
export function encodeResult(id: RequestId, result: ResultObject | Prepared): string {
  const body = result instanceof Prepared ? result.json : JSON.stringify(result)
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${body}}`
}

/**
 * Serialises a request. `_meta` is inserted as text, because the progress token and the client's details would otherwise be
 * built as objects for every request.
 * @param meta Members of `_meta` as JSON text without braces, such as `"a":1,"b":2`.
 */
export function encodeRequest(id: number, method: string, params: Params | undefined, meta: string): string {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`
  if (meta === '') return params ? `${head},"params":${JSON.stringify(params)}}` : `${head}}`
  if (params?._meta !== undefined) {
    const merged = { ...params, _meta: { ...(params._meta as object), ...JSON.parse(`{${meta}}`) } }
    return `${head},"params":${JSON.stringify(merged)}}`
  }
  const rest = params ? JSON.stringify(params) : '{}'
  return `${head},"params":{"_meta":{${meta}}${rest === '{}' ? '' : ','}${rest.slice(1)}}`
}

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
