import type { ResultObject } from 'tenon'
import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest } from '../generated/protocol-types.ts'
import type { AuthInfo } from '../server/auth/types.ts'
import type { RequestInfo } from '../types.ts'
import type { Transport, TransportSendOptions } from './transport.ts'

/** Carries the messages of a `Protocol`: over a bare JSON-RPC link, a Tenon server or a Tenon client. */
export interface Engine {
  /** Starts a transport. Called once per connection; what arrives goes to `receiver`. */
  connect(transport: Transport, receiver: EngineReceiver): Promise<void>
  close(): Promise<void>
  /** Sends a request. Rejects with an `McpError`, or with the error of the transport. */
  request(method: string, params: object | undefined, options: EngineRequestOptions): Promise<ResultObject>
  notify(method: string, params: object | undefined, options: EngineNotifyOptions | undefined): Promise<void>
  /** Sends a message that waited in a queue, as it is. */
  send(message: JSONRPCMessage, options: TransportSendOptions): Promise<void>
  /** Handles a response as if it had just arrived. */
  receive(message: JSONRPCMessage): void
  /** Whether the params of received requests were checked already, so that the schemas of `types.js` need not run. */
  readonly checksParams: boolean
  /** Sets whether the params of a method are checked before `receiver` gets the request. Default: they are. */
  setChecked?(method: string, isChecked: boolean): void
  /** Whether the results of sent requests were checked already, so that the schemas of `types.js` need not run. */
  readonly checksResults: boolean
}

/** Options of an outgoing notification. */
export interface EngineNotifyOptions extends TransportSendOptions {
  /** The request that it belongs to, if it is known by more than its id. */
  readonly [relatedCall]?: EngineCall | undefined
}

/** Options of an outgoing request. */
export interface EngineRequestOptions extends EngineNotifyOptions {
  readonly signal?: AbortSignal | undefined
  /** In milliseconds. */
  readonly timeout: number
  /** In milliseconds. Undefined: no limit. */
  readonly maxTotalTimeout?: number | undefined
  readonly resetTimeoutOnProgress?: boolean | undefined
  readonly onprogress?: ((progress: ProgressValues) => void) | undefined
  /** Called with the id of the request when it is sent. */
  readonly onSent?: ((id: number) => void) | undefined
  /** Takes the request in place of the transport, to send it later with `Engine.send`. */
  readonly enqueue?: ((request: JSONRPCRequest) => void) | undefined
}

/** The key of the related request in options, which programs do not see. */
export const relatedCall: unique symbol = Symbol('related call')

/** The values of a progress notification. */
export interface ProgressValues {
  progress: number
  total?: number | undefined
  message?: string | undefined
}

/** Handles what an engine receives. */
export interface EngineReceiver {
  /** Serves a request. Throws the error for the peer. */
  request(request: JSONRPCRequest, call: EngineCall): ResultObject | PromiseLike<ResultObject>
  notification(notification: JSONRPCNotification): void
  closed(): void
  error(error: Error): void
}

/** A request that is being served: what the transport knows of it, and the way back to its sender. */
export interface EngineCall {
  readonly signal: AbortSignal
  /** As `signal.aborted`, without creating the signal. */
  readonly cancelled: boolean
  readonly sessionId: string | undefined
  readonly authInfo: AuthInfo | undefined
  readonly requestInfo: RequestInfo | undefined
  readonly closeSSEStream: (() => void) | undefined
  readonly closeStandaloneSSEStream: (() => void) | undefined
  /** Ends the request without a response. */
  end(): void
}
