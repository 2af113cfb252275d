import { ClosedError } from '../../errors.ts'
import { Fault, type RpcMessage } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { TextSender, Transport, TransportEvents } from '../../jsonrpc/transport.ts'
import { type AuthInfo, userOf } from '../../protocol/auth-info.ts'
import type { HasIdentity } from '../../protocol/transport.ts'

/**
 * Connects a client and a server in one process. Messages are passed as JSON text, so that neither side can change the other's
 * objects, and values that JSON cannot represent are noticed.
 */
export class InMemoryTransport implements Transport, TextSender, HasIdentity {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: TransportEvents['onfault'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  sessionId?: string
  /** On the server's side: the identity of the client, like that of a token over HTTP. Set it before connecting. */
  auth: AuthInfo | undefined
  #other: InMemoryTransport | undefined
  #waiting: string[] = []
  #started = false
  #closed = false

  /** Creates two connected transports, one for each side. */
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const one = new InMemoryTransport()
    const two = new InMemoryTransport()
    one.#other = two
    two.#other = one
    return [one, two]
  }

  get principal(): string | undefined {
    return this.auth && userOf(this.auth)
  }

  async start(): Promise<void> {
    this.#started = true
    for (const text of this.#waiting.splice(0)) this.#deliver(text)
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    const other = this.#other
    if (!other || this.#closed) throw new ClosedError('The in-memory transport is closed')
    // Asynchronous, because a remote peer would not respond inside `send` either.
    queueMicrotask(() => {
      if (other.#started) other.#deliver(text)
      else other.#waiting.push(text)
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    // Messages that were sent before are delivered first.
    await Promise.resolve()
    const other = this.#other
    this.#end()
    if (other) other.#end()
  }

  /** Drops the reference, so that neither side keeps the other in memory. */
  #end(): void {
    const wasOpen = this.#other !== undefined
    this.#closed = true
    this.#other = undefined
    if (wasOpen) this.onclose?.()
  }

  #deliver(text: string): void {
    const value = parseText(text)
    if (value instanceof Fault) this.onfault?.(value)
    else this.onmessage?.(value)
  }
}
