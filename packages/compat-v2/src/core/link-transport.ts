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
  private readonly _extras = new WeakMap<object, MessageExtraInfo>()
  /** The options of our requests that wait for a response: a cancellation takes the same way. */
  private readonly _options = new Map<number, TransportSendOptions>()

  constructor(transport: Transport) {
    this.transport = transport
  }

  /** Handlers that the program set before stay in place and are called first. */
  async start(): Promise<void> {
    const { transport } = this
    const { onmessage, onerror, onclose } = transport
    transport.onmessage = (message, extra) => {
      onmessage?.call(transport, message, extra)
      if (extra) this._extras.set(message, toExtra(extra))
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
    return this._extras.get(message)
  }

  send(message: RpcMessage | RpcMessage[]): Promise<void> | void {
    if (Array.isArray(message)) return Promise.all(message.map((each) => this.send(each))).then(() => {})
    const requestId = 'method' in message ? message.params?.requestId : undefined
    const options = typeof requestId === 'number' ? this._options.get(requestId) : undefined
    return this.transport.send(message as JSONRPCMessage, options)
  }

  sendRequest(text: string, { id, options }: OutgoingRequest): Promise<void> | void {
    const sendOptions = (options as CarriesSendOptions | undefined)?.transport
    if (sendOptions) this._options.set(id, sendOptions)
    return this.transport.send(JSON.parse(text), sendOptions)
  }

  /** A request has its response, or waits no longer. */
  forget(id: number | undefined): void {
    if (id !== undefined) this._options.delete(id)
  }

  close(): Promise<void> {
    return this.transport.close()
  }
}

/** What transports for SDK 1.x say about the HTTP request of a message. */
interface EarlierExtra {
  requestInfo?: { headers: Record<string, string | string[] | undefined>; url?: URL | undefined } | undefined
}

/** Transports for SDK 1.x describe the HTTP request by its headers. It becomes a `Request` when a handler reads it. */
function toExtra(extra: MessageExtraInfo & EarlierExtra): MessageExtraInfo {
  const { requestInfo } = extra
  if (!requestInfo) return extra
  const { authInfo, closeSSEStream, closeStandaloneSSEStream, classification } = extra
  let request: globalThis.Request | undefined
  return {
    ...(classification && { classification }),
    ...(authInfo && { authInfo }),
    ...(closeSSEStream && { closeSSEStream }),
    ...(closeStandaloneSSEStream && { closeStandaloneSSEStream }),
    get request() {
      request ??= new Request(requestInfo.url ?? 'http://localhost/', { headers: toHeaders(requestInfo.headers) })
      return request
    },
  }
}

function toHeaders(fields: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) headers.append(name, each)
  }
  return headers
}
