import { isObject } from 'tenon/internal'
import { findMirroredArguments, headerAnnotationProblem, mirroredArgumentsProblem } from 'tenon/server'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from '../core/constants.ts'
import { SdkError, SdkErrorCode, UnsupportedProtocolVersionError } from '../core/errors.ts'
import {
  classifyInboundRequest,
  headerMismatchCode,
  type InboundClassificationOutcome,
  type InboundLegacyRoute,
  type InboundModernRoute,
  metaOf,
  refuseLegacy,
} from '../core/inbound.ts'
import type { AuthInfo, ClientCapabilities, Implementation, JSONRPCRequest, RequestId } from '../core/types.ts'
import {
  type McpRequestContext,
  type McpServerFactory,
  makeModern,
  modernVersions,
  serverOf,
  toError,
} from './factory.ts'
import { FetchCall, type HttpCall, JsonReply, type Reply, setCallHandler, toResponse } from './http-call.ts'
import { McpServer } from './mcp.ts'
import { handleCall, PerRequestHTTPServerTransport, type PerRequestResponseMode } from './per-request-transport.ts'
import { DEFAULT_MAX_REQUEST_BODY_SIZE, isJsonContentType } from './request-body.ts'
import { type Server, serverInfoOf, setClientIdentity } from './server.ts'
import {
  createNotifier,
  defaultMaxSubscriptions,
  InMemoryServerEventBus,
  ListenSubscription,
  listenProblem,
  type ServerEventBus,
  type ServerNotifier,
} from './server-events.ts'
import { WebStandardStreamableHTTPServerTransport } from './web-transport.ts'

/** What a layer in front of the handler knows about a request. */
export interface McpHandlerRequestOptions {
  /** The identity of the caller. */
  authInfo?: AuthInfo
  /** The parsed body, if it was read already. */
  parsedBody?: unknown
}

export type LegacyHttpHandler = (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>

export interface CreateMcpHandlerOptions {
  /** How requests of handshake revisions are served: each by a server of its own (default), or not at all. */
  legacy?: 'stateless' | 'reject'
  onerror?: (error: Error) => void
  responseMode?: PerRequestResponseMode
  /** Carries changes to the other processes of a cluster. Default: changes reach the clients of this process. */
  bus?: ServerEventBus
  /** How many `subscriptions/listen` streams may be open. Default 1,024. */
  maxSubscriptions?: number
  /** How often a comment is sent on open streams, in milliseconds. Default 15,000. */
  keepAliveMs?: number
  /** The largest request body, in bytes. Default 4 MiB. */
  maxRequestBodySize?: number
}

/** Serves both eras at one URL. */
export interface McpHttpHandler {
  fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>
  close: () => Promise<void>
  /** Tells clients of 2026-07-28 about changes. */
  notify: ServerNotifier
  bus: ServerEventBus
}

export interface LegacyStatelessFallbackOptions {
  onerror?: (error: Error) => void
  keepAliveMs?: number
  maxRequestBodySize?: number
}

export interface IsLegacyRequestOptions {
  parsedBody?: unknown
}

/**
 * Creates an HTTP handler that builds a server for each request.
 *
 * @example
 * ```ts
 * const handler = createMcpHandler(() => createServer())
 * export default { fetch: handler.fetch }
 * ```
 */
export function createMcpHandler(factory: McpServerFactory, options: CreateMcpHandlerOptions = {}): McpHttpHandler {
  if (typeof options.legacy === 'function') {
    throw new TypeError(
      "The 'legacy' option only accepts 'stateless' or 'reject'. To serve requests of earlier revisions yourself, call isLegacyRequest(request) in front of a handler with legacy: 'reject'.",
    )
  }
  if (options.responseMode === 'json') {
    console.warn(
      "responseMode: 'json' drops the notifications of requests. subscriptions/listen is a stream all the same.",
    )
  }
  const handler = new McpRequestHandler(factory, options)
  const fetch: McpHttpHandler['fetch'] = async (request, requestOptions) =>
    toResponse(await handler.handle(new FetchCall(request), requestOptions))
  setCallHandler<McpHandlerRequestOptions>(fetch, (call, requestOptions) => handler.handle(call, requestOptions))
  return {
    fetch,
    close: () => handler.close(),
    notify: createNotifier(handler.bus),
    bus: handler.bus,
  }
}

/** Serves requests of handshake revisions, each by a server of its own, without sessions. */
export function legacyStatelessFallback(
  factory: McpServerFactory,
  options?: ((error: Error) => void) | LegacyStatelessFallbackOptions,
): LegacyHttpHandler {
  const { onerror, ...rest } = typeof options === 'function' ? { onerror: options } : (options ?? {})
  return async (request, requestOptions) => {
    try {
      return await serveStateless(factory, request, requestOptions, rest)
    } catch (error) {
      reportTo(onerror, error)
      return toResponse(internalError(idOf(requestOptions?.parsedBody)))
    }
  }
}

/** Whether a request belongs to a handshake revision, for programs that route such requests themselves. */
export async function isLegacyRequest(
  request: Request,
  parsedBodyOrOptions?: unknown | IsLegacyRequestOptions,
): Promise<boolean> {
  const options = parsedBodyOrOptions as IsLegacyRequestOptions | undefined
  const given = isObject(options) && 'parsedBody' in options && !('jsonrpc' in options) ? options.parsedBody : options
  const isPost = request.method.toUpperCase() === 'POST'
  const body = given !== undefined || !isPost ? given : parse(await request.clone().text())
  if (isPost && body === undefined) return true
  return classify(new FetchCall(request), body).kind === 'legacy'
}

class McpRequestHandler {
  readonly bus: ServerEventBus
  private readonly _factory: McpServerFactory
  private readonly _options: CreateMcpHandlerOptions
  private readonly _legacy: LegacyHttpHandler | undefined
  private readonly _inFlight = new Set<Server>()
  private readonly _subscriptions = new Set<() => void>()
  private _isClosed = false

  constructor(factory: McpServerFactory, options: CreateMcpHandlerOptions) {
    this._factory = factory
    this._options = options
    this.bus = options.bus ?? new InMemoryServerEventBus((error) => this._report(error))
    const { legacy, onerror, keepAliveMs, maxRequestBodySize } = options
    const rest = {
      ...(onerror && { onerror }),
      ...(keepAliveMs !== undefined && { keepAliveMs }),
      ...(maxRequestBodySize !== undefined && { maxRequestBodySize }),
    }
    this._legacy = legacy === 'reject' ? undefined : legacyStatelessFallback(factory, rest)
  }

  async handle(call: HttpCall, options: McpHandlerRequestOptions = {}): Promise<Reply> {
    if (this._isClosed) throw new Error('This MCP handler has been closed')
    let body = options.parsedBody
    try {
      if (call.method === 'POST') {
        const problem = postProblem(call)
        if (problem) return this._refuse(415, -32000, problem)
        if (body === undefined) {
          const read = await this._read(call)
          if (read instanceof JsonReply) return read
          body = read.body
        }
      }
      return await this._route(call, body, options)
    } catch (error) {
      this._report(error)
      return internalError(idOf(body))
    }
  }

  async close(): Promise<void> {
    this._isClosed = true
    for (const end of [...this._subscriptions]) end()
    const servers = [...this._inFlight]
    this._inFlight.clear()
    await Promise.all(servers.map((server) => server.close().catch(() => {})))
  }

  private async _read(call: HttpCall): Promise<JsonReply | { body: unknown }> {
    const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE } = this._options
    let text: string
    try {
      const read = await call.readBody(maxRequestBodySize)
      if (read.tooLarge) return this._refuse(413, -32000, 'Payload Too Large: request body exceeds the limit')
      text = read.text
    } catch {
      return errorReply(400, -32700, 'Parse error: the request body could not be read')
    }
    const body = parse(text)
    if (body !== undefined) return { body }
    return errorReply(400, -32700, 'Parse error: Invalid JSON')
  }

  private _route(call: HttpCall, body: unknown, options: McpHandlerRequestOptions): Reply | Promise<Reply> {
    const outcome = classify(call, body)
    if (outcome.kind === 'modern') return this._serveModern(outcome, call, options.authInfo)
    if (outcome.kind === 'legacy') return this._serveLegacy(outcome, call, body, options)
    const { httpStatus, code, message, data } = outcome
    return this._refuse(httpStatus, code, message, data, idOf(body))
  }

  private async _serveLegacy(
    route: InboundLegacyRoute,
    call: HttpCall,
    body: unknown,
    options: McpHandlerRequestOptions,
  ): Promise<Reply> {
    if (this._legacy) {
      return this._legacy(call.request, { ...options, ...(body !== undefined && { parsedBody: body }) })
    }
    const refusal = refuseLegacy(route, modernVersions)
    if (!refusal) return new Response(null, { status: 202 })
    return this._refuse(refusal.httpStatus, refusal.code, refusal.message, refusal.data, idOf(body))
  }

  private async _serveModern(route: InboundModernRoute, call: HttpCall, authInfo?: AuthInfo): Promise<Reply> {
    const { message, classification } = route
    const revision = classification.revision ?? ''
    if (!modernVersions.includes(revision)) {
      const error = new UnsupportedProtocolVersionError({ supported: [...modernVersions], requested: revision })
      return this._refuse(400, error.code, error.message, error.data, idOf(message))
    }
    const product = await this._factory(toModernContext(call, authInfo))
    const server = serverOf(product)
    const transport = this._transport(route)
    if (route.messageKind === 'request' && message.method === 'subscriptions/listen') {
      void product.close().catch((error) => this._report(error))
      return this._listen(route.message, server, transport, call, authInfo)
    }
    const problem = product instanceof McpServer && argumentHeadersProblem(product, message as JSONRPCRequest, call)
    if (problem) {
      void product.close().catch((error) => this._report(error))
      return this._refuse(400, headerMismatchCode, `Bad Request: ${problem}`, undefined, idOf(message))
    }
    makeModern(server, revision)
    setClientIdentity(server, identityOf(message))
    return this._exchange(product, server, transport, route, call, authInfo)
  }

  private _transport({ classification, message }: InboundModernRoute): PerRequestHTTPServerTransport {
    const { responseMode = 'auto', keepAliveMs } = this._options
    const isListen = message.method === 'subscriptions/listen'
    return new PerRequestHTTPServerTransport({
      classification,
      responseMode: isListen ? 'auto' : responseMode,
      ...(keepAliveMs !== undefined && { keepAliveMs }),
    })
  }

  private async _exchange(
    product: McpServer | Server,
    server: Server,
    transport: PerRequestHTTPServerTransport,
    { message, messageKind }: InboundModernRoute,
    call: HttpCall,
    authInfo: AuthInfo | undefined,
  ): Promise<Reply> {
    const { onclose } = server
    this._inFlight.add(server)
    server.onclose = () => {
      this._inFlight.delete(server)
      onclose?.()
    }
    try {
      await product.connect(transport)
      const reply = await handleCall(transport, message, call, authInfo)
      // The handlers of a notification start in the next microtask.
      if (messageKind === 'notification') setTimeout(() => void server.close().catch(() => {}), 0)
      return reply
    } catch (error) {
      if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) {
        return new Response(null, { status: 499 })
      }
      await server.close().catch(() => {})
      throw error
    }
  }

  /** Serves a subscription: it lives as long as its stream, without an instance. */
  private async _listen(
    message: JSONRPCRequest,
    server: Server,
    transport: PerRequestHTTPServerTransport,
    call: HttpCall,
    authInfo: AuthInfo | undefined,
  ): Promise<Reply> {
    const { maxSubscriptions = defaultMaxSubscriptions } = this._options
    const problem = listenProblem(message, this._subscriptions.size, maxSubscriptions)
    if (problem) {
      this._report(new Error(`subscriptions/listen refused: ${problem.message}`))
      return errorReply(200, problem.code, problem.message, undefined, message.id)
    }
    const subscription = new ListenSubscription(message, server.getCapabilities())
    const related = { relatedRequestId: message.id }
    const send = (notification: Parameters<typeof transport.send>[0]) =>
      void transport.send(notification, related).catch((error) => this._report(error))
    const result = {
      resultType: 'complete',
      _meta: { [SUBSCRIPTION_ID_META_KEY]: message.id, [SERVER_INFO_META_KEY]: serverInfoOf(server) },
    }
    const end = () => send({ jsonrpc: '2.0', id: message.id, result })
    transport.onmessage = (received) => {
      if ('method' in received && received.method === 'notifications/cancelled') void transport.close()
      else send(subscription.acknowledgement())
    }
    const unsubscribe = this.bus.subscribe((event) => {
      const notification = subscription.notificationOf(event)
      if (notification) send(notification)
    })
    this._subscriptions.add(end)
    transport.onclose = () => {
      this._subscriptions.delete(end)
      unsubscribe()
    }
    await transport.start()
    return handleCall(transport, message, call, authInfo)
  }

  private _refuse(
    status: number,
    code: number,
    message: string,
    data?: unknown,
    id: RequestId | null = null,
  ): JsonReply {
    this._report(new Error(`Rejected inbound request: ${message}`))
    return errorReply(status, code, message, data, id)
  }

  private _report(error: unknown): void {
    reportTo(this._options.onerror, error)
  }
}

async function serveStateless(
  factory: McpServerFactory,
  request: Request,
  { authInfo, parsedBody }: McpHandlerRequestOptions = {},
  options: Omit<LegacyStatelessFallbackOptions, 'onerror'>,
): Promise<Response> {
  if (request.method.toUpperCase() !== 'POST') return toResponse(errorReply(405, -32000, 'Method not allowed.'))
  const product = await factory({ era: 'legacy', ...(authInfo && { authInfo }), requestInfo: request })
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined, ...options })
  await product.connect(transport)
  const close = () => void product.close().catch(() => {})
  request.signal?.addEventListener('abort', close, { once: true })
  const response = await transport.handleRequest(request, {
    ...(authInfo && { authInfo }),
    ...(parsedBody !== undefined && { parsedBody }),
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!response.body || !isStream) {
    close()
    return response
  }
  return new Response(closing(response.body, close), response)
}

/** A stream that calls back when it was read to its end, or is not read any more. */
function closing(body: ReadableStream<Uint8Array>, callback: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        callback()
        controller.close()
      } catch (error) {
        callback()
        controller.error(error)
      }
    },
    async cancel(reason) {
      callback()
      await reader.cancel(reason).catch(() => {})
    },
  })
}

/** The `Request` is read only if the factory reads it. */
function toModernContext(call: HttpCall, authInfo: AuthInfo | undefined): McpRequestContext {
  return {
    era: 'modern',
    ...(authInfo && { authInfo }),
    get requestInfo() {
      return call.request
    },
  }
}

function classify(call: HttpCall, body: unknown): InboundClassificationOutcome {
  const [version, method, name] = [
    call.header('mcp-protocol-version'),
    call.header('mcp-method'),
    call.header('mcp-name'),
  ]
  return classifyInboundRequest({
    httpMethod: call.method,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
    ...(body !== undefined && { body }),
  })
}

/** Arguments that the input schema repeats in headers must agree with them (2026-07-28 streamable-http). */
function argumentHeadersProblem(product: McpServer, { method, params }: JSONRPCRequest, call: HttpCall) {
  if (method !== 'tools/call' || typeof params?.name !== 'string') return undefined
  const schema = product.toolInputSchemaJson(params.name)
  if (!schema || headerAnnotationProblem(schema) !== undefined) return undefined
  return mirroredArgumentsProblem(findMirroredArguments(schema), params.arguments, call)
}

function identityOf(message: unknown) {
  const meta = metaOf(message) ?? {}
  const clientInfo = meta[CLIENT_INFO_META_KEY] as Implementation | undefined
  const clientCapabilities = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return { ...(clientInfo && { clientInfo }), ...(clientCapabilities && { clientCapabilities }) }
}

function postProblem(call: HttpCall): string | undefined {
  if (isJsonContentType(call.header('content-type'))) return undefined
  return 'Unsupported Media Type: Content-Type must be application/json'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The id of a request whose error response can name it. */
function idOf(body: unknown): RequestId | null {
  if (!isObject(body) || typeof body.method !== 'string') return null
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null
}

function errorReply(
  status: number,
  code: number,
  message: string,
  data?: unknown,
  id: RequestId | null = null,
): JsonReply {
  const error = { code, message, ...(data !== undefined && { data }) }
  return new JsonReply(status, JSON.stringify({ jsonrpc: '2.0', error, id }))
}

function internalError(id: RequestId | null): JsonReply {
  return errorReply(500, -32603, 'Internal server error', undefined, id)
}

function reportTo(onerror: ((error: Error) => void) | undefined, error: unknown): void {
  try {
    onerror?.(toError(error))
  } catch {
    // Reporting must not change the response.
  }
}
