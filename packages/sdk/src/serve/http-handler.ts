import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../protocol/endpoint.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { type HttpMetrics, HttpRequestHandler } from '../transport/http/server/handler.ts'
import { NodeCall } from '../transport/http/server/node.ts'
import type { NodeRequest } from '../transport/http/server/node-request.ts'
import type { HttpOptions } from '../transport/http/server/options.ts'
import { type FetchExtras, type FrameworkContext, WebCall } from '../transport/http/server/web.ts'
import { checkOptions } from '../util/unknown-options.ts'

/** Serves an MCP server over HTTP in any framework and runtime. */
export interface McpHandler {
  /** Handles a web-standard request: Hono, Next.js, Bun, Deno, Cloudflare Workers. */
  fetch(request: Request, extras?: FetchExtras): Promise<Response>
  /** Works as a route handler: `export const POST = handler.fetch`. The context of the framework is ignored. */
  fetch(request: Request, context: FrameworkContext): Promise<Response>
  /** Handles a request of `node:http`, Express or Fastify. Uses `request.body` or `parsedBody` if the body was parsed before. */
  node(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): void
  /** Rejects new requests, waits up to `graceMs` for running ones and ends all streams. */
  close(graceMs?: number): Promise<void>
  /** Current counts of sessions, streams and requests. */
  readonly metrics: HttpMetrics
}

/**
 * Creates a handler that serves all protocol revisions on one URL. Mount it in your framework.
 *
 * @example
 * ```ts
 * const handler = createMcpHandler(server)
 * app.all('/mcp', handler.node) // Express
 * export const POST = handler.fetch // Next.js
 * ```
 */
export function createMcpHandler(server: McpServer | Server, options: HttpOptions = {}): McpHandler {
  checkOptions<HttpOptions>('createMcpHandler', options, knownHttpOptions)
  const handler = new HttpRequestHandler(endpointOf(server), options)
  return {
    fetch: (request: Request, extras?: FetchExtras | FrameworkContext) => {
      const call = new WebCall(request, extras as FetchExtras)
      handler.handle(call)
      return call.response
    },
    node: (request, response, parsedBody) => {
      // Frameworks pass their `next` callback as the third argument.
      const body = typeof parsedBody === 'function' ? undefined : parsedBody
      handler.handle(new NodeCall(request, response, body))
    },
    close: (graceMs) => handler.close(graceMs),
    get metrics() {
      return handler.metrics
    },
  }
}

/** Returns the endpoint that transports deliver messages to. */
export function endpointOf(server: McpServer | Server): Endpoint {
  const { endpoint } = (server as McpServer | undefined)?.server ?? (server as Server | undefined) ?? {}
  if (endpoint) return endpoint
  throw new TypeError(
    'The first argument must be an McpServer: serveHttp(server, options), createMcpHandler(server, options)',
  )
}

/** @internal The options of every HTTP server. */
export const knownHttpOptions = {
  sessionIdleMs: 1,
  sessionMaxMs: 1,
  maxSessions: 1,
  maxSessionsPerPrincipal: 1,
  maxSessionsPerAddress: 1,
  maxIncomingBytes: 1,
  writeTimeoutMs: 1,
  maxUnsentBytes: 1,
  maxStreams: 1,
  maxStreamsPerPrincipal: 1,
  maxStreamsPerAddress: 1,
  keepAliveMs: 1,

  sessions: 1,
  maxBodyBytes: 1,
  bodyTimeoutMs: 1,
  maxQueuedBytes: 1,
  maxStreamsPerSession: 1,
  rateLimit: 1,
  standardHeaders: 1,
  streamAfterMs: 1,
  alwaysStream: 1,
  enableJsonResponse: 1,
  eventStore: 1,
  sessionStore: 1,
  bus: 1,
  principal: 1,
  clientAddress: 1,
  sessionIdGenerator: 1,
  onSession: 1,
  auth: 1,
  sse: 1,
  allowedHosts: 1,
  allowedOrigins: 1,
  allowAnyHost: 1,
  allowAnyOrigin: 1,
  cors: 1,
} as const
