import { answerProblem, paramsProblem } from 'tenon'
import { isObject } from 'tenon/internal'
import {
  ClosedError,
  controlMethods,
  type Exchange,
  Link,
  McpError,
  PeerError,
  type Receiver,
  type RpcNotification,
  type SendOptions,
  TimeoutError,
} from 'tenon/jsonrpc'
import { DEFAULT_REQUEST_TIMEOUT_MSEC, SUPPORTED_PROTOCOL_VERSIONS } from './constants.ts'
import type { BaseContext, NotificationOptions, ProtocolOptions, RequestOptions } from './context.ts'
import { eraOf, isSpecNotificationMethod, isSpecRequestMethod, legacyEra, modernEra, type WireEra } from './era.ts'
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode } from './errors.ts'
import { type Lifted, lift, splitResponses } from './lift.ts'
import { type CarriesSendOptions, TransportOfLink } from './link-transport.ts'
import { check, isStandardSchema, type StandardSchemaV1 } from './standard-schema.ts'
import type { Transport } from './transport.ts'
import type {
  HandlerResultTypeMap,
  Implementation,
  JSONRPCRequest,
  MessageExtraInfo,
  Notification,
  NotificationMethod,
  NotificationTypeMap,
  Request,
  RequestId,
  RequestMeta,
  RequestMethod,
  RequestTypeMap,
  Result,
  ResultTypeMap,
} from './types.ts'

/** The schemas of a method that is not part of the protocol. */
export interface RequestHandlerSchemas<
  P extends StandardSchemaV1 = StandardSchemaV1,
  R extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
> {
  params: P
  result?: R
}

type InferHandlerResult<R extends StandardSchemaV1 | undefined> = R extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<R>
  : Result

/** A handler as it is stored: params are checked inside. */
export type StoredHandler<ContextT> = (request: JSONRPCRequest, ctx: ContextT) => Result | Promise<Result>
type StoredNotificationHandler = (notification: Notification) => void | Promise<void>
type AnyHandler = (request: never, ctx: never) => unknown

/** Sets the revision of a connection from outside, as an entry point does that has decided on the era before. */
let setVersion: (protocol: Protocol<BaseContext>, version: string | undefined) => void
export function setNegotiatedProtocolVersion(protocol: object, version: string | undefined): void {
  setVersion(protocol as Protocol<BaseContext>, version)
}

/**
 * Sends and answers requests over a transport. `Server` and `Client` are built on it. The messages themselves are handled by a
 * `Link` of Tenon: it matches responses to requests, and knows about timeouts, progress and cancellation.
 */
export abstract class Protocol<ContextT extends BaseContext = BaseContext> {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  /** Answers requests for which there is no handler. */
  fallbackRequestHandler?: ((request: JSONRPCRequest, ctx: ContextT) => Promise<Result>) | undefined
  /** Receives notifications for which there is no handler. */
  fallbackNotificationHandler?: ((notification: Notification) => Promise<void>) | undefined

  protected _negotiatedProtocolVersion?: string | undefined
  protected _supportedProtocolVersions: string[]
  protected readonly _tenonProtocolOptions: ProtocolOptions
  /** Programs read it to call a handler that was set before. */
  readonly _requestHandlers: Map<string, StoredHandler<ContextT>> = new Map<string, StoredHandler<ContextT>>()
  private readonly _notificationHandlers = new Map<string, StoredNotificationHandler>()
  private readonly _tenonDebounced = new Set<string>()
  private _tenonWire: TransportOfLink | undefined
  private _tenonLink: Link | undefined

  static {
    setVersion = (protocol, version) => {
      protocol._negotiatedProtocolVersion = version
    }
  }

  constructor(options: ProtocolOptions = {}) {
    this._tenonProtocolOptions = options
    this._supportedProtocolVersions = options.supportedProtocolVersions ?? SUPPORTED_PROTOCOL_VERSIONS
    this.setRequestHandler('ping', () => ({}))
  }

  /** Adds to the context of a handler what only one side has. */
  protected abstract buildContext(ctx: BaseContext, extra?: MessageExtraInfo): ContextT
  protected abstract assertCapabilityForMethod(method: RequestMethod | string): void
  protected abstract assertNotificationCapability(method: NotificationMethod | string): void
  protected abstract assertRequestHandlerCapability(method: string): void

  /** Surrounds every handler that is set. */
  protected _wrapHandler(_method: string, handler: StoredHandler<ContextT>): StoredHandler<ContextT> {
    return handler
  }

  /** The name that results of 2026-07-28 carry. */
  protected _outboundServerInfo(): Implementation | undefined {
    return undefined
  }

  /** Called when the connection has ended. */
  protected _onclose(): void {
    this.onclose?.()
  }

  get transport(): Transport | undefined {
    return this._tenonWire?.transport
  }

  /** Starts the transport and takes over its messages. */
  async connect(transport: Transport): Promise<void> {
    const wire = new TransportOfLink(transport)
    const link = new Link(wire, this._tenonReceiver(wire))
    link.firstId = 0
    this._tenonWire = wire
    this._tenonLink = link
    transport.setSupportedProtocolVersions?.(this._supportedProtocolVersions)
    await link.open()
  }

  async close(): Promise<void> {
    await this._tenonLink?.close(0)
  }

  private _tenonReceiver(wire: TransportOfLink): Receiver {
    return {
      methods: controlMethods,
      request: (exchange) => this._tenonReceive(exchange, wire),
      notification: (notification) => this._tenonNotified(notification, wire),
      unmatched: (response) =>
        this._tenonReport(new Error(`Received a response for an unknown message ID: ${JSON.stringify(response)}`)),
      closed: (link) => {
        if (link !== this._tenonLink) return
        this._tenonLink = undefined
        this._tenonWire = undefined
        this._tenonDebounced.clear()
        this._onclose()
      },
      error: (error) => this._tenonReport(error),
    }
  }

  private _tenonReport(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)))
  }

  private _tenonReceive(exchange: Exchange, wire: TransportOfLink): void {
    const extra = wire.extraOf(exchange.request)
    const run = () => this._tenonAnswer(exchange, wire, extra)
    // Handlers start after the message was received, as programs expect that send a request and its cancellation at once.
    Promise.resolve()
      .then(run)
      .then(
        (result) =>
          exchange.reply(this._tenonEra.encodeResult(exchange.request.method, result, this._outboundServerInfo())),
        (error) => this._tenonFail(exchange, error),
      )
      .catch((error) => {
        this._tenonReport(new Error(`Failed to encode result for ${exchange.request.method}: ${error}`))
        exchange.fail({ code: ProtocolErrorCode.InternalError, message: 'Internal error' })
      })
      .finally(() => exchange.handled())
  }

  private _tenonFail(exchange: Exchange, error: unknown): void {
    const { code, message, data } = (isObject(error) || error instanceof Error ? error : {}) as Partial<ProtocolError>
    const known = Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError
    exchange.fail({
      code: known === ProtocolErrorCode.ResourceNotFound ? ProtocolErrorCode.InvalidParams : known,
      message: message ?? 'Internal error',
      ...(data !== undefined && { data }),
    })
  }

  private _tenonAnswer(
    exchange: Exchange,
    wire: TransportOfLink,
    extra: MessageExtraInfo | undefined,
  ): Result | Promise<Result> {
    const { id, method, params } = exchange.request
    const era = this._tenonEra
    this._tenonCheckClassification(method, era, extra)
    const handler = this._requestHandlers.get(method) ?? this.fallbackRequestHandler
    if (!handler || (isSpecRequestMethod(method) && !era.hasRequest(method))) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
    }
    const lifted = lift(params as Record<string, unknown> | undefined, true)
    const problem = era.envelopeProblem(lifted.envelope)
    if (problem !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem)
    const request = { jsonrpc: '2.0', id, method, ...(lifted.params && { params: lifted.params }) } as JSONRPCRequest
    return handler(request, this.buildContext(this._tenonContext(exchange, wire, lifted, extra), extra))
  }

  /** An entry point passed a message of one era to an instance of the other. */
  private _tenonCheckClassification(method: string, era: WireEra, extra: MessageExtraInfo | undefined): void {
    const problem = mismatch(method, era, extra)
    if (!problem) return
    this._tenonReport(new Error(`Era mismatch on inbound request '${method}': ${problem.reason}`))
    throw new ProtocolError(
      ProtocolErrorCode.UnsupportedProtocolVersion,
      `Unsupported protocol version: ${problem.requested}`,
      { supported: this._supportedProtocolVersions, requested: problem.requested },
    )
  }

  private _tenonContext(
    exchange: Exchange,
    wire: TransportOfLink,
    lifted: Lifted,
    extra?: MessageExtraInfo,
  ): BaseContext {
    const { id, method } = exchange.request
    const responses = lifted.inputResponses === undefined ? undefined : splitResponses(lifted.inputResponses)
    const send = (request: Request, second?: StandardSchemaV1 | RequestOptions, third?: RequestOptions) => {
      const related = (options?: RequestOptions): RequestOptions => ({ ...options, relatedRequestId: id as RequestId })
      if (isStandardSchema(second)) return this.request(request, second, related(third))
      return this.request(request as { method: RequestMethod }, related(second))
    }
    return {
      ...(wire.transport.sessionId !== undefined && { sessionId: wire.transport.sessionId }),
      mcpReq: {
        id: id as RequestId,
        method,
        ...(lifted.params?._meta !== undefined && { _meta: lifted.params._meta as RequestMeta }),
        ...(lifted.envelope && { envelope: lifted.envelope }),
        ...(responses && { inputResponses: responses.accepted }),
        ...(responses && responses.dropped.length > 0 && { droppedInputResponseKeys: responses.dropped }),
        requestState: <T>() => lifted.requestState as T | undefined,
        get signal() {
          return exchange.signal
        },
        send: send as BaseContext['mcpReq']['send'],
        notify: (notification) => this.notification(notification, { relatedRequestId: id as RequestId }),
      },
      ...(extra?.authInfo && { http: { authInfo: extra.authInfo } }),
    }
  }

  private _tenonNotified(received: RpcNotification, wire: TransportOfLink): void {
    const { method } = received
    const era = this._tenonEra
    const problem = mismatch(method, era, wire.extraOf(received))
    if (problem) {
      return this._tenonReport(new Error(`Era mismatch on inbound notification '${method}': ${problem.reason}`))
    }
    if (isSpecNotificationMethod(method) && !era.hasNotification(method)) return
    const handler = this._notificationHandlers.get(method) ?? this.fallbackNotificationHandler
    if (!handler) return this._tenonCheckControl(received)
    const { params } = lift(received.params as Record<string, unknown> | undefined, false)
    const notification = { jsonrpc: '2.0', method, ...(params && { params }) } as Notification
    Promise.resolve()
      .then(() => handler(notification))
      .catch((error) => this._tenonReport(new Error(`Uncaught error in notification handler: ${error}`)))
  }

  /** Progress and cancellations are handled by the link, which ignores malformed ones. */
  private _tenonCheckControl({ method, params }: RpcNotification): void {
    if (method !== controlMethods.progress && method !== controlMethods.cancelled) return
    const problem = paramsProblem(method, params)
    if (problem !== undefined) this._tenonReport(new Error(`Uncaught error in notification handler: ${problem}`))
  }

  /** How messages of this connection look. */
  protected get _tenonEra(): WireEra {
    return eraOf(this._negotiatedProtocolVersion)
  }

  /** Sends a request. A method that is not part of the protocol needs the schema of its result. */
  request<M extends RequestMethod>(
    request: { method: M; params?: Record<string, unknown> },
    options?: RequestOptions,
  ): Promise<ResultTypeMap[M]>
  request<T extends StandardSchemaV1>(
    request: Request,
    resultSchema: T,
    options?: RequestOptions,
  ): Promise<StandardSchemaV1.InferOutput<T>>
  request(request: Request, second?: StandardSchemaV1 | RequestOptions, third?: RequestOptions): Promise<unknown> {
    const { method } = request
    this._tenonCheckSendable(method, 'Method', isSpecRequestMethod, this._tenonEra.hasRequest(method))
    const schema = isStandardSchema(second) ? second : undefined
    if (!schema && !isSpecRequestMethod(method)) {
      throw new TypeError(`'${method}' is not a spec method; pass a result schema as the second argument to request().`)
    }
    return this._tenonRequest(request, schema, (schema ? third : second) as RequestOptions | undefined)
  }

  private async _tenonRequest(
    request: Request,
    schema: StandardSchemaV1 | undefined,
    options: RequestOptions = {},
  ): Promise<unknown> {
    const { method } = request
    const [link, wire] = [this._tenonLink, this._tenonWire]
    if (!link || !wire) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    if (this._tenonProtocolOptions.enforceStrictCapabilities) this.assertCapabilityForMethod(method)
    const { signal } = options
    if (signal?.aborted) throw toSdkError(signal.reason)
    let id: number | undefined
    const sendOptions = toSendOptions(options, (sent) => {
      id = sent
    })
    try {
      const result = await link.request(method, request.params as Record<string, unknown> | undefined, sendOptions)
      return await this._tenonCheckResult(request, withoutResultType(result as Result), schema)
    } catch (error) {
      throw fromLinkError(error, options)
    } finally {
      wire.forget(id)
    }
  }

  private async _tenonCheckResult(
    request: Request,
    result: Result,
    schema: StandardSchemaV1 | undefined,
  ): Promise<unknown> {
    const { method } = request
    if (schema) {
      const checked = await check(schema, result)
      if (checked.ok) return checked.value
      throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${checked.error}`)
    }
    // The content of forms is checked against their schema by the caller, who chooses the validator.
    const isForm = method === 'elicitation/create'
    const problem = questions.has(method)
      ? answerProblem(isForm ? formQuestion : (request as never), result)
      : undefined
    if (problem !== undefined)
      throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${problem}`)
    return result
  }

  /** Sends a notification. */
  async notification(notification: Notification, options?: NotificationOptions): Promise<void> {
    const { method } = notification
    if (!this._tenonWire) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    this._tenonCheckSendable(method, 'Notification', isSpecNotificationMethod, this._tenonEra.hasNotification(method))
    this.assertNotificationCapability(method)
    const message = { jsonrpc: '2.0' as const, ...notification }
    const isDebounced = this._tenonProtocolOptions.debouncedNotificationMethods?.includes(method)
    if (!isDebounced || notification.params || options?.relatedRequestId !== undefined) {
      return this._tenonWire.transport.send(message, options)
    }
    if (this._tenonDebounced.has(method)) return
    this._tenonDebounced.add(method)
    Promise.resolve()
      .then(async () => {
        if (this._tenonDebounced.delete(method)) await this._tenonWire?.transport.send(message, options)
      })
      .catch((error) => this._tenonReport(error))
  }

  private _tenonCheckSendable(
    method: string,
    noun: string,
    isSpec: (method: string) => boolean,
    isInEra: boolean,
  ): void {
    if (!isSpec(method) || isInEra) return
    const era = this._tenonEra.name
    throw new SdkError(
      SdkErrorCode.MethodNotSupportedByProtocolVersion,
      `${noun} '${method}' is not supported by the negotiated protocol version (wire era ${era})`,
      { method, era },
    )
  }

  /** Sets the handler of a request. A method that is not part of the protocol needs the schema of its params. */
  setRequestHandler<M extends RequestMethod>(
    method: M,
    handler: (request: RequestTypeMap[M], ctx: ContextT) => HandlerResultTypeMap[M] | Promise<HandlerResultTypeMap[M]>,
  ): void
  setRequestHandler<P extends StandardSchemaV1, R extends StandardSchemaV1 | undefined = undefined>(
    method: string,
    schemas: { params: P; result?: R },
    handler: (
      params: StandardSchemaV1.InferOutput<P>,
      ctx: ContextT,
    ) => InferHandlerResult<R> | Promise<InferHandlerResult<R>>,
  ): void
  setRequestHandler(method: string, second: RequestHandlerSchemas | AnyHandler, third?: AnyHandler): void {
    this.assertRequestHandlerCapability(method)
    const stored = typeof second === 'function' ? specHandler(method, second) : customHandler(method, second, third)
    this._requestHandlers.set(method, this._wrapHandler(method, stored))
  }

  removeRequestHandler(method: RequestMethod | string): void {
    this._requestHandlers.delete(method)
  }

  /** Throws if there is a handler already. */
  assertCanSetRequestHandler(method: RequestMethod | string): void {
    if (this._requestHandlers.has(method)) {
      throw new Error(`A request handler for ${method} already exists, which would be overridden`)
    }
  }

  /** Sets the handler of a notification. A method that is not part of the protocol needs the schema of its params. */
  setNotificationHandler<M extends NotificationMethod>(
    method: M,
    handler: (notification: NotificationTypeMap[M]) => void | Promise<void>,
  ): void
  setNotificationHandler<P extends StandardSchemaV1>(
    method: string,
    schemas: { params: P },
    handler: (params: StandardSchemaV1.InferOutput<P>, notification: Notification) => void | Promise<void>,
  ): void
  setNotificationHandler(
    method: string,
    second: { params: StandardSchemaV1 } | ((notification: never) => void | Promise<void>),
    third?: (params: never, notification: Notification) => void | Promise<void>,
  ): void {
    const stored =
      typeof second === 'function'
        ? specNotificationHandler(method, second)
        : customNotificationHandler(method, second.params, third)
    this._notificationHandlers.set(method, stored)
  }

  removeNotificationHandler(method: NotificationMethod | string): void {
    this._notificationHandlers.delete(method)
  }

  protected _getRequestHandler(method: string): StoredHandler<ContextT> | undefined {
    return this._requestHandlers.get(method)
  }
}

const questions: ReadonlySet<string> = new Set(['sampling/createMessage', 'elicitation/create', 'roots/list'])
/** A question whose answer has the shape of every answer to an elicitation. */
const formQuestion = { method: 'elicitation/create', params: { mode: 'url', message: '', url: '' } } as const

function mismatch(
  _method: string,
  era: WireEra,
  extra: MessageExtraInfo | undefined,
): { reason: string; requested: string } | undefined {
  const { classification } = extra ?? {}
  if (!classification) return undefined
  const { revision } = classification
  const actual = revision ? eraOf(revision) : classification.era === 'modern' ? modernEra : legacyEra
  if (actual === era) return undefined
  const reason = `classified as ${actual.name} but this instance serves ${era.name}`
  return { reason, requested: revision ?? actual.name }
}

function specHandler<ContextT>(method: string, handler: AnyHandler): StoredHandler<ContextT> {
  if (!isSpecRequestMethod(method)) {
    throw new TypeError(
      `'${method}' is not a spec request method; pass schemas as the second argument to setRequestHandler().`,
    )
  }
  return ({ method: _, params }, ctx) => {
    const problem = paramsProblem(method, params)
    if (problem !== undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid ${method} request: ${problem}`)
    }
    return handler({ method, ...(params && { params }) } as never, ctx as never) as Result | Promise<Result>
  }
}

function customHandler<ContextT>(
  method: string,
  schemas: RequestHandlerSchemas,
  handler: AnyHandler | undefined,
): StoredHandler<ContextT> {
  if (!handler) throw new TypeError('setRequestHandler: handler is required')
  return async ({ params }, ctx) => {
    const checked = await check(schemas.params, { ...params })
    if (checked.ok) return handler(checked.value as never, ctx as never) as Result
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params for ${method}: ${checked.error}`)
  }
}

function specNotificationHandler(
  method: string,
  handler: (notification: never) => void | Promise<void>,
): StoredNotificationHandler {
  if (!isSpecNotificationMethod(method)) {
    throw new TypeError(
      `'${method}' is not a spec notification method; pass schemas as the second argument to setNotificationHandler().`,
    )
  }
  return ({ params }) => {
    const problem = paramsProblem(method, params)
    if (problem !== undefined) throw new Error(`Invalid ${method}: ${problem}`)
    return handler({ method, ...(params && { params }) } as never)
  }
}

function customNotificationHandler(
  method: string,
  schema: StandardSchemaV1,
  handler: ((params: never, notification: Notification) => void | Promise<void>) | undefined,
): StoredNotificationHandler {
  if (!handler) throw new TypeError('setNotificationHandler: handler is required')
  return async (notification) => {
    const checked = await check(schema, { ...notification.params })
    if (checked.ok) return handler(checked.value as never, notification)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Invalid params for notification ${method}: ${checked.error}`,
    )
  }
}

function withoutResultType({ resultType: _, ...result }: Result): Result {
  return result
}

function toSendOptions(options: RequestOptions, onSent: (id: number) => void): SendOptions & CarriesSendOptions {
  const { onprogress, signal, timeout, resetTimeoutOnProgress, maxTotalTimeout, ...rest } = options
  const { allowInputRequired: _, ...transport } = rest
  return {
    // 0 means at once here, and never for a link.
    timeoutMs: Math.max(1, timeout ?? DEFAULT_REQUEST_TIMEOUT_MSEC),
    maxTotalTimeoutMs: maxTotalTimeout ?? 0,
    resetTimeoutOnProgress: resetTimeoutOnProgress ?? false,
    onSent,
    ...(onprogress && { onProgress: onprogress as SendOptions['onProgress'] }),
    ...(signal && { signal: withTextReason(signal) }),
    ...(Object.keys(transport).length > 0 && { transport }),
  }
}

/** The other side is told the reason, which has to be a text. */
function withTextReason(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  signal.addEventListener('abort', () => controller.abort(String(signal.reason)), { once: true })
  return controller.signal
}

function toSdkError(reason: unknown): SdkError {
  return reason instanceof SdkError ? reason : new SdkError(SdkErrorCode.RequestTimeout, String(reason))
}

function fromLinkError(error: unknown, { signal, timeout, maxTotalTimeout }: RequestOptions): unknown {
  if (error instanceof PeerError) return ProtocolError.fromError(error.rpcCode, error.message, error.data)
  if (error instanceof TimeoutError) {
    if (maxTotalTimeout !== undefined && error.message.includes('in total')) {
      const data = { maxTotalTimeout, totalElapsed: maxTotalTimeout }
      return new SdkError(SdkErrorCode.RequestTimeout, 'Maximum total timeout exceeded', data)
    }
    const data = { timeout: timeout ?? DEFAULT_REQUEST_TIMEOUT_MSEC }
    return new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out', data)
  }
  if (error instanceof ClosedError) return new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed')
  if (signal?.aborted && error instanceof McpError) return toSdkError(signal.reason)
  return error
}

/** Adds capabilities. Members of a capability that both have are merged. */
export function mergeCapabilities<T extends object>(base: T, additional: Partial<T>): T {
  const merged = { ...base } as Record<string, unknown>
  for (const [name, value] of Object.entries(additional)) {
    if (value === undefined) continue
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value
  }
  return merged as T
}
