import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../jsonrpc/endpoint.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { type HttpMetrics, HttpRequestHandler } from '../transport/http/server/handler.ts'
import { NodeCall, type NodeRequest } from '../transport/http/server/node.ts'
import type { HttpOptions } from '../transport/http/server/options.ts'
import { type FetchExtras, type FrameworkContext, WebCall } from '../transport/http/server/web.ts'

/** A server as something that answers HTTP requests, for any framework and runtime. */
export interface McpHandler {
  /** For web-standard runtimes: Hono, Next.js, Bun, Deno, Workers. */
  fetch(request: Request, extras?: FetchExtras): Promise<Response>
  /** As a route handler: `export const POST = handler.fetch`. The framework's own context is ignored. */
  fetch(request: Request, context: FrameworkContext): Promise<Response>
  /** For `node:http`, Express, Fastify. A body that was parsed already is taken from `request.body`, or handed in. */
  node(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): void
  /** Lets what is under way finish, at most for `graceMs`, ends every stream and refuses what comes from now on. */
  close(graceMs?: number): Promise<void>
  readonly metrics: HttpMetrics
}

/**
 * Serves every revision on one URL.
 *
 * @example
 * const handler = createMcpHandler(server)
 * app.all('/mcp', handler.node)
 */
export function createMcpHandler(server: McpServer | Server, options: HttpOptions = {}): McpHandler {
  const engine = new HttpRequestHandler(endpointOf(server), options)
  return {
    fetch: (request: Request, extras?: FetchExtras | FrameworkContext) => {
      const call = new WebCall(request, extras as FetchExtras)
      engine.handle(call)
      return call.response
    },
    node: (request, response, parsedBody) => {
      // Frameworks pass a callback as third argument; it is no body.
      const body = typeof parsedBody === 'function' ? undefined : parsedBody
      engine.handle(new NodeCall(request, response, body))
    },
    close: (graceMs) => engine.close(graceMs),
    get metrics() {
      return engine.metrics
    },
  }
}

export function endpointOf(server: McpServer | Server): Endpoint {
  return ('server' in server ? server.server : server).endpoint
}
