import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mcpAuthMetadataRouter, type NodeMiddleware, requireBearerAuth } from 'tenon/auth/server'
import { createMcpHandler, type Server } from 'tenon/server'
import { type ListenAddress, listen } from '../listen.ts'
import type { CallerAuth } from './caller-auth.ts'

/** Options of `serveEndpoint`. */
export interface EndpointOptions extends ListenAddress {
  /** How callers are authenticated; undefined if everyone may call. */
  readonly auth: CallerAuth | undefined
  /** Names under which clients reach this machine, besides its addresses and `localhost`. */
  readonly allowedHosts: readonly string[]
}

/** A running endpoint. */
export interface HttpEndpoint {
  readonly url: string
  /** Finishes running calls, and stops listening. */
  close(): Promise<void>
}

/** Serves a server over HTTP, to callers with a token. Each caller owns its sessions and tasks. */
export async function serveEndpoint(server: Server, options: EndpointOptions): Promise<HttpEndpoint> {
  const { host, auth } = options
  const allowed = [...options.allowedHosts, ...(auth?.publicUrl ? [new URL(auth.publicUrl).hostname] : [])]
  const handler = createMcpHandler(
    server,
    allowed.length === 0 ? {} : { allowedHosts: [...ownHosts, nameOf(host), ...allowed] },
  )
  const http = createServer({ headersTimeout, requestTimeout, maxHeaderSize })
  await listen(http, options)
  const { port } = http.address() as AddressInfo
  const url = `http://${nameOf(host)}:${port}${path}`
  const layers: Layers = auth
    ? authLayers(auth, url)
    : { documents: notFound, check: (_request, _response, next) => next?.() }
  http.on('request', (request, response) => route(request, response, layers, handler.node))
  return {
    url,
    close: async () => {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()))
      await handler.close(graceMs)
      await endConnections(http, closed)
    },
  }
}

const path = '/mcp'
const metadataPath = '/.well-known/oauth-protected-resource'
const ownHosts = ['localhost', '127.0.0.1', '[::1]']
/** Deadlines for slow senders. */
const headersTimeout = 15_000
const requestTimeout = 30_000
const maxHeaderSize = 16_384
/** How long running calls may go on after the end was asked for. */
const graceMs = 5_000
/** How long clients may take to read the last responses. */
const lingerMs = 500

/** What stands before the server. */
interface Layers {
  /** Answers requests for public documents. */
  readonly documents: NodeMiddleware
  /** Passes on only requests with a valid token. */
  readonly check: NodeMiddleware
}

/** Only callers who can log in by OAuth are told where. */
function authLayers({ verifier, issuer, publicUrl }: CallerAuth, url: string): Layers {
  if (issuer === undefined) return { documents: notFound, check: requireBearerAuth({ verifier }) }
  const resource = new URL(publicUrl ?? url)
  const resourceMetadataUrl = `${resource.origin}${metadataPath}${resource.pathname === '/' ? '' : resource.pathname}`
  return {
    documents: mcpAuthMetadataRouter({ oauthMetadata: { issuer }, resourceServerUrl: publicUrl ?? url }),
    check: requireBearerAuth({ verifier, resourceMetadataUrl }),
  }
}

function route(
  request: IncomingMessage,
  response: ServerResponse,
  { documents, check }: Layers,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const requested = request.url?.split('?')[0] ?? ''
  if (requested.startsWith(metadataPath)) return documents(request, response, () => notFound(request, response))
  if (requested !== path) return notFound(request, response)
  check(request, response, (error) => (error ? refuse(response, 500, 'Internal error') : serve(request, response)))
}

function notFound(_request: unknown, response: ServerResponse): void {
  refuse(response, 404, `Not found: the MCP endpoint is ${path}`)
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }))
}

/** Lets clients read the last responses, but does not wait for those that do not. */
async function endConnections(http: HttpServer, closed: Promise<void>): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  http.closeIdleConnections()
  const timer = setTimeout(() => http.closeAllConnections(), lingerMs)
  await closed
  clearTimeout(timer)
}

/** A wildcard address can be listened on, but not connected to. */
function nameOf(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
