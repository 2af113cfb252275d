import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { McpError } from '../errors.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { checkResource } from '../transport/http/server/authorize.ts'
import { type HttpMetrics, HttpRequestHandler } from '../transport/http/server/handler.ts'
import { NodeCall } from '../transport/http/server/node.ts'
import type { HttpOptions } from '../transport/http/server/options.ts'
import { HttpConnections } from './http-connections.ts'
import { endpointOf } from './http-handler.ts'

export interface ServeHttpOptions extends HttpOptions {
  /** Default 3000; 0 for any that is free. */
  port?: number | undefined
  /** The address to listen on. Default `127.0.0.1`, which only this machine can reach. */
  host?: string | undefined
  /** Default `/mcp`. */
  path?: string | undefined
  /**
   * How long the server goes on as before after it was asked to shut down, while `healthPath` reports that it is not ready, so
   * that load balancers send requests elsewhere. Default: 1,000 after SIGTERM if a client is connected, else 0.
   */
  shutdownDelayMs?: number | undefined
  /** How long calls in flight may go on after that. Default 5,000. */
  graceMs?: number | undefined
  /** Where load balancers ask whether the server is ready: 200, or 503 once it shuts down. Default: nowhere. */
  healthPath?: string | undefined
  /** Close on SIGTERM and SIGINT, and end the process then. Default true. */
  exit?: boolean | undefined
}

export interface ServingHttp {
  /** Where it is served, such as `http://127.0.0.1:3000/mcp`. */
  readonly url: string
  readonly port: number
  readonly metrics: HttpMetrics
  /** False once the server shuts down. */
  readonly ready: boolean
  /** Waits for `shutdownDelayMs`, stops listening and lets calls in flight finish. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Our own deadlines against senders that never finish; Node's are minutes. */
const headersTimeout = 15_000
/** Longer than what clients and proxies usually keep connections for, so that they close them and not we. */
const keepAliveTimeout = 75_000
const maxHeaderSize = 16_384

/** The default of `shutdownDelayMs` after SIGTERM. */
const defaultDelayMs = 1_000

/** How long clients may use the connections that they have, of which each response ends one. */
const longestLingerMs = 500

/**
 * Serves every revision over HTTP on one URL.
 *
 * @example
 * const { url } = await serveHttp(server, { port: 3000 })
 */
export async function serveHttp(server: McpServer | Server, options: ServeHttpOptions = {}): Promise<ServingHttp> {
  const { port = 3000, host = '127.0.0.1', path = '/mcp', graceMs = 5_000, exit = true, ...rest } = options
  const { shutdownDelayMs, healthPath, ...httpOptions } = rest
  const { bodyTimeoutMs = 30_000 } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new TypeError('port must be a number from 0 to 65535')
  checkPath('path', path)
  if (healthPath !== undefined) checkPath('healthPath', healthPath)
  checkResource(options, host)
  const engine = new HttpRequestHandler(endpointOf(server), httpOptions, true)
  const settings = {
    headersTimeout: Math.min(headersTimeout, bodyTimeoutMs),
    requestTimeout: bodyTimeoutMs,
    keepAliveTimeout,
    maxHeaderSize,
    // How often Node looks for senders that are late.
    connectionsCheckingInterval: Math.min(1_000, bodyTimeoutMs),
  }
  // Not by an import, which a bundle for browsers would have to resolve.
  const { createServer } = process.getBuiltinModule('node:http')
  const state = { ready: true }
  const http = createServer(settings, (request, response) => {
    if (!connections.accepts(request, response)) return
    const asked = pathOf(request.url ?? '/')
    if (asked === healthPath) answerProbe(response, state.ready)
    else if (isServed(asked, path, httpOptions) || engine.describes(asked))
      engine.handle(new NodeCall(request, response))
    else notFound(response, path)
  })
  // Their size is bounded; by number, Node would leave out the last ones without a word.
  http.maxHeadersCount = 0
  http.on('clientError', answerClientError)
  const connections = new HttpConnections(http)
  await listen(http, port, host)
  let closing: Promise<void> | undefined
  const close = (defaultMs = 0) => {
    closing ??= shutDown({ http, connections, engine, state, delayMs: shutdownDelayMs ?? defaultMs, graceMs })
    return closing
  }
  const forget = exit ? closeOnSignal(close) : () => {}
  const { port: actual } = http.address() as AddressInfo
  const name = isEveryAddress(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const url = `http://${name}:${actual}${path}`
  engine.servedAt(url)
  const end = () => {
    forget()
    return close()
  }
  return {
    url,
    port: actual,
    get metrics() {
      return engine.metrics
    },
    get ready() {
      return state.ready
    },
    close: end,
    [Symbol.asyncDispose]: end,
  }
}

/** Fine to listen on, but no address to go to. */
function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

function isServed(asked: string, path: string, { sse }: HttpOptions): boolean {
  if (asked === path) return true
  if (!sse) return false
  const { path: stream = '/sse', messagesPath = '/messages' } = sse === true ? {} : sse
  return asked === stream || asked === messagesPath
}

function notFound(response: ServerResponse, path: string): void {
  const error = { code: -32000, message: `Nothing is served here: the endpoint is ${path}` }
  response.writeHead(404, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
}

/** What `node:http` could not read as a request is told why, in the form of every other answer. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // What is said in the middle of an answer would be taken for a part of it.
  const isAnswering = (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) return void socket.destroy()
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
    http.once('error', (error: NodeJS.ErrnoException) => reject(notListening(error, port, host)))
    http.listen(port, host, resolve)
  })
}

function notListening(cause: NodeJS.ErrnoException, port: number, host: string): McpError {
  const why = {
    EADDRINUSE: `port ${port} is taken; choose another, or 0 for any that is free`,
    EACCES: `port ${port} needs more rights; choose one above 1023`,
    EADDRNOTAVAIL: `${host} is no address of this machine`,
  }[cause.code ?? '']
  return new McpError('listen-failed', `serveHttp cannot listen: ${why ?? cause.message}`, { cause })
}

interface Shutdown {
  readonly http: HttpServer
  readonly connections: HttpConnections
  readonly engine: HttpRequestHandler
  readonly state: { ready: boolean }
  readonly delayMs: number
  readonly graceMs: number
}

async function shutDown({ http, connections, engine, state, delayMs, graceMs }: Shutdown): Promise<void> {
  state.ready = false
  await leaveTime(connections, delayMs)
  const { Server: NetServer } = process.getBuiltinModule('node:net')
  // Not the method of `node:http`, which destroys idle connections, and with them requests that just arrive.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(http, () => resolve()))
  // Only now, so that clients which do not know that we are not ready have no reason to connect once more.
  connections.endAfterResponses()
  await leaveTime(connections, Math.min(delayMs, longestLingerMs))
  connections.endIdle()
  await engine.close(graceMs)
  // The last answers leave at the end of this turn.
  await new Promise((resolve) => setImmediate(resolve))
  connections.endUnused()
  // Answers are on their way; who does not take them is not waited for.
  const timer = setTimeout(() => http.closeAllConnections(), 500)
  await closed
  clearTimeout(timer)
  // Only stops its timers: nothing is open any more.
  http.close(() => {})
}

async function leaveTime({ size }: HttpConnections, delayMs: number): Promise<void> {
  if (delayMs > 0 && size > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
}

/** Gives the way to leave the signals alone again. */
function closeOnSignal(close: (defaultMs?: number) => Promise<void>): () => void {
  const end = (delayMs: number) => void close(delayMs).then(() => process.exit(0))
  const onTerminate = () => end(defaultDelayMs)
  const onInterrupt = () => end(0)
  process.once('SIGTERM', onTerminate)
  process.once('SIGINT', onInterrupt)
  return () => {
    process.off('SIGTERM', onTerminate)
    process.off('SIGINT', onInterrupt)
  }
}

function checkPath(name: string, path: string): void {
  if (!path.startsWith('/')) throw new TypeError(`${name} must begin with a slash: '/${path}'`)
}

function answerProbe(response: ServerResponse, isReady: boolean): void {
  response.writeHead(isReady ? 200 : 503, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
  response.end(isReady ? 'ready' : 'shutting down')
}
