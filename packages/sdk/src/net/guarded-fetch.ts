import { HttpError, McpError, TimeoutError } from '../errors.ts'
import { untilAborted } from '../util/abort.ts'
import { usesNodeHttp } from '../util/runtime.ts'
import { AddressPolicy, GuardError, type Permissions } from './address-policy.ts'
import { BoundedBody, Deadline } from './limits.ts'
import { wasNotSent } from './network-errors.ts'
import { followRedirect, locationOf, type RedirectRules } from './redirect.ts'
import {
  type FetchLike,
  FetchSender,
  HiddenRedirectError,
  type HttpRequest,
  type ResponseHandler,
  type ResponseHead,
  type Sender,
} from './send.ts'

export interface GuardedFetchOptions extends Permissions {
  /**
   * Sends the requests, one at a time and without following redirects. Default: Node's HTTP client on Node, where the addresses
   * that a name resolves to are checked and the connection goes to one of them; the global `fetch` elsewhere. With your own
   * function, and with `fetch`, only the URL can be checked.
   */
  fetch?: FetchLike | undefined
  /** The maximum size of a response. Default 1 MiB. */
  maxBytes?: number | undefined
  /** The time limit for everything: name resolution, connections, redirects and the response. Default 10,000. */
  timeoutMs?: number | undefined
  /** How many redirects to follow. Default 3. */
  maxRedirects?: number | undefined
  /** Whether to follow redirects to another origin. Bodies and credentials are never sent there. Default `'allow'`. */
  otherOrigins?: RedirectRules['otherOrigins'] | undefined
  /** Resolves names, on Node. Default: the resolver of the system. */
  resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined
}

/** The part of `fetch` that is supported. The body of the response has already been read when the promise resolves. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Creates a `fetch` for URLs that someone else chose, such as those in OAuth metadata. It connects to public https addresses
 * only, checks every redirect, and limits time and size, which protects against server-side request forgery (SSRF).
 *
 * It supports GET and POST and the options `method`, `headers`, `body`, `signal` and `redirect`.
 *
 * @example
 * const fetch = guardedFetch({ maxBytes: 64 * 1024 })
 * const response = await fetch('https://example.com/.well-known/oauth-authorization-server')
 * const metadata = await response.json()
 */
export function guardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxBytes = 1024 * 1024, timeoutMs = 10_000, maxRedirects = 3, otherOrigins = 'allow' } = options
  const policy = new AddressPolicy(options)
  const rules: RedirectRules = {
    maxRedirects,
    otherOrigins,
    checkUrl: (url) => policy.checkUrl(url),
    refuse: ({ host }, status, why) => new GuardError('redirect', host, `${host} redirects ${why}`, status),
  }
  let opening: Promise<Sender> | undefined
  return async (input, init = {}) => {
    const url = parseUrl(input)
    policy.checkUrl(url)
    opening ??= openSender(options, policy)
    const deadline = new Deadline(timeoutMs, init.signal ?? undefined, () => timedOut(url, timeoutMs))
    const { signal } = deadline
    try {
      const request = await readRequest(url, init)
      const sender = await opening
      return await sendAndFollowRedirects(request, { sender, signal, maxBytes, rules: rulesFor(init, rules) })
    } finally {
      deadline.clear()
    }
  }
}

interface GuardedSend {
  readonly sender: Sender
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Undefined to return redirects to the caller. */
  readonly rules: RedirectRules | undefined
}

async function sendAndFollowRedirects(first: HttpRequest, send: GuardedSend): Promise<Response> {
  let request = first
  for (let count = 1; ; count++) {
    const response = await new GuardedRequest(request, send).start()
    if (!isRedirect(response)) return response
    const { status, location } = response
    request = { ...request, ...followRedirect(request, status, location, count, send.rules!) }
  }
}

interface Redirect {
  readonly status: number
  readonly location: string
}

function isRedirect(result: Response | Redirect): result is Redirect {
  return 'location' in result
}

/** One request until its response has been read, or until it turns out to be a redirect to follow. */
class GuardedRequest implements ResponseHandler {
  readonly #request: HttpRequest
  readonly #send: GuardedSend
  readonly #body: BoundedBody
  #head: ResponseHead | undefined
  #abort = () => {}
  #resolve!: (result: Response | Redirect) => void
  #reject!: (error: unknown) => void

  constructor(request: HttpRequest, send: GuardedSend) {
    this.#request = request
    this.#send = send
    this.#body = new BoundedBody(send.maxBytes)
  }

  async start(): Promise<Response | Redirect> {
    const { sender, signal } = this.#send
    signal.throwIfAborted()
    const result = new Promise<Response | Redirect>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#abort = sender.send(this.#request, this)
    })
    try {
      return await untilAborted(result, signal)
    } catch (error) {
      this.#abort()
      throw error
    }
  }

  onHead(head: ResponseHead): void {
    this.#head = head
    const { rules, sender, maxBytes } = this.#send
    const { host } = this.#request.url
    const { status } = head
    const location = rules && locationOf(head)
    const encoding = head.header('content-encoding') ?? 'identity'
    if (!sender.decompresses && encoding !== 'identity') {
      this.#refuse('encoding', `${host} compressed its response although the request did not accept that`)
    } else if (location !== undefined) {
      this.#abort()
      this.#resolve({ status, location })
    } else if (status < 200 || status > 599) {
      this.#refuse('status', `${host} answered with HTTP ${status}, which has no meaning`)
    } else if (Number(head.header('content-length')) > maxBytes) this.#refuseSize()
  }

  onData(chunk: Uint8Array): void {
    if (!this.#body.push(chunk)) this.#refuseSize()
  }

  onEnd(): void {
    const head = this.#head
    if (head) this.#resolve(toResponse(this.#request.url, head, this.#body.take()))
  }

  onError(cause: unknown): void {
    this.#reject(toError(this.#request.url, cause, this.#head !== undefined))
  }

  #refuseSize(): void {
    const { maxBytes } = this.#send
    this.#refuse('size', `The response of ${this.#request.url.host} is larger than ${maxBytes} bytes (maxBytes)`)
  }

  #refuse(rule: GuardError['rule'], message: string): void {
    this.#reject(new GuardError(rule, this.#request.url.host, message, this.#head?.status))
  }
}

function parseUrl(input: string | URL): URL {
  if (URL.canParse(String(input))) return new URL(input)
  throw new GuardError('url', '', 'Not a URL: pass an absolute https: URL to guardedFetch')
}

async function readRequest(url: URL, init: RequestInit): Promise<HttpRequest> {
  const method = (init.method ?? 'GET').toUpperCase()
  if (method !== 'GET' && method !== 'POST') {
    throw new GuardError('method', url.host, `${method} to ${url.host} was not sent: only GET and POST are supported`)
  }
  // `Request` knows every form of body, and which header belongs to it.
  const { headers, body } = init
  const request = new Request(url.href, {
    method,
    headers: headers ?? {},
    ...(body != null && { body, duplex: 'half' }),
  })
  return {
    url,
    method,
    headers: Object.fromEntries(request.headers),
    body: method === 'POST' ? await request.text() : undefined,
  }
}

function rulesFor({ redirect }: RequestInit, rules: RedirectRules): RedirectRules | undefined {
  if (redirect === 'manual') return undefined
  return redirect === 'error' ? { ...rules, maxRedirects: 0 } : rules
}

async function openSender({ fetch, resolve }: GuardedFetchOptions, policy: AddressPolicy): Promise<Sender> {
  if (fetch || !usesNodeHttp()) return new FetchSender(fetch)
  const { PinnedSender } = await import('./node/pinned-sender.ts')
  return new PinnedSender(policy, resolve)
}

function toResponse(url: URL, head: ResponseHead, bytes: Uint8Array<ArrayBuffer>): Response {
  const { status } = head
  const headers = head.toHeaders()
  // These headers describe the encoded bytes; the body is decoded.
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name)
  const isEmpty = status === 204 || status === 205 || status === 304
  const response = new Response(isEmpty ? null : bytes, { status, headers })
  return Object.defineProperty(response, 'url', { value: url.href })
}

/** Network errors become an `HttpError` that names only the host: a query may hold secrets. */
function toError({ host }: URL, cause: unknown, hasHead: boolean): McpError {
  if (cause instanceof McpError) return cause
  if (cause instanceof HiddenRedirectError) {
    const message = `${host} redirects, but the target was hidden and could not be checked`
    return new GuardError('redirect', host, message, cause.status)
  }
  const code = codeOf(cause)
  const why = code === undefined ? '' : ` (${code})`
  const isUnsent = !hasHead && wasNotSent(cause)
  const message = isUnsent ? `${host} could not be reached${why}` : `The connection to ${host} failed${why}`
  return new HttpError(message, { outcome: isUnsent ? 'not-sent' : 'unknown', cause })
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

function timedOut({ host }: URL, timeoutMs: number): TimeoutError {
  return new TimeoutError(`${host} did not answer within ${timeoutMs} ms`, timeoutMs)
}
