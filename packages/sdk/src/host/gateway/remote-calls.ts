import { ErrorCode, McpError, PeerError, ProtocolError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress } from '../../jsonrpc/pending.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Bus } from '../../store/ports.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { random } from '../../util/random.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import type { CallListener, DrivenCall, RelayedCall, Step } from './relayed-call.ts'

/** How often a node says that it still works on a call, and how long others wait for that. */
const aliveMs = 5_000
const silenceMs = 15_000

/** A message from the node that has the request of the caller to the one that has the open call. */
type Command = { readonly from: string; readonly id: string; readonly ticket: string } & (
  | { readonly do: 'attach'; readonly owner: string | undefined; readonly parkedMs: number }
  | { readonly do: 'next' | 'alive' }
  | { readonly do: 'answer'; readonly key: string; readonly answer: ResultObject }
  | { readonly do: 'refuse'; readonly key: string; readonly error: SentError }
  | { readonly do: 'park'; readonly parkedMs: number }
  | { readonly do: 'cancel'; readonly reason: string }
)

/** A message back. `id` is that of the command. */
type Reply = { readonly id: string } & (
  | { readonly is: 'attached' | 'unknown' | 'alive' }
  | { readonly is: 'step'; readonly step: Step }
  | { readonly is: 'error'; readonly error: SentError }
  | { readonly is: 'progress'; readonly progress: Progress }
  | { readonly is: 'log'; readonly message: LoggingMessageParams }
)

export interface RemoteCallsOptions {
  readonly bus: Bus
  /** How long a call waits for its caller if the node that drives it has ended. */
  readonly parkedMs: number
  /** The open call of this node with a ticket, if it belongs to this owner. */
  find(ticket: string, owner: string | undefined): RelayedCall | undefined
  onError(error: unknown): void
}

/**
 * Open calls of other nodes. A call stays on the node whose connection it uses; the caller may repeat its request at any node,
 * which then drives the call over the bus.
 */
export class RemoteCalls {
  /** The name of this node. It is part of the tickets of its calls. */
  readonly node = random.uuid()
  readonly #options: RemoteCallsOptions
  readonly #subscribed: Promise<(() => void)[]>
  readonly #waiting = new Map<string, Waiting>()
  /** Calls of this node that other nodes drive, by the id of the request there. */
  readonly #attached = new Map<string, Attached>()

  constructor(options: RemoteCallsOptions) {
    this.#options = options
    const { bus } = options
    this.#subscribed = Promise.all([
      bus.subscribe(topicOf(this.node), (text) => this.#execute(JSON.parse(text) as Command)),
      bus.subscribe(repliesTo(this.node), (text) => this.#received(JSON.parse(text) as Reply)),
    ])
    this.#subscribed.catch(options.onError)
  }

  /** Drives a call of another node. Rejects if that node does not answer, or does not have the call any more. */
  async attach(ticket: string, owner: string | undefined, listener: CallListener): Promise<DrivenCall | undefined> {
    await this.#subscribed
    const id = random.uuid()
    const node = nodeOf(ticket)
    const send = (command: Command) => this.#send(topicOf(node), command)
    const waiting = new Waiting(listener)
    this.#waiting.set(id, waiting)
    const request = async (command: Command): Promise<Reply> => {
      const reply = waiting.next()
      await send(command)
      return reply
    }
    const base = { from: this.node, id, ticket }
    const timer = scheduler.setInterval(() => void send({ ...base, do: 'alive' }), aliveMs)
    scheduler.unref(timer)
    const end = () => {
      scheduler.clearInterval(timer)
      waiting.stop()
      this.#waiting.delete(id)
    }
    const ask = (command: Command) =>
      request(command).catch((error) => {
        end()
        throw error
      })
    const first = await ask({ ...base, do: 'attach', owner, parkedMs: this.#options.parkedMs })
    if (first.is !== 'attached') {
      end()
      return undefined
    }
    return {
      next: async () => {
        const reply = await ask({ ...base, do: 'next' })
        if (reply.is === 'step' && 'questions' in reply.step) return reply.step
        end()
        if (reply.is === 'step') return reply.step
        throw reply.is === 'error' ? toError(reply.error) : gone()
      },
      answer: (key, answer) => void send({ ...base, do: 'answer', key, answer }),
      refuse: (key, error) => void send({ ...base, do: 'refuse', key, error: toSent(error) }),
      park: (parkedMs) => {
        end()
        void send({ ...base, do: 'park', parkedMs })
      },
      cancel: (reason) => void send({ ...base, do: 'cancel', reason: String(reason) }),
    }
  }

  async close(): Promise<void> {
    for (const waiting of this.#waiting.values()) waiting.fail(gone())
    this.#waiting.clear()
    for (const attached of this.#attached.values()) attached.end()
    this.#attached.clear()
    for (const unsubscribe of await this.#subscribed.catch(() => [])) unsubscribe()
  }

  #execute(command: Command): void {
    const { from, id, ticket } = command
    const reply = (message: Reply) => void this.#send(repliesTo(from), message)
    if (command.do === 'attach') {
      const call = this.#options.find(ticket, command.owner)
      if (!call) return reply({ id, is: 'unknown' })
      this.#attached.set(id, new Attached(call, () => this.#lost(id, command.parkedMs)))
      call.unpark({
        onProgress: (progress) => reply({ id, is: 'progress', progress }),
        onLog: (message) => reply({ id, is: 'log', message }),
      })
      return reply({ id, is: 'attached' })
    }
    const attached = this.#attached.get(id)
    if (!attached) return command.do === 'alive' ? undefined : reply({ id, is: 'unknown' })
    const { call } = attached
    attached.listen()
    if (command.do === 'answer') call.answer(command.key, command.answer)
    else if (command.do === 'refuse') call.refuse(command.key, toError(command.error))
    else if (command.do === 'next') void this.#next(call, id, reply)
    else if (command.do === 'park' || command.do === 'cancel') {
      this.#detach(id)
      if (command.do === 'park') call.park(command.parkedMs)
      else call.cancel(command.reason)
    }
  }

  async #next(call: RelayedCall, id: string, reply: (message: Reply) => void): Promise<void> {
    const timer = scheduler.setInterval(() => reply({ id, is: 'alive' }), aliveMs)
    scheduler.unref(timer)
    try {
      const step = await call.next()
      if ('result' in step) this.#detach(id)
      reply({ id, is: 'step', step })
    } catch (error) {
      this.#detach(id)
      reply({ id, is: 'error', error: toSent(error) })
    } finally {
      scheduler.clearInterval(timer)
    }
  }

  /** The caller may come back at another node. */
  #lost(id: string, parkedMs: number): void {
    const attached = this.#attached.get(id)
    this.#detach(id)
    attached?.call.park(parkedMs)
  }

  #detach(id: string): void {
    this.#attached.get(id)?.end()
    this.#attached.delete(id)
  }

  #received(reply: Reply): void {
    this.#waiting.get(reply.id)?.received(reply)
  }

  async #send(topic: string, message: Command | Reply): Promise<void> {
    try {
      await this.#options.bus.publish(topic, JSON.stringify(message))
    } catch (error) {
      this.#options.onError(error)
    }
  }
}

/** Whether a call with this ticket is on another node than this one. */
export function isRemote(ticket: string, node: string): boolean {
  return nodeOf(ticket) !== node
}

/** A call of this node while another node drives it. */
class Attached {
  readonly call: RelayedCall
  readonly #onSilence: () => void
  #timer: Timer | undefined

  constructor(call: RelayedCall, onSilence: () => void) {
    this.call = call
    this.#onSilence = onSilence
    this.listen()
  }

  /** A node that says nothing at all has ended. */
  listen(): void {
    this.end()
    this.#timer = scheduler.setTimeout(this.#onSilence, silenceMs)
    scheduler.unref(this.#timer)
  }

  end(): void {
    scheduler.clearTimeout(this.#timer)
  }
}

/** One repeated request that drives a call of another node. */
class Waiting {
  readonly #listener: CallListener
  #reply: Deferred<Reply> | undefined
  #timer: Timer | undefined

  constructor(listener: CallListener) {
    this.#listener = listener
  }

  next(): Promise<Reply> {
    this.#reply = deferred()
    this.#listen()
    return this.#reply.promise
  }

  received(reply: Reply): void {
    this.#listen()
    if (reply.is === 'alive') return
    if (reply.is === 'progress') return this.#listener.onProgress(reply.progress)
    if (reply.is === 'log') return this.#listener.onLog(reply.message)
    this.stop()
    this.#reply?.resolve(reply)
  }

  fail(error: unknown): void {
    this.stop()
    this.#reply?.reject(error)
  }

  stop(): void {
    scheduler.clearTimeout(this.#timer)
  }

  /** A node that says nothing at all has ended. */
  #listen(): void {
    this.stop()
    this.#timer = scheduler.setTimeout(() => this.fail(gone()), silenceMs)
    scheduler.unref(this.#timer)
  }
}

/** An error as it is sent to another node. */
interface SentError {
  readonly kind: 'peer' | 'protocol' | 'other'
  readonly code: number | string
  readonly message: string
  readonly data?: unknown
}

function toSent(error: unknown): SentError {
  if (error instanceof PeerError) return { kind: 'peer', code: error.rpcCode, message: error.message, data: error.data }
  if (error instanceof ProtocolError) {
    const { code, message, data } = error.toBody()
    return { kind: 'protocol', code, message, data }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { kind: 'other', code: error instanceof McpError ? error.code : 'closed', message }
}

function toError({ kind, code, message, data }: SentError): Error {
  if (kind === 'peer') return new PeerError(Number(code), message, data)
  if (kind === 'protocol') return new ProtocolError(Number(code), message, data)
  return new McpError(code as McpError['code'], message)
}

function gone(): ProtocolError {
  return new ProtocolError(
    ErrorCode.InternalError,
    'The node of the gateway that ran this call has stopped, so it is unknown whether it had an effect. It was not repeated.',
  )
}

function nodeOf(ticket: string): string {
  return ticket.slice(0, ticket.indexOf('/'))
}

function topicOf(node: string): string {
  return `gateway ${node}`
}

function repliesTo(node: string): string {
  return `gateway replies ${node}`
}
