import { classify, TransportFault as Fault } from 'tenon/jsonrpc'
import type { Transport } from '../shared/transport.ts'
import type { JSONRPCMessage } from '../types.ts'

/** Carries messages over a WebSocket. The revisions of the protocol do not define this transport. */
export class WebSocketClientTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  private readonly _url: URL
  private _socket?: WebSocket

  constructor(url: URL) {
    this._url = url
  }

  /** Opens the socket. */
  start(): Promise<void> {
    if (this._socket) throw new Error(alreadyStarted)
    const socket = new WebSocket(this._url, 'mcp')
    this._socket = socket
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve()
      socket.onerror = (event) => {
        const error = toError(event)
        reject(error)
        this.onerror?.(error)
      }
      socket.onclose = () => this.onclose?.()
      socket.onmessage = ({ data }) => this._tenonReceive(data)
    })
  }

  async close(): Promise<void> {
    this._socket?.close()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this._socket) throw new Error('Not connected')
    this._socket.send(JSON.stringify(message))
  }

  private _tenonReceive(data: string): void {
    try {
      const message: unknown = JSON.parse(data)
      const kind = classify(message)
      if (kind instanceof Fault) throw new Error(`Invalid message: ${kind.message}`)
      this.onmessage?.(message as JSONRPCMessage)
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }
}

const alreadyStarted =
  'WebSocketClientTransport already started! If using Client class, note that connect() calls start() automatically.'

function toError(event: object): Error {
  return 'error' in event ? (event.error as Error) : new Error(`WebSocket error: ${JSON.stringify(event)}`)
}
