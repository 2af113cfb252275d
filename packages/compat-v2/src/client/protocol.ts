import { isObject } from 'tenon/internal'
import { controlMethods, type Exchange, Link, type Params, type RpcNotification, type RpcResponse } from 'tenon/jsonrpc'
import { DEFAULT_REQUEST_TIMEOUT_MSEC, SUPPORTED_PROTOCOL_VERSIONS } from '../core/constants.ts'
import type {
  BaseContext,
  NotificationOptions,
  ProtocolOptions,
  RequestOptions,
  RequestStateAccessor,
} from '../core/context.ts'
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode } from '../core/errors.ts'
import { check, isStandardSchema, type StandardSchemaV1 } from '../core/standard-schema.ts'
import type { Transport, TransportSendOptions } from '../core/transport.ts'
import type {
  ClientCapabilities,
  HandlerResultTypeMap,
  InputRequiredResult,
  JSONRPCNotification,
  JSONRPCRequest,
  MessageExtraInfo,
  Notification,
  NotificationMethod,
  NotificationTypeMap,
  Request,
  RequestId,
  RequestMethod,
  RequestTypeMap,
  Result,
  ResultTypeMap,
  ServerCapabilities,
} from '../core/types.ts'
import { extraOf, LinkPort } from './port.ts'
import { toCancelled, toSdkError } from './to-sdk-error.ts'
import {
  checkQuestion,
  type DecodedResult,
  isSpecNotification,
  isSpecRequest,
  legacyRules,
  modernRules,
  rulesOf,
  type WireRules,
} from './wire.ts'

type RequestHandler<ContextT> = (request: JSONRPCRequest, ctx: ContextT) => Promise<Result>
type NotificationHandler = (notification: JSONRPCNotification) => void | Promise<void>

/** Checks a result, and returns it in the form that the caller gets. */
type ResultCheck = (result: Result) => unknown | Promise<unknown>

/** The schemas of a method that the specification does not have. */
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

/** A result that asks for input. */
export type InputRequired = Extract<DecodedResult, { kind: 'input_required' }>

/** A call that was answered with a request for input. */
export interface InterruptedCall {
  readonly request: Request
  readonly options: RequestOptions | undefined
  readonly startedAt: number
  /** Sends the request again. Resolves with its result, which may ask for input again. */
  retry(params: Record<string, unknown> | undefined, options: RequestOptions): Promise<unknown>
}

const noRequestState: RequestStateAccessor = () => undefined

/** One side of a connection: sends requests and notifications, and handles those of the other side. */
export abstract class Protocol<ContextT extends BaseContext> {
  /** Called when the connection has closed. */
  onclose?: () => void
  /** Called with errors that belong to no request. */
  onerror?: (error: Error) => void
  /** Handles requests for which there is no other handler. */
  fallbackRequestHandler?: (request: JSONRPCRequest, ctx: ContextT) => Promise<Result>
  /** Handles notifications for which there is no other handler. */
  fallbackNotificationHandler?: (notification: Notification) => Promise<void>
  protected _supportedProtocolVersions: string[]
  protected _negotiatedProtocolVersion: string | undefined
  private readonly _options: ProtocolOptions
  private readonly _requestHandlers = new Map<string, RequestHandler<ContextT>>()
  private readonly _notificationHandlers = new Map<string, NotificationHandler>()
  private readonly _tenonDebounced = new Set<string>()
  /** The requests whose caller wants progress. */
  private readonly _tenonWithProgress = new Set<number>()
  private _tenonPort: LinkPort | undefined
  private _tenonLink: Link | undefined

  constructor(options: ProtocolOptions = {}) {
    this._options = options
    this._supportedProtocolVersions = options.supportedProtocolVersions ?? SUPPORTED_PROTOCOL_VERSIONS
    this._requestHandlers.set('ping', async () => ({}))
  }

  protected abstract buildContext(ctx: BaseContext, transportInfo?: MessageExtraInfo): ContextT
  /** Throws if the other side did not declare the capability that a request needs. */
  protected abstract assertCapabilityForMethod(method: RequestMethod | string): void
  /** Throws if this side did not declare the capability that a notification needs. */
  protected abstract assertNotificationCapability(method: NotificationMethod | string): void
  /** Throws if this side did not declare the capability that a handler belongs to. */
  protected abstract assertRequestHandlerCapability(method: string): void

  /** The transport in use; undefined if there is no connection. */
  get transport(): Transport | undefined {
    return this._tenonPort?.transport
  }

  /** Opens a connection. */
  async connect(transport: Transport): Promise<void> {
    await this._tenonOpen(new LinkPort(transport))
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    await this._tenonLink?.close(0)
  }

  /** Sends a request, and resolves with its result. For methods that the specification does not have, pass a schema. */
  request<M extends RequestMethod>(
    request: { method: M; params?: Record<string, unknown> | undefined },
    options?: RequestOptions,
  ): Promise<ResultTypeMap[M]>
  request<T extends StandardSchemaV1>(
    request: Request,
    resultSchema: T,
    options?: RequestOptions,
  ): Promise<StandardSchemaV1.InferOutput<T>>
  request(request: Request, second?: StandardSchemaV1 | RequestOptions, third?: RequestOptions): Promise<unknown> {
    return this._tenonRequest('request()', request, second, third)
  }

  /** Sends a notification. */
  async notification(notification: Notification, options?: NotificationOptions): Promise<void> {
    const { method, params } = notification
    const port = this._tenonPort
    if (!port) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    const rules = this._tenonRulesFor(method)
    if (isSpecNotification(method) && !rules.hasNotification(method)) throw notInEra('Notification', method, rules)
    this.assertNotificationCapability(method)
    const enveloped = this._tenonWithEnvelope(params)
    const message = { ...notification, jsonrpc: '2.0', ...(enveloped && { params: enveloped }) } as const
    const { debouncedNotificationMethods: debounced = [] } = this._options
    const canWait = debounced.includes(method) && !params && options?.relatedRequestId === undefined
    if (canWait) return this._tenonSendLater(message)
    await this._tenonDeliver(port, message, options)
  }

  /** Handles requests of a method. For methods that the specification does not have, pass schemas. */
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
  setRequestHandler(
    method: string,
    second: RequestHandlerSchemas | ((request: never, ctx: ContextT) => unknown),
    third?: (params: never, ctx: ContextT) => unknown,
  ): void {
    this.assertRequestHandlerCapability(method)
    const handler =
      typeof second === 'function'
        ? this._tenonSpecHandler(method, second as (request: unknown, ctx: ContextT) => Result)
        : customHandler(method, second, third as ((params: unknown, ctx: ContextT) => Result) | undefined)
    this._requestHandlers.set(method, this._wrapHandler(method, handler))
  }

  removeRequestHandler(method: RequestMethod | string): void {
    this._requestHandlers.delete(method)
  }

  /** Throws if there is a handler for this method. */
  assertCanSetRequestHandler(method: RequestMethod | string): void {
    if (!this._requestHandlers.has(method)) return
    throw new Error(`A request handler for ${method} already exists, which would be overridden`)
  }

  /** Handles notifications of a method. For methods that the specification does not have, pass schemas. */
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
    const handler =
      typeof second === 'function'
        ? this._tenonSpecNotificationHandler(method, second as (notification: unknown) => void | Promise<void>)
        : customNotificationHandler(method, second.params, third as NotificationCallback | undefined)
    this._notificationHandlers.set(method, handler)
  }

  removeNotificationHandler(method: NotificationMethod | string): void {
    this._notificationHandlers.delete(method)
  }

  /** Opens a link on a transport, which may have been used for negotiation before. */
  protected async _tenonOpen(port: LinkPort): Promise<void> {
    const link = new Link(port, {
      methods: controlMethods,
      request: (exchange) => this._tenonReceived(exchange),
      notification: (notification) => this._tenonOnNotification(notification),
      unmatched: (response) => this._tenonUnmatched(response),
      closed: (closed) => this._tenonClosed(closed),
      error: (error) => this._tenonOnError(error),
    })
    link.firstId = 0
    link.answersFaults = false
    this._tenonPort = port
    this._tenonLink = link
    port.transport.setSupportedProtocolVersions?.(this._supportedProtocolVersions)
    await link.open()
  }

  /** The rules of the negotiated revision. */
  protected get _tenonRules(): WireRules {
    return rulesOf(this._negotiatedProtocolVersion)
  }

  /** The members of `_meta` that every message of 2026-07-28 carries; undefined on earlier revisions. */
  protected _tenonEnvelope(): Readonly<Record<string, unknown>> | undefined {
    return undefined
  }

  /** Returns why a request of the other side is ignored; undefined to handle it. */
  protected _tenonDropReason(_request: JSONRPCRequest): string | undefined {
    return undefined
  }

  /** Changes how requests of a method are handled. */
  protected _wrapHandler(_method: string, handler: RequestHandler<ContextT>): RequestHandler<ContextT> {
    return handler
  }

  protected _tenonRequestHandler(method: string): RequestHandler<ContextT> | undefined {
    return this._requestHandlers.get(method)
  }

  /** Continues a call that was answered with a request for input. */
  protected async _tenonProvideInput(_input: InputRequired, { request }: InterruptedCall): Promise<unknown> {
    const { method } = request
    throw new SdkError(SdkErrorCode.UnsupportedResultType, `Unsupported result type 'input_required' for ${method}`, {
      resultType: 'input_required',
      method,
    })
  }

  protected _tenonOnError(error: unknown): void {
    const converted = toSdkError(error, { timeout: DEFAULT_REQUEST_TIMEOUT_MSEC })
    this.onerror?.(converted instanceof Error ? converted : new Error(String(converted)))
  }

  protected _tenonOnClose(): void {
    this.onclose?.()
  }

  protected _tenonOnNotification({ method, params }: RpcNotification): void {
    const notification = { jsonrpc: '2.0', method, ...(params && { params }) } as JSONRPCNotification
    if (isSpecNotification(method) && !this._tenonRules.hasNotification(method)) return
    const handler = this._notificationHandlers.get(method)
    const fallback = this.fallbackNotificationHandler
    if (!handler && method === controlMethods.cancelled) return
    if (!handler && method === controlMethods.progress) return this._tenonCheckToken(notification)
    if (!handler && !fallback) return
    Promise.resolve()
      .then(() => (handler ? handler(notification) : fallback?.(notification)))
      .catch((error) => this._tenonOnError(new Error(`Uncaught error in notification handler: ${error}`)))
  }

  /** Sends one request on the link. */
  protected _tenonExchange(method: string, params: Params | undefined, options: ExchangeOptions): Promise<Result> {
    const link = this._tenonLink
    if (!link) return Promise.reject(new Error('Not connected'))
    return link.request(method, params, options)
  }

  /** Resolves with the result of a request, checked with `checkResult`. */
  private _tenonRequest(
    caller: string,
    request: Request,
    second: StandardSchemaV1 | RequestOptions | undefined,
    third: RequestOptions | undefined,
    related?: RequestId,
  ): Promise<unknown> {
    const { method } = request
    const rules = this._tenonRulesFor(method)
    if (isSpecRequest(method) && !rules.hasRequest(method)) throw notInEra('Method', method, rules)
    const hasSchema = isStandardSchema(second)
    if (!hasSchema && !rules.checkResult(method, undefined)) {
      throw new TypeError(`'${method}' is not a spec method; pass a result schema as the second argument to ${caller}.`)
    }
    const checkResult = hasSchema ? schemaCheck(method, second) : specCheck(method, rules)
    const options = hasSchema ? third : (second as RequestOptions | undefined)
    return this._tenonCall(
      rules,
      request,
      checkResult,
      related === undefined ? options : { ...options, relatedRequestId: related },
    )
  }

  private async _tenonCall(
    rules: WireRules,
    request: Request,
    checkResult: ResultCheck,
    options: RequestOptions | undefined,
  ): Promise<unknown> {
    const { method } = request
    const startedAt = Date.now()
    if (!this._tenonLink) throw new Error('Not connected')
    if (this._options.enforceStrictCapabilities) this.assertCapabilityForMethod(method)
    if (options?.signal?.aborted) throw toCancelled(options.signal.reason)
    const decoded = rules.decodeResult(method, await this._tenonSend(rules, request, options))
    if (decoded.kind === 'invalid') throw decoded.error
    if (decoded.kind === 'complete') return checkResult(decoded.result)
    if (options?.allowInputRequired) return toInputRequiredResult(decoded)
    return this._tenonProvideInput(decoded, {
      request,
      options,
      startedAt,
      retry: (params, retryOptions) =>
        this._tenonCall(rules, { method, ...(params && { params }) } as Request, checkResult, retryOptions),
    })
  }

  private async _tenonSend(
    rules: WireRules,
    { method, params }: Request,
    options: RequestOptions = {},
  ): Promise<Result> {
    const { signal, onprogress, timeout = DEFAULT_REQUEST_TIMEOUT_MSEC, maxTotalTimeout } = options
    const cancellation = signal && textAbort(signal)
    const port = this._tenonPort
    if (port) port.cancelsByClosing = rules.isModern
    let id: number | undefined
    try {
      return await this._tenonExchange(method, this._tenonWithEnvelope(params), {
        send: pickSendOptions(options),
        ...pickHttpOptions(options),
        timeoutMs: Math.max(1, timeout),
        maxTotalTimeoutMs: maxTotalTimeout ?? 0,
        resetTimeoutOnProgress: options.resetTimeoutOnProgress ?? false,
        signal: cancellation?.signal,
        ...(onprogress && { onProgress: (progress) => onprogress(progress) }),
        onSent: (sent) => {
          id = sent
          if (onprogress) this._tenonWithProgress.add(sent)
        },
      })
    } catch (error) {
      throw signal?.aborted && isCancelled(error)
        ? toCancelled(signal.reason)
        : toSdkError(error, { timeout, maxTotalTimeout })
    } finally {
      cancellation?.dispose()
      if (id !== undefined) {
        port?.finished(id)
        this._tenonWithProgress.delete(id)
      }
    }
  }

  private _tenonWithEnvelope(params: Request['params']): Params | undefined {
    const envelope = this._tenonEnvelope()
    if (!envelope) return params as Params | undefined
    return { ...params, _meta: { ...envelope, ...params?._meta } } as Params
  }

  private async _tenonDeliver(
    port: LinkPort,
    message: { readonly jsonrpc: '2.0'; readonly method: string; readonly params?: Params },
    options: NotificationOptions | undefined,
  ): Promise<void> {
    try {
      await port.send(message, options)
    } catch (error) {
      throw toSdkError(error, { timeout: DEFAULT_REQUEST_TIMEOUT_MSEC })
    }
  }

  /** Sends a notification at the end of this turn, once however often it was sent. */
  private _tenonSendLater(message: {
    readonly jsonrpc: '2.0'
    readonly method: string
    readonly params?: Params
  }): void {
    if (this._tenonDebounced.has(message.method)) return
    this._tenonDebounced.add(message.method)
    queueMicrotask(() => {
      this._tenonDebounced.delete(message.method)
      const port = this._tenonPort
      if (port) this._tenonDeliver(port, message, undefined).catch((error) => this._tenonOnError(error))
    })
  }

  /** Before a revision is negotiated, the method says which rules apply. */
  private _tenonRulesFor(method: string): WireRules {
    if (this._negotiatedProtocolVersion !== undefined) return this._tenonRules
    return method === 'server/discover' ? modernRules : legacyRules
  }

  private _tenonReceived(exchange: Exchange): void {
    const request = exchange.request as JSONRPCRequest
    const { method } = request
    const reason = this._tenonDropReason(request)
    if (reason !== undefined) {
      exchange.cancel(reason)
      exchange.handled()
      return this._tenonOnError(new Error(reason))
    }
    const isKnown = !isSpecRequest(method) || this._tenonRules.hasRequest(method)
    const handler = isKnown ? (this._requestHandlers.get(method) ?? this.fallbackRequestHandler) : undefined
    if (!handler) {
      exchange.fail({ code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' })
      exchange.handled()
      return
    }
    const ctx = this.buildContext(this._tenonContextOf(exchange), extraOf(request))
    Promise.resolve()
      .then(() => handler(request, ctx))
      .then(
        (result) => exchange.reply(result as never),
        (error) => exchange.fail(toErrorBody(error)),
      )
      .catch((error) => this._tenonOnError(new Error(`Failed to send response: ${error}`)))
      .finally(() => exchange.handled())
  }

  private _tenonContextOf(exchange: Exchange): BaseContext {
    const { id, method, params } = exchange.request as JSONRPCRequest
    const authInfo = extraOf(exchange.request)?.authInfo
    return {
      sessionId: this.transport?.sessionId,
      mcpReq: {
        id,
        method,
        _meta: params?._meta,
        requestState: noRequestState,
        signal: exchange.signal,
        send: ((request: Request, second?: StandardSchemaV1 | RequestOptions, third?: RequestOptions) =>
          this._tenonRequest('ctx.mcpReq.send()', request, second, third, id)) as BaseContext['mcpReq']['send'],
        notify: (notification) => this.notification(notification, { relatedRequestId: id }),
      },
      http: authInfo ? { authInfo } : undefined,
    }
  }

  private _tenonCheckToken(notification: JSONRPCNotification): void {
    if (this._tenonWithProgress.has(Number(notification.params?.progressToken))) return
    const what = `Received a progress notification for an unknown token: ${JSON.stringify(notification)}`
    this._tenonOnError(new Error(what))
  }

  private _tenonUnmatched(response: RpcResponse): void {
    this._tenonOnError(new Error(`Received a response for an unknown message ID: ${JSON.stringify(response)}`))
  }

  private _tenonClosed(link: Link): void {
    if (this._tenonLink !== link) return
    this._tenonLink = undefined
    this._tenonPort = undefined
    this._tenonDebounced.clear()
    this._tenonOnClose()
  }

  private _tenonSpecHandler(
    method: string,
    handler: (request: unknown, ctx: ContextT) => Result,
  ): RequestHandler<ContextT> {
    if (!isSpecRequest(method)) {
      throw new TypeError(
        `'${method}' is not a spec request method; pass schemas as the second argument to setRequestHandler().`,
      )
    }
    return async (request, ctx) => {
      const checked = this._tenonRules.checkRequest(method, request) ?? checkQuestion(method, request)
      if (!checked)
        throw new ProtocolError(ProtocolErrorCode.InternalError, `No wire schema for ${method} in the resolved era`)
      if (!checked.ok) throw new Error(checked.message)
      return handler(checked.value, ctx)
    }
  }

  private _tenonSpecNotificationHandler(
    method: string,
    handler: (notification: unknown) => void | Promise<void>,
  ): NotificationHandler {
    if (!isSpecNotification(method)) {
      throw new TypeError(
        `'${method}' is not a spec notification method; pass schemas as the second argument to setNotificationHandler().`,
      )
    }
    return (notification) => {
      const checked = this._tenonRules.checkNotification(method, notification)
      if (!checked)
        throw new ProtocolError(ProtocolErrorCode.InternalError, `No wire schema for ${method} in the resolved era`)
      if (!checked.ok) throw new Error(checked.message)
      return handler(checked.value)
    }
  }
}

type NotificationCallback = (params: unknown, notification: Notification) => void | Promise<void>

/** Options of a request on a link, with those that only the transport uses. */
export interface ExchangeOptions extends NonNullable<Parameters<Link['request']>[2]> {
  /** For transports of programs. */
  send?: TransportSendOptions | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

function customHandler<ContextT>(
  method: string,
  { params }: RequestHandlerSchemas,
  handler: ((params: unknown, ctx: ContextT) => Result) | undefined,
): RequestHandler<ContextT> {
  if (!handler) throw new TypeError('setRequestHandler: handler is required')
  return async (request, ctx) => {
    const checked = await check(params, { ...request.params })
    if (checked.ok) return handler(checked.value, ctx)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params for ${method}: ${checked.error}`)
  }
}

function customNotificationHandler(
  method: string,
  params: StandardSchemaV1,
  handler: NotificationCallback | undefined,
): NotificationHandler {
  if (!handler) throw new TypeError('setNotificationHandler: handler is required')
  return async (notification) => {
    const checked = await check(params, { ...notification.params })
    if (checked.ok) return handler(checked.value, notification)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Invalid params for notification ${method}: ${checked.error}`,
    )
  }
}

function schemaCheck(method: string, schema: StandardSchemaV1): ResultCheck {
  return async (result) => {
    const checked = await check(schema, result)
    if (checked.ok) return checked.value
    throw invalidResult(method, checked.error)
  }
}

function specCheck(method: string, rules: WireRules): ResultCheck {
  return (result) => {
    const checked = rules.checkResult(method, result)
    if (checked?.ok) return checked.value
    throw invalidResult(method, checked?.message ?? 'the method has no result')
  }
}

function invalidResult(method: string, problem: string): SdkError {
  return new SdkError(SdkErrorCode.InvalidResult, `Invalid result for ${method}: ${problem}`)
}

function notInEra(what: string, method: string, { era }: WireRules): SdkError {
  return new SdkError(
    SdkErrorCode.MethodNotSupportedByProtocolVersion,
    `${what} '${method}' is not supported by the negotiated protocol version (wire era ${era})`,
    { method, era },
  )
}

/** The result that a program which handles requests for input itself gets. */
function toInputRequiredResult({ inputRequests, requestState }: InputRequired): InputRequiredResult {
  return {
    resultType: 'input_required',
    inputRequests: inputRequests as NonNullable<InputRequiredResult['inputRequests']>,
    ...(requestState !== undefined && { requestState }),
  }
}

function toErrorBody(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = (isObject(error) ? error : {}) as { code?: unknown; message?: string; data?: unknown }
  const sent = Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError
  return {
    // Since 2025-11-25 a missing resource is an invalid param.
    code: sent === ProtocolErrorCode.ResourceNotFound ? ProtocolErrorCode.InvalidParams : sent,
    message: message ?? 'Internal error',
    ...(data !== undefined && { data }),
  }
}

function pickSendOptions(options: RequestOptions): TransportSendOptions {
  const { relatedRequestId, resumptionToken, onresumptiontoken, headers } = options
  return { relatedRequestId, resumptionToken, onresumptiontoken, headers }
}

/** What transports of Tenon read. */
function pickHttpOptions({ headers, resumptionToken, onresumptiontoken }: RequestOptions): object {
  return {
    ...(headers && { headers }),
    ...(resumptionToken !== undefined && { resumptionToken }),
    ...(onresumptiontoken && { onresumptiontoken }),
  }
}

/** A signal whose reason is text, which is sent to the other side. */
function textAbort(signal: AbortSignal): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  const onAbort = () => controller.abort(String(signal.reason))
  signal.addEventListener('abort', onAbort, { once: true })
  return { signal: controller.signal, dispose: () => signal.removeEventListener('abort', onAbort) }
}

function isCancelled(error: unknown): boolean {
  return isObject(error) && error.code === 'cancelled'
}

/** Adds capabilities to those that were declared before. */
export function mergeCapabilities(base: ServerCapabilities, additional: Partial<ServerCapabilities>): ServerCapabilities
export function mergeCapabilities(base: ClientCapabilities, additional: Partial<ClientCapabilities>): ClientCapabilities
export function mergeCapabilities(base: object, additional: object): object {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, added] of Object.entries(additional)) {
    if (added === undefined) continue
    const before = merged[name]
    merged[name] = isObject(before) && isObject(added) ? { ...before, ...added } : added
  }
  return merged
}
