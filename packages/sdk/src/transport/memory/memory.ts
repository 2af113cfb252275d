import { ClosedError } from '../../errors.ts'
import { Fault, type RpcMessage } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { TextSender, Transport, TransportEvents } from '../../jsonrpc/transport.ts'
import { type AuthInfo, userOf } from '../../protocol/auth-info.ts'
import type { HasIdentity } from '../../protocol/transport.ts'

/**
 * Two ends in one process. Messages cross as JSON text, as they would on a wire, so that neither side can see or change
 * the other's objects, and what does not survive JSON is noticed.
 */
export class InMemoryTransport implements Transport, TextSender, HasIdentity {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: TransportEvents['onfault'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  sessionId?: string
  /** On the server's end: the identity of the client, as a token would give it over HTTP. Set it before connecting. */
  auth: AuthInfo | undefined
  #other: InMemoryTransport | undefined
  #waiting: string[] = []
  #started = false
  #closed = false

  /** A client's end and a server's end; they are alike. */
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
    // Not at once: a peer on a wire would not answer inside our send either.
    queueMicrotask(() => {
      if (other.#started) other.#deliver(text)
      else other.#waiting.push(text)
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    // What was sent before is delivered first.
    await Promise.resolve()
    const other = this.#other
    this.#end()
    if (other) other.#end()
  }

  /** Neither end keeps the other alive. */
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
