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
import { isObject } from '../core/objects.ts'
import type { AuthInfo, ClientCapabilities, Implementation, JSONRPCRequest, RequestId } from '../core/types.ts'
import { type McpServerFactory, makeModern, modernVersions, serverOf, toError } from './factory.ts'
import { McpServer } from './mcp.ts'
import { PerRequestHTTPServerTransport, type PerRequestResponseMode } from './per-request-transport.ts'
import { DEFAULT_MAX_REQUEST_BODY_SIZE, isJsonContentType, readRequestBody } from './request-body.ts'
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
  return {
    fetch: (request, requestOptions) => handler.handle(request, requestOptions),
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
      return internalError(idOf(requestOptions?.parsedBody))
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
  return classify(request, body).kind === 'legacy'
}

class McpRequestHandler {
  readonly bus: ServerEventBus
  readonly #factory: McpServerFactory
  readonly #options: CreateMcpHandlerOptions
  readonly #legacy: LegacyHttpHandler | undefined
  readonly #inFlight = new Set<Server>()
  readonly #subscriptions = new Set<() => void>()
  #isClosed = false

  constructor(factory: McpServerFactory, options: CreateMcpHandlerOptions) {
    this.#factory = factory
    this.#options = options
    this.bus = options.bus ?? new InMemoryServerEventBus((error) => this.#report(error))
    const { legacy, onerror, keepAliveMs, maxRequestBodySize } = options
    const rest = {
      ...(onerror && { onerror }),
      ...(keepAliveMs !== undefined && { keepAliveMs }),
      ...(maxRequestBodySize !== undefined && { maxRequestBodySize }),
    }
    this.#legacy = legacy === 'reject' ? undefined : legacyStatelessFallback(factory, rest)
  }

  async handle(request: Request, options: McpHandlerRequestOptions = {}): Promise<Response> {
    if (this.#isClosed) throw new Error('This MCP handler has been closed')
    let body = options.parsedBody
    try {
      if (request.method.toUpperCase() === 'POST') {
        const problem = postProblem(request)
        if (problem) return this.#refuse(415, -32000, problem)
        if (body === undefined) {
          const read = await this.#read(request)
          if (read instanceof Response) return read
          body = read.body
        }
      }
      return await this.#route(request, body, options)
    } catch (error) {
      this.#report(error)
      return internalError(idOf(body))
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of [...this.#subscriptions]) end()
    const servers = [...this.#inFlight]
    this.#inFlight.clear()
    await Promise.all(servers.map((server) => server.close().catch(() => {})))
  }

  async #read(request: Request): Promise<Response | { body: unknown }> {
    const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE } = this.#options
    let text: string
    try {
      const read = await readRequestBody(request, maxRequestBodySize)
      if (read.tooLarge) return this.#refuse(413, -32000, 'Payload Too Large: request body exceeds the limit')
      text = read.text
    } catch {
      return errorResponse(400, -32700, 'Parse error: the request body could not be read')
    }
    const body = parse(text)
    if (body !== undefined) return { body }
    return errorResponse(400, -32700, 'Parse error: Invalid JSON')
  }

  async #route(request: Request, body: unknown, options: McpHandlerRequestOptions): Promise<Response> {
    const outcome = classify(request, body)
    if (outcome.kind === 'modern') return this.#serveModern(outcome, request, options.authInfo)
    if (outcome.kind === 'legacy') return this.#serveLegacy(outcome, request, body, options)
    const { httpStatus, code, message, data } = outcome
    return this.#refuse(httpStatus, code, message, data, idOf(body))
  }

  async #serveLegacy(
    route: InboundLegacyRoute,
    request: Request,
    body: unknown,
    options: McpHandlerRequestOptions,
  ): Promise<Response> {
    if (this.#legacy) {
      return this.#legacy(request, { ...options, ...(body !== undefined && { parsedBody: body }) })
    }
    const refusal = refuseLegacy(route, modernVersions)
    if (!refusal) return new Response(null, { status: 202 })
    return this.#refuse(refusal.httpStatus, refusal.code, refusal.message, refusal.data, idOf(body))
  }

  async #serveModern(route: InboundModernRoute, request: Request, authInfo?: AuthInfo): Promise<Response> {
    const { message, classification } = route
    const revision = classification.revision ?? ''
    if (!modernVersions.includes(revision)) {
      const error = new UnsupportedProtocolVersionError({ supported: [...modernVersions], requested: revision })
      return this.#refuse(400, error.code, error.message, error.data, idOf(message))
    }
    const product = await this.#factory({ era: 'modern', ...(authInfo && { authInfo }), requestInfo: request })
    const server = serverOf(product)
    const transport = this.#transport(route)
    const extra = { request, ...(authInfo && { authInfo }) }
    if (route.messageKind === 'request' && message.method === 'subscriptions/listen') {
      void product.close().catch((error) => this.#report(error))
      return this.#listen(route.message, server, transport, request, extra)
    }
    const problem = product instanceof McpServer && argumentHeadersProblem(product, message as JSONRPCRequest, request)
    if (problem) {
      void product.close().catch((error) => this.#report(error))
      return this.#refuse(400, headerMismatchCode, `Bad Request: ${problem}`, undefined, idOf(message))
    }
    makeModern(server, revision)
    setClientIdentity(server, identityOf(message))
    return this.#exchange(product, server, transport, route, extra)
  }

  #transport({ classification, message }: InboundModernRoute): PerRequestHTTPServerTransport {
    const { responseMode = 'auto', keepAliveMs } = this.#options
    const isListen = message.method === 'subscriptions/listen'
    return new PerRequestHTTPServerTransport({
      classification,
      responseMode: isListen ? 'auto' : responseMode,
      ...(keepAliveMs !== undefined && { keepAliveMs }),
    })
  }

  async #exchange(
    product: McpServer | Server,
    server: Server,
    transport: PerRequestHTTPServerTransport,
    { message, messageKind }: InboundModernRoute,
    extra: { request: Request; authInfo?: AuthInfo },
  ): Promise<Response> {
    const { onclose } = server
    this.#inFlight.add(server)
    server.onclose = () => {
      this.#inFlight.delete(server)
      onclose?.()
    }
    try {
      await product.connect(transport)
      const response = await transport.handleMessage(message, extra)
      // The handlers of a notification start in the next microtask.
      if (messageKind === 'notification') setTimeout(() => void server.close().catch(() => {}), 0)
      return response
    } catch (error) {
      if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) {
        return new Response(null, { status: 499 })
      }
      await server.close().catch(() => {})
      throw error
    }
  }

  /** Serves a subscription: it lives as long as its stream, without an instance. */
  async #listen(
    message: JSONRPCRequest,
    server: Server,
    transport: PerRequestHTTPServerTransport,
    request: Request,
    extra: { request: Request; authInfo?: AuthInfo },
  ): Promise<Response> {
    const { maxSubscriptions = defaultMaxSubscriptions } = this.#options
    const problem = listenProblem(message, this.#subscriptions.size, maxSubscriptions)
    if (problem) {
      this.#report(new Error(`subscriptions/listen refused: ${problem.message}`))
      return errorResponse(200, problem.code, problem.message, undefined, message.id)
    }
    const subscription = new ListenSubscription(message, server.getCapabilities())
    const related = { relatedRequestId: message.id }
    const send = (notification: Parameters<typeof transport.send>[0]) =>
      void transport.send(notification, related).catch((error) => this.#report(error))
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
    this.#subscriptions.add(end)
    transport.onclose = () => {
      this.#subscriptions.delete(end)
      unsubscribe()
    }
    request.signal?.addEventListener('abort', () => void transport.close(), { once: true })
    await transport.start()
    return transport.handleMessage(message, extra)
  }

  #refuse(status: number, code: number, message: string, data?: unknown, id: RequestId | null = null): Response {
    this.#report(new Error(`Rejected inbound request: ${message}`))
    return errorResponse(status, code, message, data, id)
  }

  #report(error: unknown): void {
    reportTo(this.#options.onerror, error)
  }
}

async function serveStateless(
  factory: McpServerFactory,
  request: Request,
  { authInfo, parsedBody }: McpHandlerRequestOptions = {},
  options: Omit<LegacyStatelessFallbackOptions, 'onerror'>,
): Promise<Response> {
  if (request.method.toUpperCase() !== 'POST') return errorResponse(405, -32000, 'Method not allowed.')
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

function classify(request: Request, body: unknown): InboundClassificationOutcome {
  const header = (name: string) => request.headers.get(name) ?? undefined
  const [version, method, name] = [header('mcp-protocol-version'), header('mcp-method'), header('mcp-name')]
  return classifyInboundRequest({
    httpMethod: request.method,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
    ...(body !== undefined && { body }),
  })
}

/** Arguments that the input schema repeats in headers must agree with them (2026-07-28 streamable-http). */
function argumentHeadersProblem(product: McpServer, { method, params }: JSONRPCRequest, request: Request) {
  if (method !== 'tools/call' || typeof params?.name !== 'string') return undefined
  const schema = product.toolInputSchemaJson(params.name)
  if (!schema || headerAnnotationProblem(schema) !== undefined) return undefined
  const headers = { header: (name: string) => request.headers.get(name) ?? undefined }
  return mirroredArgumentsProblem(findMirroredArguments(schema), params.arguments, headers)
}

function identityOf(message: unknown) {
  const meta = metaOf(message) ?? {}
  const clientInfo = meta[CLIENT_INFO_META_KEY] as Implementation | undefined
  const clientCapabilities = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return { ...(clientInfo && { clientInfo }), ...(clientCapabilities && { clientCapabilities }) }
}

function postProblem(request: Request): string | undefined {
  if (isJsonContentType(request.headers.get('content-type'))) return undefined
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

function errorResponse(
  status: number,
  code: number,
  message: string,
  data?: unknown,
  id: RequestId | null = null,
): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id },
    { status },
  )
}

function internalError(id: RequestId | null): Response {
  return errorResponse(500, -32603, 'Internal server error', undefined, id)
}

function reportTo(onerror: ((error: Error) => void) | undefined, error: unknown): void {
  try {
    onerror?.(toError(error))
  } catch {
    // Reporting must not change the response.
  }
}
