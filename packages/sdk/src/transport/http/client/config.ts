import type { ClientAuth } from '../../../auth/client/client-auth.ts'
import { ClosedError, HttpError, McpError } from '../../../errors.ts'
import type { RedirectRules } from '../../../net/redirect.ts'
import { createSender, type FetchLike, type Sender } from '../../../net/send.ts'
import type { RevisionId } from '../../../protocol/revision.ts'
import { chooseRevisions } from '../../../protocol/revisions/index.ts'
import type { Tracer } from '../../../protocol/trace.ts'
import { type Backoff, defaultBackoff, maxTimerMs } from '../../../util/backoff.ts'
import { decodeUtf8 } from '../../../util/bytes.ts'
import { chain } from '../../../util/maybe-async.ts'
import { usesNodeHttp } from '../../../util/runtime.ts'
import { scheduler } from '../../../util/scheduler.ts'
import { TracedSender } from './traced-sender.ts'

/** Headers as an object, pairs or a `Headers`. */
export type HeadersLike = Readonly<Record<string, string>> | Iterable<readonly [string, string]>

export interface HttpClientOptions {
  /** The credentials: `oauth()`, `bearer(token)` and others from `tenon/auth/client`. */
  auth?: ClientAuth | ((server: URL) => ClientAuth) | undefined
  /** Headers for every request. A function is called for each request. */
  headers?: HeadersLike | (() => HeadersLike | Promise<HeadersLike>) | undefined
  /** Sends the requests. Default: Node's HTTP client on Node, the global `fetch` elsewhere. */
  fetch?: FetchLike | undefined
  /** `headers` for every request. Everything else is passed to `fetch`, if that sends the requests. */
  requestInit?: ({ headers?: HeadersLike | undefined } & Record<string, unknown>) | undefined
  /**
   * How to retry when the server cannot be reached, is busy, or a stream broke. Default: 5 retries after a random delay of up to
   * 200 ms, doubled each time up to 10,000 ms.
   */
  reconnect?: Partial<Backoff> | undefined
  /** The same, with the names of the official SDK. */
  reconnectionOptions?:
    | {
        initialReconnectionDelay?: number | undefined
        maxReconnectionDelay?: number | undefined
        reconnectionDelayGrowFactor?: number | undefined
        maxRetries?: number | undefined
      }
    | undefined
  /**
   * Schedules the next attempt to reopen a broken stream, instead of a timer. May return a function that cancels the attempt.
   * Use it where timers do not run, for example while an application is in the background.
   */
  reconnectionScheduler?: ReconnectionScheduler | undefined
  /**
   * Whether the transport recovers from failures by itself. With `false`, requests that did not reach the server are not sent
   * again, an HTTP error such as the 404 of a lost session fails the request and nothing else, an HTTP error with a JSON-RPC
   * error in its body is reported as HTTP error, and the stream of the server's messages is given up after
   * `reconnect.maxRetries` attempts. Default true.
   */
  recover?: boolean | undefined
  /**
   * Whether to send `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` also on revisions that do not require them, so that proxies can
   * route by them. Default: true on Node. False in browsers, where a preflight fails if the server does not allow the headers.
   */
  standardHeaders?: boolean | undefined
  /** The maximum size of a message from the server. Default 16 MiB. */
  maxMessageBytes?: number | undefined
  /** How many redirects to follow for one request. Redirects to another origin are never followed. Default 5. */
  maxRedirects?: number | undefined
}

/** Calls `reconnect` after `delayMs`. The function that it returns, if any, cancels that. */
export type ReconnectionScheduler = (
  reconnect: () => void,
  delayMs: number,
  attempt: number,
) => // biome-ignore lint/suspicious/noConfusingVoidType: a scheduler that returns nothing is a common case.
(() => void) | undefined | void

/** The revisions that `connect` was asked to offer. Metadata requests of `auth` name the newest. */
interface Offer {
  revision?: RevisionId | undefined
  revisions?: readonly RevisionId[] | undefined
}

/** Where requests go, what is sent with each of them, and their limits. */
export class ClientConfig {
  readonly backoff: Backoff
  readonly maxMessageBytes: number
  readonly redirects: RedirectRules
  /** Whether failed requests are sent again, and lost sessions reported as the end of the connection. */
  readonly recovers: boolean
  readonly auth: ClientAuth | undefined
  /** Whether requests repeat their method and name in headers on every revision. */
  readonly standardHeaders: boolean
  /** Decodes a body. Throws if it is not valid UTF-8. */
  readonly decode: (bytes: Uint8Array) => string
  /** Called before a user may have to log in. The function that it returns is called afterwards. */
  onWait: (() => () => void) | undefined
  /** The newest revision that the client offers. */
  readonly revision: RevisionId
  #tracer: Tracer | undefined
  readonly #options: HttpClientOptions
  readonly #fixed: Record<string, string> | undefined
  #url: URL
  #sender: Sender | undefined

  constructor(url: string | URL, options: HttpClientOptions & Offer) {
    this.#url = parseUrl(url)
    this.#options = options
    this.backoff = readBackoff(options)
    this.recovers = options.recover ?? true
    this.standardHeaders = options.standardHeaders ?? usesNodeHttp()
    this.maxMessageBytes = options.maxMessageBytes ?? 16 * 1024 * 1024
    this.redirects = { maxRedirects: options.maxRedirects ?? 5, otherOrigins: 'refuse', refuse }
    this.decode = options.fetch || !usesNodeHttp() ? decodeStrictly : decodeOnNode
    this.auth = typeof options.auth === 'function' ? options.auth(this.#url) : options.auth
    if (this.auth !== undefined && typeof this.auth.headers !== 'function') {
      throw new TypeError(
        '`auth` must provide a token when you connect to a URL. Pass oauth(), bearer(token) or another function of tenon/auth/client.',
      )
    }
    this.revision = chooseRevisions(options.revision ? [options.revision] : options.revisions)[0]!.id
    // As in other SDKs, `requestInit` is read for each request.
    if (typeof options.headers !== 'function' && !options.requestInit?.headers) this.#fixed = toRecord(options.headers)
  }

  get url(): URL {
    return this.#url
  }

  /** The URL without its query, which may hold secrets, for messages and keys. */
  get name(): string {
    return this.#url.origin + this.#url.pathname
  }

  get sender(): Sender {
    if (!this.#sender) throw new ClosedError('The transport is closed')
    return this.#sender
  }

  get tracer(): Tracer | undefined {
    return this.#tracer
  }

  /** Set it before `open`. */
  set tracer(tracer: Tracer | undefined) {
    this.#tracer = tracer
    if (this.auth && 'tracer' in this.auth) this.auth.tracer = tracer
  }

  /** Loads what sends the requests. */
  async open(): Promise<void> {
    const { fetch, requestInit } = this.#options
    if (this.#sender) return
    const sender = await createSender(fetch, { init: withoutHeaders(requestInit), allowFollowed: true })
    this.#sender = this.#tracer ? new TracedSender(sender, this.#tracer) : sender
  }

  /** Calls `run` after a delay. Returns a function that cancels that. */
  schedule(run: () => void, delayMs: number, attempt: number): () => void {
    const { reconnectionScheduler } = this.#options
    if (reconnectionScheduler) return reconnectionScheduler(run, delayMs, attempt) ?? (() => {})
    const timer = scheduler.setTimeout(run, Math.min(delayMs, maxTimerMs))
    return () => scheduler.clearTimeout(timer)
  }

  close(): void {
    this.#sender?.close()
    this.#sender = undefined
  }

  /** Sends all further requests to this URL: the server moved permanently (308). */
  moveTo(url: URL): void {
    this.#url = url
  }

  /** The caller's headers with the credentials, in a new object that may be changed. */
  headers(method: string, url: URL): Record<string, string> | Promise<Record<string, string>> {
    const own = this.#fixed ? { ...this.#fixed } : this.#callerHeaders()
    const { auth, revision } = this
    if (!auth) return own
    return chain(own, (headers) => chain(auth.headers({ method, url, revision }), (more) => ({ ...headers, ...more })))
  }

  /** Identifies the credentials that a request would carry now. */
  authorizationContext(): string | Promise<string> {
    return chain(this.headers('POST', this.#url), authorizationContextOf)
  }

  /** True if requests may carry credentials that are added outside of this library. */
  get hidesCredentials(): boolean {
    const { fetch, requestInit } = this.#options
    if (fetch || requestInit?.credentials === 'include') return true
    // Browsers add cookies to requests to their own origin.
    return requestInit?.credentials !== 'omit' && ownOrigin() === this.#url.origin
  }

  async #callerHeaders(): Promise<Record<string, string>> {
    const { headers, requestInit } = this.#options
    const own = typeof headers === 'function' ? await headers() : headers
    return { ...toRecord(requestInit?.headers), ...toRecord(own) }
  }
}

/** Headers that differ between requests of one user. */
const perRequestHeaders: ReadonlySet<string> = new Set(['dpop', 'traceparent', 'tracestate', 'x-request-id'])

/**
 * The authorization context that a request with these headers belongs to. Any header may identify the user, so all of them
 * count. A refreshed token counts as another context: that costs a few requests, and never shows data of another user.
 */
export function authorizationContextOf(headers: Readonly<Record<string, string>>): string {
  const names = Object.keys(headers).filter((name) => !perRequestHeaders.has(name))
  return JSON.stringify(names.sort().map((name) => [name, headers[name]]))
}

/** The origin of the page that this code runs in. */
function ownOrigin(): string | undefined {
  return (globalThis as { location?: { origin?: string } }).location?.origin
}

/** Parses the URL of a server. Throws if it is not an http: or https: URL, or contains credentials. */
export function parseUrl(text: string | URL): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch (cause) {
    throw new McpError('invalid-argument', `Not a URL: ${JSON.stringify(String(text))}`, { cause })
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new McpError('invalid-argument', `Scheme not supported: ${url.protocol}. Pass an http: or https: URL`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new McpError('invalid-argument', 'The URL contains a user name or password. Send them in headers instead')
  }
  return url
}

function refuse({ origin, pathname }: URL, status: number, why: string): HttpError {
  return new HttpError(`${origin}${pathname} redirects (HTTP ${status}) ${why}`, { outcome: 'refused', status })
}

function readBackoff({ reconnect = {}, reconnectionOptions: other = {} }: HttpClientOptions): Backoff {
  return {
    initialDelayMs: reconnect.initialDelayMs ?? other.initialReconnectionDelay ?? defaultBackoff.initialDelayMs,
    maxDelayMs: reconnect.maxDelayMs ?? other.maxReconnectionDelay ?? defaultBackoff.maxDelayMs,
    growth: reconnect.growth ?? other.reconnectionDelayGrowFactor ?? defaultBackoff.growth,
    maxRetries: reconnect.maxRetries ?? other.maxRetries ?? defaultBackoff.maxRetries,
    jitter: reconnect.jitter,
  }
}

function withoutHeaders(requestInit: HttpClientOptions['requestInit'] = {}): object {
  const { headers: _, ...init } = requestInit
  return init
}

function decodeOnNode(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes)
  if (text === null) throw new TypeError('The response is not valid UTF-8')
  return text
}

function decodeStrictly(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/** With names in lower case, so that no header is there twice. */
function toRecord(headers: HeadersLike | undefined): Record<string, string> {
  if (!headers) return {}
  const pairs = Symbol.iterator in headers ? headers : Object.entries(headers)
  return Object.fromEntries(
    Array.from(pairs as Iterable<[string, string]>, ([name, value]) => [name.toLowerCase(), value]),
  )
}
