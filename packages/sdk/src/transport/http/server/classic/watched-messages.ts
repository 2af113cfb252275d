import { McpError } from '../../../../errors.ts'
import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import { isWatched, type ReplyStream, type Transport } from '../../../../jsonrpc/transport.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import type { Deliver, MessageWatcher } from './watched-endpoint.ts'

type Message = RpcMessage | RpcMessage[]

interface Outgoing {
  readonly key: string
  readonly route: object
  readonly deliver: Deliver
}

/**
 * Passes the messages of a transport through its `send` and `onmessage` if a program replaced them, and from there to the right
 * client. Several clients may use equal request ids, so a message is recognised by object identity. A copy is recognised only
 * if no other message matches.
 */
export class WatchedMessages implements MessageWatcher {
  readonly #transport: Transport
  readonly #routes = new WeakMap<object, Outgoing>()
  readonly #waiting = new Map<string, Set<Outgoing>>()
  readonly #entries = new WeakMap<object, (value: unknown) => void>()
  /** The delivery of the message that is being passed to `onmessage`. */
  #entering: ((value: unknown) => void) | undefined
  #ownHandler: Transport['onmessage']

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Called when the server has set its handlers. A program that replaces them later is watching. */
  started(): void {
    this.#ownHandler = (value, stream) => void this.enter(value, stream)
    this.#transport.onmessage = this.#ownHandler
  }

  /** Like `started`, for a transport with a handler of its own, which calls `enter`. */
  startedWith(handler: Transport['onmessage']): void {
    this.#ownHandler = handler
  }

  get watchesSend(): boolean {
    return isWatched(this.#transport)
  }

  get watchesReceive(): boolean {
    return this.#transport.onmessage !== this.#ownHandler
  }

  send(message: Message, relatedId: RequestId | undefined, route: object, deliver: Deliver): void {
    const outgoing = { key: keyOf(message), route, deliver }
    const options = { relatedRequestId: relatedId }
    this.#routes.set(message, outgoing)
    this.#routes.set(options, outgoing)
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

  /** Called by the transport's own `send`, after the wrappers of the program. */
  deliver(message: Message, options: object | undefined): void {
    if (this.deliverKnown(message, options)) return
    throw new McpError(
      'invalid-argument',
      'Cannot determine which client this message is for. Pass the original message or its options to the wrapped send().',
    )
  }

  /** Like `deliver`. Returns false for a message that was not passed to `send`. */
  deliverKnown(message: Message, options: object | undefined): boolean {
    const known = this.#routes.get(message) ?? (options && this.#routes.get(options))
    const outgoing = known ?? (this.#waiting.size > 0 ? this.#onlyOne(keyOf(message)) : undefined)
    if (!outgoing) return false
    this.#forget(outgoing)
    outgoing.deliver(message)
    return true
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

  /** Takes a message from the program. Returns false if it did not come through `receive`. */
  enter(value: unknown, stream: ReplyStream | undefined): boolean {
    const known = this.#entries.get(value as object) ?? (stream && this.#entries.get(stream)) ?? this.#entering
    known?.(value)
    return known !== undefined
  }

  /** A copy that matches several messages is not delivered, because it could reach the wrong client. */
  #onlyOne(key: string): Outgoing | undefined {
    const [first, ...others] = this.#waiting.get(key) ?? []
    return others.every(({ route }) => route === first?.route) ? first : undefined
  }

  /** Sends an error if a wrapper failed, so that the client does not wait forever. */
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

/** The members that a modified copy of a message still has. */
function keyOf(message: Message): string {
  if (Array.isArray(message)) return JSON.stringify(message.map(keyOf))
  const { id, method, params } = message as { id?: unknown; method?: unknown; params?: { progressToken?: unknown } }
  return JSON.stringify([id, method, params?.progressToken])
}
