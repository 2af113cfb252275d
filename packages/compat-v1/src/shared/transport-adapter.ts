import { isObject } from 'tenon/internal'
import type { LinkTransport, OutgoingRequest, ReplyStream, RpcMessage, SendOptions } from 'tenon/jsonrpc'
import type { JSONRPCMessage, RequestId } from '../generated/protocol-types.ts'
import type { AuthInfo } from '../server/auth/types.ts'
import type { MessageExtraInfo, RequestInfo } from '../types.ts'
import type { Transport, TransportSendOptions } from './transport.ts'

/** Options of a request on a link, with those that only transports of SDK 1.x take. */
export interface AdaptedSendOptions extends SendOptions {
  readonly transportOptions?: TransportSendOptions | undefined
}

/** Requests are sent with all options, even if none is set. */
const noOptions = {
  relatedRequestId: undefined,
  resumptionToken: undefined,
  onresumptiontoken: undefined,
} as unknown as TransportSendOptions

/** Returns a transport that a link can use: Tenon's own as they are, others through an adapter. */
export function toLinkTransport(transport: Transport): LinkTransport {
  return isNative(transport) ? (transport as unknown as LinkTransport) : new TransportAdapter(transport)
}

/** Whether a transport is one of Tenon: it takes text, has a link per client, or sends each request on its own. */
function isNative(transport: Transport): boolean {
  return 'sendText' in transport || 'serves' in transport || 'sendRequest' in transport
}

/** Lets a link use a transport that was written for SDK 1.x: objects instead of text, and a related request per message. */
export class TransportAdapter implements LinkTransport {
  onmessage?: LinkTransport['onmessage'] | undefined
  onerror?: LinkTransport['onerror'] | undefined
  onclose?: LinkTransport['onclose'] | undefined
  readonly inner: Transport

  constructor(inner: Transport) {
    this.inner = inner
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId
  }

  /** Handlers that the program set before are called first. */
  async start(): Promise<void> {
    const { inner } = this
    const { onmessage, onerror, onclose } = inner
    inner.onmessage = (message, extra) => {
      onmessage?.call(inner, message, extra)
      this.onmessage?.(message, this._streamOf(message, extra))
    }
    inner.onerror = (error) => {
      onerror?.call(inner, error)
      this.onerror?.(error)
    }
    inner.onclose = () => {
      onclose?.call(inner)
      this.onclose?.()
    }
    await inner.start()
  }

  send(message: RpcMessage | RpcMessage[]): Promise<void> {
    return this.inner.send(message as JSONRPCMessage)
  }

  sendRequest(text: string, { options }: OutgoingRequest): Promise<void> {
    const { transportOptions = noOptions } = (options ?? {}) as AdaptedSendOptions
    return this.inner.send(JSON.parse(text), transportOptions)
  }

  close(): Promise<void> {
    return this.inner.close()
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version)
  }

  /** The stream of messages that belong to a request, even if the request was answered already. */
  relatedTo(id: RequestId): ReplyStream {
    return new RelatedStream(this, id, undefined)
  }

  private _streamOf(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): ReplyStream | undefined {
    return isObject(message) && 'method' in message && 'id' in message
      ? new RelatedStream(this, message.id, extra)
      : undefined
  }
}

/** Sends what belongs to a request with its id, and keeps what the transport said about the request. */
class RelatedStream implements ReplyStream {
  private readonly _adapter: TransportAdapter
  private readonly _id: RequestId
  private readonly _extra: MessageExtraInfo | undefined

  constructor(adapter: TransportAdapter, id: RequestId, extra: MessageExtraInfo | undefined) {
    this._adapter = adapter
    this._id = id
    this._extra = extra
  }

  get authInfo(): AuthInfo | undefined {
    return this._extra?.authInfo
  }

  get requestInfo(): RequestInfo | undefined {
    return this._extra?.requestInfo
  }

  get closeSSEStream(): (() => void) | undefined {
    return this._extra?.closeSSEStream
  }

  get closeStandaloneSSEStream(): (() => void) | undefined {
    return this._extra?.closeStandaloneSSEStream
  }

  sendMessage(message: RpcMessage, isLast: boolean): boolean {
    const { inner } = this._adapter
    const sent = isLast
      ? inner.send(message as JSONRPCMessage)
      : inner.send(message as JSONRPCMessage, { relatedRequestId: this._id })
    sent?.catch?.((error: unknown) => this._adapter.onerror?.(error as Error))
    return true
  }

  sendText(text: string, isLast: boolean): boolean {
    return this.sendMessage(JSON.parse(text), isLast)
  }

  end(): void {}
}
