import { McpError } from '../../../../errors.ts'
import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { ReplyStream, Transport } from '../../../../jsonrpc/transport.ts'
import { isWatched } from '../../../../jsonrpc/transport.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import type { Deliver, MessageWatcher } from './watched-endpoint.ts'

type Message = RpcMessage | RpcMessage[]

interface Outgoing {
  readonly key: string
  readonly way: object
  readonly deliver: Deliver
}

/**
 * Leads the messages of a transport through its `send` and `onmessage` where a program replaced them, and from there to the
 * peer that each belongs to. One transport may have many peers whose requests have equal ids, so a message is known again by
 * its identity; a copy only if no other message could be meant.
 */
export class WatchedMessages implements MessageWatcher {
  readonly #transport: Transport
  readonly #ways = new WeakMap<object, Outgoing>()
  readonly #waiting = new Map<string, Set<Outgoing>>()
  readonly #entries = new WeakMap<object, (value: unknown) => void>()
  /** What is being handed to `onmessage` just now. */
  #entering: ((value: unknown) => void) | undefined
  #ownHandler: Transport['onmessage']

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The server has set its handlers; who replaces them from now on wants to watch. */
  started(): void {
    this.#ownHandler = (value, stream) => this.#enter(value, stream)
    this.#transport.onmessage = this.#ownHandler
  }

  get watchesSend(): boolean {
    return isWatched(this.#transport)
  }

  get watchesReceive(): boolean {
    return this.#transport.onmessage !== this.#ownHandler
  }

  send(message: Message, relatedId: RequestId | undefined, way: object, deliver: Deliver): void {
    const outgoing = { key: keyOf(message), way, deliver }
    const options = { relatedRequestId: relatedId }
    this.#ways.set(message, outgoing)
    this.#ways.set(options, outgoing)
    const same = this.#waiting.get(outgoing.key) ?? new Set()
    this.#waiting.set(outgoing.key, same.add(outgoing))
    const send = this.#transport.send as (message: Message, options: object) => Promise<void> | void
    const failed = (error: unknown) => this.#failed(outgoing, message, error)
    try {
      const sent = send.call(this.#transport, message, options)
      if (isThenable(sent)) sent.then(() => this.#forget(outgoing), failed)
    } catch (error) {
      failed(error)
    }
  }

  /** For the transport's own `send`, at the end of the way through its wrappers. */
  deliver(message: Message, options: object | undefined): void {
    const outgoing = this.#ways.get(message) ?? (options && this.#ways.get(options)) ?? this.#onlyOne(keyOf(message))
    if (!outgoing) {
      throw new McpError(
        'invalid-argument',
        'Cannot tell which client this message is for. Pass the original message, or its options, to the wrapped send().',
      )
    }
    this.#forget(outgoing)
    outgoing.deliver(message)
  }

  receive(value: unknown, stream: ReplyStream | undefined, deliver: (value: unknown) => void): void {
    if (typeof value === 'object' && value !== null) this.#entries.set(value, deliver)
    if (stream) this.#entries.set(stream, deliver)
    this.#entering = deliver
    try {
      this.#transport.onmessage?.(value, stream)
    } finally {
      this.#entering = undefined
    }
  }

  #enter(value: unknown, stream: ReplyStream | undefined): void {
    const known = this.#entries.get(value as object) ?? (stream && this.#entries.get(stream)) ?? this.#entering
    known?.(value)
  }

  /** A copy that could be one of two messages is not delivered: it might reach the wrong client. */
  #onlyOne(key: string): Outgoing | undefined {
    const [first, ...others] = this.#waiting.get(key) ?? []
    return others.every(({ way }) => way === first?.way) ? first : undefined
  }

  /** A client must not wait for ever because a wrapper failed. */
  #failed(outgoing: Outgoing, message: Message, error: unknown): void {
    const wasWaiting = this.#forget(outgoing)
    this.#transport.onerror?.(error as Error)
    if (!wasWaiting || Array.isArray(message) || 'method' in message) return
    outgoing.deliver({ jsonrpc: '2.0', id: message.id!, error: { code: -32603, message: 'Internal error' } })
  }

  #forget(outgoing: Outgoing): boolean {
    const same = this.#waiting.get(outgoing.key)
    const wasWaiting = same?.delete(outgoing) ?? false
    if (same?.size === 0) this.#waiting.delete(outgoing.key)
    return wasWaiting
  }
}

/** What a changed copy of a message still has. */
function keyOf(message: Message): string {
  if (Array.isArray(message)) return JSON.stringify(message.map(keyOf))
  const { id, method, params } = message as { id?: unknown; method?: unknown; params?: { progressToken?: unknown } }
  return JSON.stringify([id, method, params?.progressToken])
}
