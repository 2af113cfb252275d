import type { LinkTransport, OutgoingRequest, RpcMessage } from 'tenon/jsonrpc'
import { isWatched } from 'tenon/jsonrpc'
import type { Transport, TransportSendOptions } from '../core/transport.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../core/types.ts'

/** A transport of Tenon, which sends requests as text and knows how to cancel them. */
type NativeTransport = Transport & Pick<LinkTransport, 'sendRequest' | 'cancelRequest' | 'sendText' | 'onfault'>

/** The handlers of ports. A later port of the same transport must not call them. */
const ofPorts = new WeakSet<object>()

/** What the transport said about a message, by message: the link passes on the message alone. */
const extras = new WeakMap<object, MessageExtraInfo>()

/** Returns what the transport said about a message: headers and authorization of an HTTP request. */
export function extraOf(message: object): MessageExtraInfo | undefined {
  return extras.get(message)
}

/**
 * Connects a transport of the program to a link. Handlers that the program has set before are called first, and the options of
 * a message reach `send`.
 */
export class LinkPort implements LinkTransport {
  onmessage?: LinkTransport['onmessage']
  onerror?: LinkTransport['onerror']
  onclose?: LinkTransport['onclose']
  onfault?: LinkTransport['onfault']
  readonly transport: Transport
  private _started = false
  /** Aborts the HTTP request of a request, where the transport has one for each. */
  private readonly _streams = new Map<number, AbortController>()
  /** Whether requests are cancelled by closing their stream. */
  cancelsByClosing = false

  constructor(transport: Transport) {
    this.transport = transport
    const { onmessage, onerror, onclose } = transport
    const before = {
      onmessage: ownHandler(onmessage),
      onerror: ownHandler(onerror),
      onclose: ownHandler(onclose),
    }
    transport.onmessage = (message, extra) => {
      before.onmessage?.call(transport, message, extra)
      if (extra && typeof message === 'object') extras.set(message, extra)
      this.onmessage?.(message)
    }
    transport.onerror = (error) => {
      before.onerror?.call(transport, error)
      this.onerror?.(error)
    }
    transport.onclose = () => {
      try {
        before.onclose?.call(transport)
      } finally {
        this.onclose?.()
      }
    }
    for (const handler of [transport.onmessage, transport.onerror, transport.onclose]) ofPorts.add(handler)
    const native = transport as NativeTransport
    if (native.sendText) native.onfault = (fault, stream) => this.onfault?.(fault, stream)
  }

  /** Starts the transport once: several links may use the port one after another. */
  async start(): Promise<void> {
    if (this._started) return
    this._started = true
    await this.transport.start()
  }

  send(message: RpcMessage | RpcMessage[], options?: TransportSendOptions): Promise<void> {
    const sent = this.transport.send(message as JSONRPCMessage, options)
    // Transports of programs may return nothing.
    return Promise.resolve(sent)
  }

  sendRequest(text: string, request: OutgoingRequest): Promise<void> | void {
    const { transport } = this
    const native = transport as NativeTransport
    if (native.sendRequest && !isWatched(transport as LinkTransport)) return native.sendRequest(text, request)
    if (native.sendText && !isWatched(transport as LinkTransport)) return native.sendText(text)
    const options = { ...(request.options as { send?: TransportSendOptions } | undefined)?.send }
    if (this.cancelsByClosing && transport.hasPerRequestStream) {
      const stream = new AbortController()
      this._streams.set(request.id, stream)
      options.requestSignal = options.requestSignal
        ? AbortSignal.any([options.requestSignal, stream.signal])
        : stream.signal
    }
    return this.send(JSON.parse(text), options)
  }

  cancelRequest(id: number): boolean {
    const stream = this._streams.get(id)
    this._streams.delete(id)
    stream?.abort()
    if (stream) return true
    const native = this.transport as NativeTransport
    return native.cancelRequest?.(id) ?? false
  }

  /** The request has its response. */
  finished(id: number): void {
    this._streams.delete(id)
  }

  close(): Promise<void> {
    return this.transport.close()
  }
}

function ownHandler<T extends object>(handler: T | undefined): T | undefined {
  return handler && ofPorts.has(handler) ? undefined : handler
}
