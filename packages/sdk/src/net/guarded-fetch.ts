import { HttpError, McpError, TimeoutError } from '../errors.ts'
import { ByteCollector } from '../util/bytes.ts'
import { AddressPolicy, GuardError, type Permissions } from './address-policy.ts'
import {
  type SendSingle,
  type SingleFetch,
  type SingleRequest,
  type SingleResponse,
  sendWithFetch,
} from './single-request.ts'

export interface GuardedFetchOptions extends Permissions {
  /**
   * Makes the requests, one at a time and without following redirects. Default: Node's own HTTP client on Node, where names
   * are resolved, judged and kept for the connection; the global `fetch` elsewhere. With a function of your own, and with
   * `fetch`, only what the URL itself says can be judged.
   */
  fetch?: SingleFetch | undefined
  /** The longest answer. Default 1 MiB. */
  maxBytes?: number | undefined
  /** For everything: names, connections, redirects and the last byte of the answer. Default 10,000. */
  timeoutMs?: number | undefined
  /** Default 3. */
  maxRedirects?: number | undefined
  /** How names become addresses, on Node. Default: as the system does it. */
  resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined
}

/** The part of `fetch` that is offered. The body of an answer is already there when the promise is fulfilled. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * A `fetch` for URLs that somebody else chose: metadata, registration, tokens, keys. It goes to public https addresses only
 * and judges every redirect anew (security best practices, server-side request forgery). GET and POST.
 *
 * With `redirect: 'manual'` a redirect is handed back, as `fetch` does; nothing else of `init` but `method`, `headers`,
 * `body` and `signal` is heeded.
 */
export function guardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxBytes = 1024 * 1024, timeoutMs = 10_000, maxRedirects = 3 } = options
  const judge = new AddressPolicy(options)
  let ready: Promise<SendSingle> | undefined
  const hop: SendSingle = async (request) => {
    ready ??= createHop(options)
    return (await ready)(request)
  }
  return async (input, init = {}) => {
    const url = parseUrl(input)
    judge.url(url)
    const deadline = new Deadline(url.host, timeoutMs, init.signal ?? undefined)
    const { signal } = deadline
    try {
      let request: SingleRequest = { ...(await readRequest(url, init)), judge, signal }
      for (let redirects = 0; ; redirects++) {
        const answer = await attempt(request.url, signal, 'connect', () => hop(request))
        const location = redirectOf(answer)
        if (location === undefined || init.redirect === 'manual') return await toResponse(request, answer, maxBytes)
        answer.discard()
        if (redirects >= maxRedirects || init.redirect === 'error') throw oneTooMany(request.url, answer, redirects)
        request = redirected(request, answer, location)
      }
    } finally {
      deadline.clear()
    }
  }
}

/** One time limit over everything, besides the caller's own wish to end. */
class Deadline {
  readonly #stop = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #outer: AbortSignal | undefined
  readonly #abort = () => this.#stop.abort(this.#outer?.reason)

  constructor(host: string, timeoutMs: number, outer: AbortSignal | undefined) {
    this.#outer = outer
    this.#timer = setTimeout(() => {
      this.#stop.abort(new TimeoutError(`${host} did not answer within ${timeoutMs} ms`, timeoutMs))
    }, timeoutMs)
    if (outer?.aborted) this.#abort()
    else outer?.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#abort)
  }
}

function parseUrl(input: string | URL): URL {
  if (URL.canParse(String(input))) return new URL(input)
  throw new GuardError('url', '', 'What should be asked is no URL')
}

async function readRequest(url: URL, init: RequestInit) {
  const method = (init.method ?? 'GET').toUpperCase()
  if (method !== 'GET' && method !== 'POST') {
    throw new GuardError('method', url.host, `${url.host} is asked by GET and POST only`)
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

async function createHop({ fetch, resolve }: GuardedFetchOptions): Promise<SendSingle> {
  if (fetch) return sendWithFetch(fetch)
  if (typeof process === 'object' && process.versions?.node && 'getBuiltinModule' in process) {
    const { sendPinned } = await import('./node/pinned-fetch.ts')
    return sendPinned(resolve)
  }
  return sendWithFetch((url, init) => globalThis.fetch(url, init))
}

function redirectOf({ status, headers }: SingleResponse): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? (headers.get('location') ?? undefined) : undefined
}

function oneTooMany({ host }: URL, { status }: SingleResponse, count: number): GuardError {
  return new GuardError('redirect', host, `${host} redirects again, after ${count} redirects`, status)
}

/** Headers that say nothing about the caller; others are for the origin that they were meant for. */
const harmless: ReadonlySet<string> = new Set(['accept', 'accept-language', 'mcp-protocol-version', 'user-agent'])

const secret: ReadonlySet<string> = new Set(['authorization', 'cookie', 'dpop', 'proxy-authorization'])

function redirected(request: SingleRequest, { status }: SingleResponse, location: string): SingleRequest {
  const { url, method, headers, body, judge } = request
  const refuse = (why: string) => new GuardError('redirect', url.host, `${url.host} redirects ${why}`, status)
  if (!URL.canParse(location, url.href)) throw refuse('to something that is no URL')
  const target = new URL(location, url)
  if (method !== 'GET' && status !== 307 && status !== 308) {
    throw refuse('in a way that would turn the request into a GET')
  }
  judge.url(target)
  if (target.origin === url.origin) return { ...request, url: target }
  if (url.protocol === 'https:' && target.protocol === 'http:') throw refuse('from https: to http:')
  if (body !== undefined) throw refuse('what was sent to another origin')
  if (Object.keys(headers).some((name) => secret.has(name))) throw refuse('credentials to another origin')
  const kept = Object.entries(headers).filter(([name]) => harmless.has(name))
  return { ...request, url: target, headers: Object.fromEntries(kept) }
}

async function toResponse({ url, signal }: SingleRequest, answer: SingleResponse, maxBytes: number): Promise<Response> {
  const { status } = answer
  try {
    if (status < 200 || status > 599) {
      throw new GuardError('status', url.host, `${url.host} answers HTTP ${status}, which means nothing`, status)
    }
    const bytes = await attempt(url, signal, 'read', () => readAll(url, answer, maxBytes, signal))
    const headers = new Headers(answer.headers)
    // They were about the bytes on the wire.
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name)
    const isEmpty = status === 204 || status === 205 || status === 304
    const response = new Response(isEmpty ? null : bytes, { status, headers })
    return Object.defineProperty(response, 'url', { value: url.href })
  } catch (error) {
    answer.discard()
    throw error
  }
}

async function readAll(
  { host }: URL,
  { status, headers, read }: SingleResponse,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new GuardError('size', host, `The answer of ${host} is longer than ${maxBytes} bytes`, status)
  if (Number(headers.get('content-length')) > maxBytes) throw tooLarge()
  const collected = new ByteCollector()
  while (read) {
    const { done, value } = await untilAborted(read(), signal)
    if (done) break
    collected.push(value)
    if (collected.length > maxBytes) throw tooLarge()
  }
  return collected.take() as Uint8Array<ArrayBuffer>
}

/** What goes wrong underneath becomes an error of ours, which names the host only: a query may hold secrets. */
async function attempt<T>(
  { host }: URL,
  signal: AbortSignal,
  step: 'connect' | 'read',
  work: () => Promise<T>,
): Promise<T> {
  try {
    signal.throwIfAborted()
    return await untilAborted(work(), signal)
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    if (cause instanceof McpError) throw cause
    const code = codeOf(cause)
    const isUnsent = step === 'connect' && code !== undefined && unsent.has(code)
    const why = code === undefined ? '' : ` (${code})`
    const message = isUnsent ? `${host} could not be reached${why}` : `The connection to ${host} failed${why}`
    throw new HttpError(message, { outcome: isUnsent ? 'not-sent' : 'unknown', cause })
  }
}

/** Failures that come before anything is sent. */
const unsent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

/** Not every `fetch` heeds its signal, and a lookup of a name cannot be given up. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
