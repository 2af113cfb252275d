import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClosedError, McpError, TimeoutError } from '../../errors.ts'
import { isLoopbackUrl } from '../../net/address-policy.ts'
import { deferred } from '../../util/deferred.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { type PageKind, renderPage } from './page.ts'

/** Options of `waitForRedirect`. */
export interface RedirectOptions {
  /** The path of the redirect URI. Default `/callback`. */
  path?: string | undefined
  /** The port to listen on. Default 0: any free port. */
  port?: number | undefined
  /** A loopback address, or `localhost` if the authorization server requires it. Default `127.0.0.1`. */
  host?: string | undefined
  /** How long to wait for the user. Default 300,000. */
  timeoutMs?: number | undefined
  /** Cancels waiting. */
  signal?: AbortSignal | undefined
  /** Returns whether a `state` is the one that was sent. Requests with another one are refused. Default: accepts any. */
  expect?: ((state: string) => boolean) | undefined
}

/** A redirect that is being waited for. */
export interface AwaitedRedirect {
  /** The redirect URI to send to the authorization server. */
  readonly redirectUri: string
  /** The parameters of the redirect: `code` or `error`, `state`, ... */
  readonly result: Promise<URLSearchParams>
  /** Stops waiting. */
  close(): Promise<void>
}

/**
 * Listens on a loopback address for the redirect of an authorization server (RFC 8252, 7.3). Accepts one redirect and then
 * stops listening.
 *
 * @example
 * const redirect = await waitForRedirect({ expect: (value) => value === state })
 * await openBrowser(toLoginUrl(redirect.redirectUri, state))
 * const code = (await redirect.result).get('code')
 */
export async function waitForRedirect(options: RedirectOptions = {}): Promise<AwaitedRedirect> {
  const { path = '/callback', port = 0, host = '127.0.0.1' } = options
  checkRedirectUri(host, path)
  options.signal?.throwIfAborted()
  const listener = new RedirectListener(path, options)
  await listener.listen(host, port)
  return { redirectUri: listener.uri, result: listener.result, close: () => listener.close() }
}

/** Limits for clients that never complete a request. */
const limits = { headersTimeout: 10_000, requestTimeout: 10_000, maxHeaderSize: 32_768 }
const maxConnections = 64

const singleParameters = ['code', 'state', 'iss', 'error']

class RedirectListener {
  readonly #path: string
  readonly #options: RedirectOptions
  readonly #result = deferred<URLSearchParams>()
  readonly #servers: Server[] = []
  #timer: Timer | undefined
  #authority = ''
  #isDone = false

  constructor(path: string, options: RedirectOptions) {
    this.#path = path
    this.#options = options
    // Callers that close it may ignore the result.
    this.#result.promise.catch(() => {})
  }

  get uri(): string {
    return `http://${this.#authority}${this.#path}`
  }

  get result(): Promise<URLSearchParams> {
    return this.#result.promise
  }

  async listen(host: string, port: number): Promise<void> {
    const first = await this.#serve(host === 'localhost' ? '127.0.0.1' : host, port)
    this.#authority = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${first}`).host
    // Browsers may use either address for this name.
    if (host === 'localhost') await this.#serve('::1', first).catch((error) => this.#withoutIpv6(error))
    const { timeoutMs = 300_000, signal } = this.#options
    this.#timer = scheduler.setTimeout(() => {
      this.#fail(
        new TimeoutError(
          `Timed out after ${timeoutMs} ms waiting for the redirect of the authorization server.`,
          timeoutMs,
        ),
      )
    }, timeoutMs)
    signal?.addEventListener('abort', this.#cancel)
    if (signal?.aborted) this.#cancel()
  }

  async close(): Promise<void> {
    this.#fail(new ClosedError('Stopped waiting for the redirect of the authorization server.'))
    await Promise.all(this.#servers.map((server) => closeServer(server)))
  }

  async #serve(host: string, port: number): Promise<number> {
    const { createServer } = process.getBuiltinModule('node:http')
    const server = createServer(limits, (request, response) => this.#handle(request, response))
    server.maxConnections = maxConnections
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(new McpError('listen-failed', `Cannot listen for the redirect at ${host}: ${cause.message}`, { cause }))
      })
      server.listen(port, host, resolve)
    })
    this.#servers.push(server)
    return (server.address() as AddressInfo).port
  }

  async #withoutIpv6(error: McpError): Promise<void> {
    const { code } = error.cause as NodeJS.ErrnoException
    if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return
    await this.close()
    throw error
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    // Refuses other host names, which an attacker's page could point here (DNS rebinding).
    if (request.headers.host !== this.#authority) return reply(response, 403, 'unexpected')
    const [path, query = ''] = (request.url ?? '').split(/\?(.*)/s)
    if (path !== this.#path) return reply(response, 404, 'unknown')
    if (request.method !== 'GET') return reply(response.setHeader('allow', 'GET'), 405, 'unexpected')
    const params = new URLSearchParams(query)
    if (this.#isDone || !this.#isExpected(params)) return reply(response, 400, 'unexpected')
    this.#isDone = true
    // Only after the page was sent, so that the program can exit as soon as it has the result.
    request.socket.once('close', () => this.#succeed(params))
    reply(response, 200, params.has('error') ? 'failed' : 'received')
  }

  #isExpected(params: URLSearchParams): boolean {
    // RFC 6749, 3.1: parameters must not be repeated.
    if (singleParameters.some((name) => params.getAll(name).length > 1)) return false
    if (params.has('code') === params.has('error')) return false
    try {
      return this.#options.expect?.(params.get('state') ?? '') ?? true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  readonly #cancel = () => {
    this.#fail(
      new McpError('cancelled', 'Waiting for the redirect was cancelled.', { cause: this.#options.signal?.reason }),
    )
  }

  #succeed(params: URLSearchParams): void {
    this.#end()
    this.#result.resolve(params)
  }

  #fail(error: unknown): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#end()
    this.#result.reject(error)
  }

  #end(): void {
    scheduler.clearTimeout(this.#timer)
    this.#options.signal?.removeEventListener('abort', this.#cancel)
    for (const server of this.#servers) void closeServer(server)
  }
}

function checkRedirectUri(host: string, path: string): void {
  const authority = host.includes(':') ? `[${host}]` : host
  const url = URL.canParse(`http://${authority}/`) ? new URL(`http://${authority}/`) : undefined
  if (url?.host !== authority || !isLoopbackUrl(url)) {
    throw new McpError('invalid-argument', `Not a loopback address: ${host}. The redirect must go to this machine.`)
  }
  if (!URL.canParse(path, url.href) || new URL(path, url).pathname !== path) {
    throw new McpError('invalid-argument', `Not a URL path: ${JSON.stringify(path)}.`)
  }
}

function reply(response: ServerResponse, status: number, kind: PageKind): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    connection: 'close',
  })
  response.end(renderPage(kind))
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
