import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { McpError } from '../errors.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { checkResource } from '../transport/http/server/authorized-call.ts'
import { type HttpMetrics, HttpRequestHandler } from '../transport/http/server/handler.ts'
import { NodeCall } from '../transport/http/server/node.ts'
import type { HttpOptions } from '../transport/http/server/options.ts'
import { hintAtCrashes } from '../util/crash-hint.ts'
import { endOnSignal } from '../util/process-end.ts'
import { scheduler } from '../util/scheduler.ts'
import { checkOptions } from '../util/unknown-options.ts'
import { HttpConnections } from './http-connections.ts'
import { endpointOf, knownHttpOptions } from './http-handler.ts'
import { checkInspector, type HttpInspector, loadInspector } from './http-inspector.ts'

/** Options of `serveHttp()`. */
export interface ServeHttpOptions extends HttpOptions {
  /** The port to listen on; 0 picks a free one. Default 3000. */
  port?: number | undefined
  /** The address to listen on. Default `127.0.0.1`, which is reachable from this machine only. */
  host?: string | undefined
  /** The path of the endpoint. Default `/mcp`. */
  path?: string | undefined
  /**
   * How long the server keeps serving after a shutdown started, while `healthPath` already reports that it is not ready, so
   * that load balancers can redirect traffic. Default: 1,000 after SIGTERM if a client is connected, otherwise 0.
   */
  shutdownDelayMs?: number | undefined
  /** How long running calls may continue after that. Default 5,000. */
  graceMs?: number | undefined
  /** The path of a health check for load balancers: 200, or 503 during shutdown. Default: none. */
  healthPath?: string | undefined
  /** Shut down and exit the process on SIGTERM and SIGINT. Default true. */
  exit?: boolean | undefined
  /**
   * Serves the web inspector at `/`, to this machine only, and prints its URL on stderr. It needs the package `@tenon/cli`. Do
   * not use it in production: whoever has the URL can start programs. Default false.
   */
  inspector?: boolean | HttpInspector | undefined
}

/** A running HTTP server. */
export interface ServingHttp {
  /** The URL of the endpoint, for example `http://127.0.0.1:3000/mcp`. */
  readonly url: string
  readonly port: number
  /** The URL of the inspector, which contains its secret; undefined without `inspector`. */
  readonly inspectorUrl: string | undefined
  /** Current counts of sessions, streams and requests. */
  readonly metrics: HttpMetrics
  /** False during and after shutdown. */
  readonly ready: boolean
  /** Waits for `shutdownDelayMs`, stops listening and waits for running calls. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Deadline for slow senders. The default of Node.js is a minute. */
const headersTimeout = 15_000
/** Longer than clients and proxies usually keep idle connections, so that they close them first. */
const keepAliveTimeout = 75_000
const maxHeaderSize = 16_384

/** Default of `shutdownDelayMs` after SIGTERM. */
const defaultDelayMs = 1_000

/** How long clients may keep using open connections. Each response ends one. */
const longestLingerMs = 500

/**
 * Serves all protocol revisions over HTTP on one URL.
 *
 * @example
 * ```ts
 * const { url } = await serveHttp(server, { port: 3000 })
 * console.log(`Listening on ${url}`)
 * ```
 */
export async function serveHttp(server: McpServer | Server, options: ServeHttpOptions = {}): Promise<ServingHttp> {
  const { port = 3000, host = '127.0.0.1', path = '/mcp', graceMs = 5_000, exit = true, ...rest } = options
  const { shutdownDelayMs, healthPath, inspector: wanted = false, ...httpOptions } = rest
  const { bodyTimeoutMs = 30_000 } = options
  // Not a constant of the module, which bundlers would keep in a server without HTTP.
  checkOptions<ServeHttpOptions>('serveHttp', options, {
    ...knownHttpOptions,
    port: 1,
    host: 1,
    path: 1,
    shutdownDelayMs: 1,
    graceMs: 1,
    healthPath: 1,
    exit: 1,
    inspector: 1,
  })
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError(
      `port must be an integer from 0 to 65535, not ${JSON.stringify(port)}. Environment variables are text: Number(process.env.PORT).`,
    )
  checkPath('path', path)
  if (healthPath !== undefined) checkPath('healthPath', healthPath)
  if (healthPath === path)
    throw new TypeError(
      `healthPath must differ from path, the MCP endpoint, but both are '${path}'. Choose another path.`,
    )
  checkSsePaths(path, httpOptions)
  checkResource(options, host)
  if (wanted) checkInspector(host, path)
  const inspector = wanted === true ? await loadInspector() : wanted || undefined
  const handler = new HttpRequestHandler(endpointOf(server), httpOptions, true)
  const settings = {
    headersTimeout: Math.min(headersTimeout, bodyTimeoutMs),
    requestTimeout: bodyTimeoutMs,
    keepAliveTimeout,
    maxHeaderSize,
    // How often Node.js checks for slow senders.
    connectionsCheckingInterval: Math.min(1_000, bodyTimeoutMs),
  }
  // Not an import, because a browser bundle would have to resolve it.
  const { createServer } = process.getBuiltinModule('node:http')
  const state = { ready: true }
  const http = createServer(settings, (request, response) => {
    if (!connections.accepts(request, response)) return
    const requested = pathOf(request.url ?? '/')
    if (requested === healthPath) respondToHealthCheck(response, state.ready)
    else if (isServed(requested, path, httpOptions) || handler.describes(requested))
      handler.handle(new NodeCall(request, response))
    else if (!inspector?.handle(request, response)) notFound(response, path)
  })
  // The size of headers is limited instead. With a limit on their number, Node.js would silently drop the last ones.
  http.maxHeadersCount = 0
  http.on('clientError', respondToClientError)
  const connections = new HttpConnections(http)
  await listen(http, port, host)
  hintAtCrashes()
  let closing: Promise<void> | undefined
  const close = (defaultMs = 0) => {
    const delayMs = shutdownDelayMs ?? defaultMs
    closing ??= shutDown({ http, connections, handler, inspector, state, delayMs, graceMs })
    return closing
  }
  const removeSignalHandlers = exit ? endOnSignal({ drain: (signal) => close(delayAfter(signal)) }) : () => {}
  const { port: actual } = http.address() as AddressInfo
  const name = isWildcardAddress(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const url = `http://${name}:${actual}${path}`
  handler.servedAt(url)
  const inspectorUrl = inspector && `http://${name}:${actual}${inspector.path}`
  inspector?.connectOnOpen({ target: url })
  // Stdout belongs to the program.
  if (wanted === true) console.error(`[tenon] Inspector: ${inspectorUrl}`)
  const end = () => {
    removeSignalHandlers()
    return close()
  }
  return {
    url,
    port: actual,
    inspectorUrl,
    get metrics() {
      return handler.metrics
    },
    get ready() {
      return state.ready
    },
    close: end,
    [Symbol.asyncDispose]: end,
  }
}

/** A wildcard address can be listened on, but not connected to. */
function isWildcardAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

function isServed(requested: string, path: string, options: HttpOptions): boolean {
  return requested === path || Object.values(ssePaths(options)).includes(requested)
}

/** The paths of HTTP+SSE, by the name of their option. Empty if it is not served. */
function ssePaths({ sse }: HttpOptions): Record<string, string> {
  if (!sse) return {}
  const { path = '/sse', messagesPath = '/messages' } = sse === true ? {} : sse
  return { 'sse.path': path, 'sse.messagesPath': messagesPath }
}

/** Combining the endpoints is possible, but not worth the complexity (2025-11-25 transports, backwards compatibility). */
function checkSsePaths(path: string, options: HttpOptions): void {
  for (const [name, given] of Object.entries(ssePaths(options))) {
    checkPath(name, given)
    if (given !== path) continue
    throw new TypeError(`${name} must differ from path, the MCP endpoint, but both are '${path}'. Choose another path.`)
  }
}

function notFound(response: ServerResponse, path: string): void {
  const error = { code: -32000, message: `Not found: the MCP endpoint is ${path}` }
  response.writeHead(404, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
}

/** Responds to requests that `node:http` could not parse, in the same format as all other errors. */
function respondToClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // In the middle of a response, the client would read this as part of it.
  const hasStarted = (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent
  if (error.code === 'ECONNRESET' || !socket.writable || hasStarted) return void socket.destroy()
  const status = clientErrors[error.code ?? ''] ?? '400 Bad Request'
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: status.slice(4) } })
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.end(`${head}\r\n\r\n${body}`)
}

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function listen(http: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port, host)))
    http.listen(port, host, resolve)
  })
}

function listenError(cause: NodeJS.ErrnoException, port: number, host: string): McpError {
  const reason = {
    EADDRINUSE: `port ${port} is in use. Choose another, or 0 for a free one.`,
    EACCES: `no permission for port ${port}. Choose one above 1023.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
  }[cause.code ?? '']
  return new McpError('listen-failed', `serveHttp() cannot listen: ${reason ?? cause.message}`, { cause })
}

interface Shutdown {
  readonly http: HttpServer
  readonly connections: HttpConnections
  readonly handler: HttpRequestHandler
  readonly inspector: HttpInspector | undefined
  readonly state: { ready: boolean }
  readonly delayMs: number
  readonly graceMs: number
}

async function shutDown(shutdown: Shutdown): Promise<void> {
  const { http, connections, handler, inspector, state, delayMs, graceMs } = shutdown
  state.ready = false
  await waitForClients(connections, delayMs)
  await connections.acceptPending()
  const { Server: NetServer } = process.getBuiltinModule('node:net')
  // Not the method of `node:http`, which destroys idle connections and with them requests that are just arriving.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(http, () => resolve()))
  // Not earlier: clients that do not know of the shutdown would only reconnect.
  connections.endAfterResponses()
  await waitForClients(connections, Math.min(delayMs, longestLingerMs))
  connections.endIdle()
  // First, because it is a client of this server.
  await inspector?.close()
  await handler.close(graceMs)
  // The last responses are written at the end of this turn.
  await new Promise((resolve) => scheduler.setImmediate(resolve))
  connections.endUnused()
  // Do not wait for clients that do not read their responses.
  const timer = scheduler.setTimeout(() => http.closeAllConnections(), 500)
  await closed
  scheduler.clearTimeout(timer)
  // Only stops its timers: all connections are closed.
  http.close(() => {})
}

async function waitForClients({ size }: HttpConnections, delayMs: number): Promise<void> {
  if (delayMs > 0 && size > 0) await new Promise((resolve) => scheduler.setTimeout(resolve, delayMs))
}

/** A load balancer sends SIGTERM and needs time to notice. A person who presses Ctrl-C does not wait. */
function delayAfter(signal: NodeJS.Signals | undefined): number {
  return signal === 'SIGTERM' ? defaultDelayMs : 0
}

function checkPath(name: string, path: string): void {
  if (!path.startsWith('/')) throw new TypeError(`${name} must start with a slash: '/${path}'`)
}

function respondToHealthCheck(response: ServerResponse, isReady: boolean): void {
  response.writeHead(isReady ? 200 : 503, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
  response.end(isReady ? 'ready' : 'shutting down')
}
