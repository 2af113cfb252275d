import { ClosedError, HttpError, McpError } from '../../../errors.ts'
import type { RevisionId } from '../../../protocol/revision.ts'
import { chooseRevisions } from '../../../protocol/revisions/index.ts'
import { type Backoff, defaultBackoff } from '../../../util/backoff.ts'
import { chain } from '../../../util/maybe-async.ts'
import type { ClientAuth } from './auth.ts'
import type { HttpPort } from './call.ts'
import { type FetchLike, FetchPort } from './fetch.ts'

/** Headers as an object, pairs or a `Headers`. */
export type HeadersLike = Readonly<Record<string, string>> | Iterable<readonly [string, string]>

export interface HttpClientOptions {
  /** Gives requests their credentials: `oauth()`, `bearer(token)` and others from `tenon/auth/client`. */
  auth?: ClientAuth | ((server: URL) => ClientAuth) | undefined
  /** Headers for every request; a function is asked each time. */
  headers?: HeadersLike | (() => HeadersLike | Promise<HeadersLike>) | undefined
  /** Makes the requests. Default: Node's own HTTP client on Node, the global `fetch` elsewhere. */
  fetch?: FetchLike | undefined
  /** `headers` for every request; anything else goes to `fetch`, where that makes the requests. */
  requestInit?: ({ headers?: HeadersLike | undefined } & Record<string, unknown>) | undefined
  /**
   * How to try again when the server cannot be reached, is busy, or a stream broke. Default: waits of at most 200 ms,
   * doubled each time up to 10,000 ms, 5 times.
   */
  reconnect?: Partial<Backoff> | undefined
  /** The same under other names. */
  reconnectionOptions?:
    | {
        initialReconnectionDelay?: number | undefined
        maxReconnectionDelay?: number | undefined
        reconnectionDelayGrowFactor?: number | undefined
        maxRetries?: number | undefined
      }
    | undefined
  /** Longer messages are refused. Default 16 MiB. */
  maxMessageBytes?: number | undefined
  /** Redirects followed for one request, all within the origin. Default 5. */
  maxRedirects?: number | undefined
}

/** What the connection may speak, where `connect` was told; whoever gives credentials may want to know. */
interface Offer {
  revision?: RevisionId | undefined
  revisions?: readonly RevisionId[] | undefined
}

/** Where requests go, and what goes with each of them. */
export class ClientConfig {
  readonly backoff: Backoff
  readonly maxMessageBytes: number
  readonly maxRedirects: number
  readonly auth: ClientAuth | undefined
  /** Called before a person may be asked; what it gives, afterwards. */
  onWait: (() => () => void) | undefined
  /** The newest that the connection would speak. */
  readonly revision: RevisionId
  readonly #options: HttpClientOptions
  readonly #fixed: Record<string, string> | undefined
  #url: URL
  #port: HttpPort | undefined

  constructor(url: string | URL, options: HttpClientOptions & Offer) {
    this.#url = parseUrl(url)
    this.#options = options
    this.backoff = readBackoff(options)
    this.maxMessageBytes = options.maxMessageBytes ?? 16 * 1024 * 1024
    this.maxRedirects = options.maxRedirects ?? 5
    this.auth = typeof options.auth === 'function' ? options.auth(this.#url) : options.auth
    if (this.auth !== undefined && typeof this.auth.headers !== 'function') {
      throw new TypeError('auth of a URL must come from tenon/auth/client: pass oauth(), bearer(token) or the like.')
    }
    this.revision = chooseRevisions(options.revision ? [options.revision] : options.revisions)[0]!.id
    // As in other SDKs, `requestInit` is read anew for each request.
    if (typeof options.headers !== 'function' && !options.requestInit?.headers) this.#fixed = toRecord(options.headers)
  }

  get url(): URL {
    return this.#url
  }

  /** For messages and keys: a query may hold secrets. */
  get name(): string {
    return this.#url.origin + this.#url.pathname
  }

  get port(): HttpPort {
    if (!this.#port) throw new ClosedError('The transport was closed')
    return this.#port
  }

  /** Loads what makes the requests. */
  async open(): Promise<void> {
    this.#port ??= await createPort(this.#options)
  }

  close(): void {
    this.#port?.close()
    this.#port = undefined
  }

  /** The server moved for good (308). */
  move(url: URL): void {
    this.#url = url
  }

  /** The caller's headers with the credentials; a copy, to which others may be added. */
  headers(method: string, url: URL): Record<string, string> | Promise<Record<string, string>> {
    const own = this.#fixed ? { ...this.#fixed } : this.#askForHeaders()
    const { auth, revision } = this
    if (!auth) return own
    return chain(own, (headers) => chain(auth.headers({ method, url, revision }), (more) => ({ ...headers, ...more })))
  }

  /** Identifies the credentials that a request would carry now. */
  authorizationContext(): string | Promise<string> {
    return chain(this.headers('POST', this.#url), contextOf)
  }

  /** True where requests may carry credentials that are added outside of this library. */
  get hidesCredentials(): boolean {
    const { fetch, requestInit } = this.#options
    if (fetch || requestInit?.credentials === 'include') return true
    // Browsers add cookies to requests to their own origin.
    return requestInit?.credentials !== 'omit' && ownOrigin() === this.#url.origin
  }

  async #askForHeaders(): Promise<Record<string, string>> {
    const { headers, requestInit } = this.#options
    const asked = typeof headers === 'function' ? await headers() : headers
    return { ...toRecord(requestInit?.headers), ...toRecord(asked) }
  }
}

/** Headers that differ between requests of one user. */
const perRequestHeaders: ReadonlySet<string> = new Set(['dpop', 'traceparent', 'tracestate', 'x-request-id'])

/**
 * The authorization context that a request with these headers belongs to. Any header may identify the user, so all of them
 * count. A refreshed token counts as another context: that costs a few requests, and never shows data of another user.
 */
export function contextOf(headers: Readonly<Record<string, string>>): string {
  const names = Object.keys(headers).filter((name) => !perRequestHeaders.has(name))
  return JSON.stringify(names.sort().map((name) => [name, headers[name]]))
}

/** The origin of the page that this code runs in. */
function ownOrigin(): string | undefined {
  return (globalThis as { location?: { origin?: string } }).location?.origin
}

/** The URL, if it is one to speak HTTP with. */
export function parseUrl(text: string | URL): URL {
  let url: URL
  try {
    url = new URL(text)
  } catch (cause) {
    throw new McpError('invalid-argument', `${JSON.stringify(String(text))} is no URL`, { cause })
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new McpError('invalid-argument', `A server is reached by http: or https:, not by ${url.protocol}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new McpError('invalid-argument', 'The URL holds a user name or password; send them in headers instead')
  }
  return url
}

/**
 * Where a redirect leads, if it may be followed. The caller's headers, the session and what is asked for are meant for
 * one origin only, so another one is refused rather than asked without them.
 */
export function redirectTarget(from: URL, method: string, status: number, location: string): URL {
  const refuse = (why: string) =>
    new HttpError(`${from.origin}${from.pathname} redirects (HTTP ${status}) ${why}`, { outcome: 'refused', status })
  const isKept = status === 307 || status === 308
  if (method !== 'GET' && !isKept) throw refuse('in a way that would turn the request into a GET; it is not followed')
  let target: URL
  try {
    target = new URL(location, from)
  } catch {
    throw refuse('to something that is no URL')
  }
  if (target.origin !== from.origin) {
    throw refuse(`to another origin, ${target.origin}; connect to that one if you trust it`)
  }
  if (target.username !== '' || target.password !== '') throw refuse('to a URL with credentials')
  return target
}

function readBackoff({ reconnect = {}, reconnectionOptions: other = {} }: HttpClientOptions): Backoff {
  return {
    initialDelayMs: reconnect.initialDelayMs ?? other.initialReconnectionDelay ?? defaultBackoff.initialDelayMs,
    maxDelayMs: reconnect.maxDelayMs ?? other.maxReconnectionDelay ?? defaultBackoff.maxDelayMs,
    growth: reconnect.growth ?? other.reconnectionDelayGrowFactor ?? defaultBackoff.growth,
    maxRetries: reconnect.maxRetries ?? other.maxRetries ?? defaultBackoff.maxRetries,
  }
}

async function createPort({ fetch, requestInit = {} }: HttpClientOptions): Promise<HttpPort> {
  if (!fetch && typeof process === 'object' && process.versions?.node && 'getBuiltinModule' in process) {
    const { NodePort } = await import('./node.ts')
    return new NodePort()
  }
  const { headers: _, ...init } = requestInit
  return new FetchPort(fetch ?? ((url, options) => globalThis.fetch(url, options)), init)
}

/** Names in lower case, so that one header is not there twice. */
function toRecord(headers: HeadersLike | undefined): Record<string, string> {
  if (!headers) return {}
  const pairs = Symbol.iterator in headers ? headers : Object.entries(headers)
  return Object.fromEntries(
    Array.from(pairs as Iterable<[string, string]>, ([name, value]) => [name.toLowerCase(), value]),
  )
}
