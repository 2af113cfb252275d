import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClosedError, McpError, TimeoutError } from '../../errors.ts'
import { isLoopbackUrl } from '../../net/addresses.ts'
import { deferred } from '../../util/deferred.ts'
import { type PageKind, pageOf } from './page.ts'

export interface RedirectOptions {
  /** Default `/callback`. */
  path?: string | undefined
  /** Default 0: any that is free. */
  port?: number | undefined
  /** An address of this machine, or `localhost`, where an authorization server insists on that. Default `127.0.0.1`. */
  host?: string | undefined
  /** How long the user may take. Default 300,000. */
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
  /** Whether this is the `state` that was sent. Others are turned away, and the right one is waited for. Default: any. */
  expect?: ((state: string) => boolean) | undefined
}

export interface AwaitedRedirect {
  /** What the authorization server should redirect to. */
  readonly redirectUri: string
  /** What it came back with: `code` or `error`, and the rest. */
  readonly result: Promise<URLSearchParams>
  close(): Promise<void>
}

/**
 * Waits on this machine for a browser to come back from an authorization server (RFC 8252, 7.3). Takes one answer and is
 * gone then.
 */
export async function waitForRedirect(options: RedirectOptions = {}): Promise<AwaitedRedirect> {
  const { path = '/callback', port = 0, host = '127.0.0.1' } = options
  checkPlace(host, path)
  options.signal?.throwIfAborted()
  const waiting = new Waiting(path, options)
  await waiting.listen(host, port)
  return { redirectUri: waiting.uri, result: waiting.result, close: () => waiting.close() }
}

/** Our own deadlines against senders that never finish. */
const limits = { headersTimeout: 10_000, requestTimeout: 10_000, maxHeaderSize: 32_768 }
const maxConnections = 64

const single = ['code', 'state', 'iss', 'error']

class Waiting {
  readonly #path: string
  readonly #options: RedirectOptions
  readonly #answer = deferred<URLSearchParams>()
  readonly #servers: Server[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #authority = ''
  #isOver = false

  constructor(path: string, options: RedirectOptions) {
    this.#path = path
    this.#options = options
    // Who closes it need not wait for it.
    this.#answer.promise.catch(() => {})
  }

  get uri(): string {
    return `http://${this.#authority}${this.#path}`
  }

  get result(): Promise<URLSearchParams> {
    return this.#answer.promise
  }

  async listen(host: string, port: number): Promise<void> {
    const first = await this.#serve(host === 'localhost' ? '127.0.0.1' : host, port)
    this.#authority = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${first}`).host
    // Browsers try either address for this name.
    if (host === 'localhost') await this.#serve('::1', first).catch((error) => this.#withoutIpv6(error))
    const { timeoutMs = 300_000, signal } = this.#options
    this.#timer = setTimeout(() => {
      this.#fail(new TimeoutError(`Nobody came back from the authorization server within ${timeoutMs} ms`, timeoutMs))
    }, timeoutMs)
    signal?.addEventListener('abort', this.#cancel)
    if (signal?.aborted) this.#cancel()
  }

  async close(): Promise<void> {
    this.#fail(new ClosedError('Nobody waits for the browser any more'))
    await Promise.all(this.#servers.map((server) => closeServer(server)))
  }

  async #serve(host: string, port: number): Promise<number> {
    const { createServer } = process.getBuiltinModule('node:http')
    const server = createServer(limits, (request, response) => this.#handle(request, response))
    server.maxConnections = maxConnections
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(new McpError('listen-failed', `Cannot wait for the browser at ${host}: ${cause.message}`, { cause }))
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
    // A name that a foreign page made to lead here is not ours (DNS rebinding).
    if (request.headers.host !== this.#authority) return reply(response, 403, 'unexpected')
    const [path, query = ''] = (request.url ?? '').split(/\?(.*)/s)
    if (path !== this.#path) return reply(response, 404, 'unknown')
    if (request.method !== 'GET') return reply(response.setHeader('allow', 'GET'), 405, 'unexpected')
    const params = new URLSearchParams(query)
    if (this.#isOver || !this.#isExpected(params)) return reply(response, 400, 'unexpected')
    this.#isOver = true
    // When the page was sent, so that a program which ends now has shown it.
    request.socket.once('close', () => this.#succeed(params))
    reply(response, 200, params.has('error') ? 'failed' : 'received')
  }

  #isExpected(params: URLSearchParams): boolean {
    // RFC 6749, 3.1: no parameter more than once.
    if (single.some((name) => params.getAll(name).length > 1)) return false
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
      new McpError('cancelled', 'Waiting for the browser was cancelled', { cause: this.#options.signal?.reason }),
    )
  }

  #succeed(params: URLSearchParams): void {
    this.#end()
    this.#answer.resolve(params)
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end()
    this.#answer.reject(error)
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#options.signal?.removeEventListener('abort', this.#cancel)
    for (const server of this.#servers) void closeServer(server)
  }
}

function checkPlace(host: string, path: string): void {
  const authority = host.includes(':') ? `[${host}]` : host
  const url = URL.canParse(`http://${authority}/`) ? new URL(`http://${authority}/`) : undefined
  if (url?.host !== authority || !isLoopbackUrl(url)) {
    throw new McpError('invalid-argument', `The browser comes back to this machine only, not to ${host}`)
  }
  if (!URL.canParse(path, url.href) || new URL(path, url).pathname !== path) {
    throw new McpError('invalid-argument', `${JSON.stringify(path)} is no path of a URL`)
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
  response.end(pageOf(kind))
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
