import type { LinkTransport, OutgoingRequest, RpcMessage } from 'tenon/jsonrpc'
import type { Transport, TransportSendOptions } from './transport.ts'
import type { JSONRPCMessage, MessageExtraInfo } from './types.ts'

/** Options of `Link.request` that pass through to `Transport.send`. */
export interface CarriesSendOptions {
  transport?: TransportSendOptions | undefined
}

/** Lets a link of Tenon use a transport with the interface of the official packages. */
export class TransportOfLink implements LinkTransport {
  onmessage: LinkTransport['onmessage']
  onerror: LinkTransport['onerror']
  onclose: LinkTransport['onclose']
  readonly transport: Transport
  /** What the transport said about each message. Messages are never copied on the way, so that they are the keys. */
  readonly #extras = new WeakMap<object, MessageExtraInfo>()
  /** The options of our requests that wait for a response: a cancellation takes the same way. */
  readonly #options = new Map<number, TransportSendOptions>()

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** Handlers that the program set before stay in place and are called first. */
  async start(): Promise<void> {
    const { transport } = this
    const { onmessage, onerror, onclose } = transport
    transport.onmessage = (message, extra) => {
      onmessage?.call(transport, message, extra)
      if (extra) this.#extras.set(message, extra)
      this.onmessage?.(message)
    }
    transport.onerror = (error) => {
      onerror?.call(transport, error)
      this.onerror?.(error)
    }
    transport.onclose = () => {
      try {
        onclose?.call(transport)
      } finally {
        this.onclose?.()
      }
    }
    await transport.start()
  }

  extraOf(message: object): MessageExtraInfo | undefined {
    return this.#extras.get(message)
  }

  send(message: RpcMessage | RpcMessage[]): Promise<void> | void {
    if (Array.isArray(message)) return Promise.all(message.map((each) => this.send(each))).then(() => {})
    const requestId = 'method' in message ? message.params?.requestId : undefined
    const options = typeof requestId === 'number' ? this.#options.get(requestId) : undefined
    return this.transport.send(message as JSONRPCMessage, options)
  }

  sendRequest(text: string, { id, options }: OutgoingRequest): Promise<void> | void {
    const sendOptions = (options as CarriesSendOptions | undefined)?.transport
    if (sendOptions) this.#options.set(id, sendOptions)
    return this.transport.send(JSON.parse(text), sendOptions)
  }

  /** A request has its response, or waits no longer. */
  forget(id: number | undefined): void {
    if (id !== undefined) this.#options.delete(id)
  }

  close(): Promise<void> {
    return this.transport.close()
  }
}
