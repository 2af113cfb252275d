import type { ResultObject } from 'tenon'
import {
  controlMethods,
  type Exchange,
  handlersOf,
  Link,
  type ReplyStream,
  type RpcErrorBody,
  type RpcMessage,
} from 'tenon/jsonrpc'
import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId } from '../generated/protocol-types.ts'
import type { AuthInfo } from '../server/auth/types.ts'
import type { RequestInfo } from '../types.ts'
import type { Engine, EngineCall, EngineReceiver, EngineRequestOptions } from './engine.ts'
import { ErrorCode } from './errors.ts'
import { toMcpError } from './to-mcp-error.ts'
import type { Transport, TransportSendOptions } from './transport.ts'
import { type AdaptedSendOptions, TransportAdapter, toLinkTransport } from './transport-adapter.ts'

/** An engine without MCP: a bare JSON-RPC link. For subclasses of `Protocol` in programs. */
export class LinkEngine implements Engine {
  readonly checksParams = false
  readonly checksResults = false
  private _link: Link | undefined

  async connect(transport: Transport, receiver: EngineReceiver): Promise<void> {
    const linkTransport = toLinkTransport(transport)
    const link: Link = new Link(linkTransport, {
      methods: controlMethods,
      request: (exchange) => serve(exchange, receiver),
      notification: (notification) => receiver.notification(notification as JSONRPCNotification),
      unmatched: (response) => receiver.error(unknownResponse(response)),
      closed: () => receiver.closed(),
      error: (error) => receiver.error(error as Error),
    })
    link.firstId = 0
    this._link = link
    await link.open(handlersOf(linkTransport))
  }

  async close(): Promise<void> {
    await this._link?.close(0)
  }

  request(method: string, params: object | undefined, options: EngineRequestOptions): Promise<ResultObject> {
    return requestOn(this._opened, method, params, options)
  }

  notify(method: string, params: object | undefined, options: TransportSendOptions | undefined): Promise<void> {
    return notifyOn(this._opened, method, params, options)
  }

  send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions): Promise<void> {
    return sendOn(this._opened, message, relatedRequestId)
  }

  receive(message: JSONRPCMessage): void {
    this._opened.receive(message)
  }

  private get _opened(): Link {
    if (!this._link) throw new Error('Not connected')
    return this._link
  }
}

/** Serves a request of the peer and sends the reply. */
export function serve(exchange: Exchange, receiver: EngineReceiver): void {
  const settle = (result: ResultObject) => {
    exchange.handled()
    exchange.reply(result)
  }
  const fail = (error: unknown) => {
    exchange.handled()
    exchange.fail(toErrorBody(error))
  }
  try {
    const outcome = receiver.request(exchange.request as JSONRPCRequest, new ExchangeCall(exchange))
    if (isPromise(outcome)) outcome.then(settle, fail)
    else settle(outcome)
  } catch (error) {
    fail(error)
  }
}

/** The error response for what a handler threw. */
export function toErrorBody(error: unknown): RpcErrorBody {
  const { code, message, data } = (error ?? {}) as Partial<RpcErrorBody>
  return {
    code: Number.isSafeInteger(code) ? (code as number) : ErrorCode.InternalError,
    message: message ?? 'Internal error',
    ...(data !== undefined && { data }),
  }
}

/** Sends a request on a link. */
export async function requestOn(
  link: Link,
  method: string,
  params: object | undefined,
  options: EngineRequestOptions,
): Promise<ResultObject> {
  try {
    return await link.request(method, params as Record<string, unknown> | undefined, toSendOptions(link, options))
  } catch (error) {
    throw toMcpError(error, options)
  }
}

function toSendOptions(link: Link, options: EngineRequestOptions): AdaptedSendOptions {
  const { timeout, maxTotalTimeout, relatedRequestId, resumptionToken, onresumptiontoken, enqueue } = options
  return {
    signal: options.signal,
    // Here 0 means no limit, in SDK 1.x it means an immediate timeout.
    timeoutMs: Number.isFinite(timeout) ? Math.max(timeout, 1) : 0,
    maxTotalTimeoutMs: maxTotalTimeout ?? 0,
    resetTimeoutOnProgress: options.resetTimeoutOnProgress ?? false,
    onProgress: options.onprogress,
    describeReason: String,
    onSent: options.onSent,
    stream: enqueue ? new QueueStream(enqueue, link) : nativeStream(link, relatedRequestId),
    transportOptions: { relatedRequestId, resumptionToken, onresumptiontoken } as TransportSendOptions,
  }
}

/** The stream of a request, unless the transport takes the id of the related request itself. */
function nativeStream(link: Link, id: RequestId | undefined): ReplyStream | undefined {
  return id === undefined || link.transport instanceof TransportAdapter ? undefined : link.exchange(id)?.stream
}

/** Sends a notification on a link. */
export async function notifyOn(
  link: Link,
  method: string,
  params: object | undefined,
  options: TransportSendOptions | undefined,
): Promise<void> {
  const { transport } = link
  if (!(transport instanceof TransportAdapter)) {
    link.notify(method, params as Record<string, unknown> | undefined, nativeStream(link, options?.relatedRequestId))
    return
  }
  const notification = { jsonrpc: '2.0', method, ...(params && { params }) } as JSONRPCNotification
  await transport.inner.send(notification, options)
}

/** Sends a message as it is, on the stream of a request. */
export async function sendOn(
  link: Link,
  message: JSONRPCMessage,
  relatedRequestId: RequestId | undefined,
): Promise<void> {
  const { transport } = link
  if (transport instanceof TransportAdapter) {
    await transport.inner.send(message, relatedRequestId === undefined ? undefined : { relatedRequestId })
    return
  }
  const stream = nativeStream(link, relatedRequestId)
  if (stream) stream.sendText(JSON.stringify(message), false)
  else await transport.send(message as RpcMessage)
}

/** Takes a request for a queue. That the request was given up is sent at once. */
class QueueStream implements ReplyStream {
  private readonly _enqueue: (request: JSONRPCRequest) => void
  private readonly _link: Link

  constructor(enqueue: (request: JSONRPCRequest) => void, link: Link) {
    this._enqueue = enqueue
    this._link = link
  }

  sendMessage(message: RpcMessage): boolean {
    if ('id' in message) this._enqueue(message as JSONRPCRequest)
    else void this._link.transport.send(message)
    return true
  }

  sendText(text: string): boolean {
    return this.sendMessage(JSON.parse(text))
  }

  end(): void {}
}

/** What the stream of a request says about it. Transports of Tenon and adapted ones use the same names. */
interface DescribedStream {
  readonly authInfo?: AuthInfo | undefined
  readonly requestInfo?: RequestInfo | undefined
  readonly closeSSEStream?: (() => void) | undefined
  readonly closeStandaloneSSEStream?: (() => void) | undefined
}

/** A request that came over a link. */
export class ExchangeCall implements EngineCall {
  private readonly _exchange: Exchange

  constructor(exchange: Exchange) {
    this._exchange = exchange
  }

  get link(): Link {
    return this._exchange.link
  }

  get signal(): AbortSignal {
    return this._exchange.signal
  }

  get cancelled(): boolean {
    return this._exchange.cancelled
  }

  get sessionId(): string | undefined {
    return (this._exchange.link.transport as { sessionId?: string | undefined }).sessionId
  }

  get authInfo(): AuthInfo | undefined {
    return this._stream?.authInfo
  }

  get requestInfo(): RequestInfo | undefined {
    return this._stream?.requestInfo
  }

  get closeSSEStream(): (() => void) | undefined {
    return this._stream?.closeSSEStream
  }

  get closeStandaloneSSEStream(): (() => void) | undefined {
    return this._stream?.closeStandaloneSSEStream
  }

  end(): void {
    this._exchange.cancel('The response waits in the queue of a task')
  }

  private get _stream(): DescribedStream | undefined {
    return this._exchange.stream as DescribedStream | undefined
  }
}

function isPromise(outcome: ResultObject | PromiseLike<ResultObject>): outcome is PromiseLike<ResultObject> {
  return typeof (outcome as { then?: unknown } | undefined)?.then === 'function'
}

/** The error for a response to a request that was never sent. */
export function unknownResponse(response: object): Error {
  return new Error(`Received a response for an unknown message ID: ${JSON.stringify(response)}`)
}

/** The error for a method that nothing serves. */
export function methodNotFound(): RpcErrorBody & Error {
  return Object.assign(new Error('Method not found'), { code: ErrorCode.MethodNotFound })
}
