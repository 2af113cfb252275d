import type { AuthInfo } from './server/auth/types.ts'
import type { Transport } from './shared/transport.ts'
import type { JSONRPCMessage, RequestId } from './types.ts'

/** Connects a client and a server in one process. Messages are passed as the objects that they are. */
export class InMemoryTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: { authInfo?: AuthInfo }) => void
  sessionId?: string
  _otherTransport: InMemoryTransport | undefined
  /** Messages that arrived before `onmessage` was set. */
  readonly _messageQueue: { message: JSONRPCMessage; extra: { authInfo?: AuthInfo } }[] = []

  /** Creates two connected transports, one for each side. */
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const client = new InMemoryTransport()
    const server = new InMemoryTransport()
    client._otherTransport = server
    server._otherTransport = client
    return [client, server]
  }

  async start(): Promise<void> {
    for (let queued = this._messageQueue.shift(); queued; queued = this._messageQueue.shift()) {
      this.onmessage?.(queued.message, queued.extra)
    }
  }

  async close(): Promise<void> {
    const other = this._otherTransport
    this._otherTransport = undefined
    await other?.close()
    this.onclose?.()
  }

  /** @param options `authInfo`: the identity that the handlers of the other side see. */
  async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId; authInfo?: AuthInfo }): Promise<void> {
    const other = this._otherTransport
    if (!other) throw new Error('Not connected')
    const extra = options?.authInfo ? { authInfo: options.authInfo } : {}
    if (other.onmessage) other.onmessage(message, extra)
    else other._messageQueue.push({ message, extra })
  }
}
