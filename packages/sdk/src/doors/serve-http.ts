import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { McpError } from '../errors.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { HttpEngine, type HttpMetrics } from '../transport/http/engine.ts'
import { NodeCall } from '../transport/http/node.ts'
import type { HttpOptions } from '../transport/http/options.ts'
import { isLoopback } from '../transport/http/resource-metadata.ts'
import { endpointOf } from './http-handler.ts'

export interface ServeHttpOptions extends HttpOptions {
  /** Default 3000; 0 for any that is free. */
  port?: number | undefined
  /** The address to listen on. Default `127.0.0.1`, which only this machine can reach. */
  host?: string | undefined
  /** Default `/mcp`. */
  path?: string | undefined
  /** How long calls may go on after the end was asked for. Default 5,000. */
  graceMs?: number | undefined
  /** Close on SIGTERM and SIGINT, and end the process then. Default true. */
  exit?: boolean | undefined
}

export interface ServingHttp {
  /** Where it is served, such as `http://127.0.0.1:3000/mcp`. */
  readonly url: string
  readonly port: number
  readonly metrics: HttpMetrics
  /** Lets what is under way finish, then stops listening. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Our own deadlines against senders that never finish; Node's are minutes. */
const headersTimeout = 15_000
/** Longer than what clients and proxies usually keep connections for, so that they close them and not we. */
const keepAliveTimeout = 75_000
const maxHeaderSize = 16_384

/**
 * Serves every revision over HTTP on one URL.
 *
 * @example
 * const { url } = await serveHttp(server, { port: 3000 })
 */
export async function serveHttp(server: McpServer | Server, options: ServeHttpOptions = {}): Promise<ServingHttp> {
  const { port = 3000, host = '127.0.0.1', path = '/mcp', graceMs = 5_000, exit = true, ...httpOptions } = options
  const { bodyTimeoutMs = 30_000 } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new TypeError('port must be a number from 0 to 65535')
  if (!path.startsWith('/')) throw new TypeError(`path must begin with a slash: '/${path}'`)
  checkResource(options, host)
  const engine = new HttpEngine(endpointOf(server), httpOptions, true)
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
  const http = createServer(settings, (request, response) => {
    const asked = pathOf(request.url ?? '/')
    if (isServed(asked, path, httpOptions) || engine.describes(asked)) engine.handle(new NodeCall(request, response))
    else notFound(response, path)
  })
  // Their size is bounded; by number, Node would leave out the last ones without a word.
  http.maxHeadersCount = 0
  http.on('clientError', answerClientError)
  await listen(http, port, host)
  const close = once(() => closeAll(http, engine, graceMs))
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
    close: end,
    [Symbol.asyncDispose]: end,
  }
}

/** Where others call, or somebody passes calls on, only the operator knows what clients call this server. */
function checkResource({ auth, allowedHosts, allowAnyHost }: HttpOptions, host: string): void {
  if (!auth || auth.resource !== undefined || (isLoopback(host) && !allowedHosts && !allowAnyHost)) return
  throw new TypeError("auth.resource is missing: the URL of this server as clients know it: 'https://a.example/mcp'")
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

async function closeAll(http: HttpServer, engine: HttpEngine, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  await engine.close(graceMs)
  // The last answers leave at the end of this turn.
  await new Promise((resolve) => setImmediate(resolve))
  http.closeIdleConnections()
  // Answers are on their way; who does not take them is not waited for.
  const timer = setTimeout(() => http.closeAllConnections(), 500)
  await closed
  clearTimeout(timer)
}

/** Gives the way to leave the signals alone again. */
function closeOnSignal(close: () => Promise<void>): () => void {
  const stop = () => void close().then(() => process.exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  return () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, stop)
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => {
    done ??= work()
    return done
  }
}
