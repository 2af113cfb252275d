import { isLoopbackHost } from '../../../util/loopback.ts'
import { TokenBuckets } from '../../../util/token-bucket.ts'
import { type HeaderFields, type HttpCall, Refusal, refusedCode } from './call.ts'

/** Options that decide which hosts and origins may call. */
export interface GuardOptions {
  /**
   * Values of the `Host` header that are accepted, such as `mcp.example.com`; without a port, any port matches. Default:
   * `localhost`, `127.0.0.1`, `[::1]` and IP addresses, which no other website can use as its name.
   */
  allowedHosts?: readonly string[] | undefined
  /**
   * Web origins that may call besides the server's own, such as `https://app.example.com`. To let pages read the responses, use
   * `cors` instead, which also allows them to call. Default: origins on this machine, and those that CORS middleware in front of
   * a Node handler allows.
   */
  allowedOrigins?: readonly string[] | undefined
  /** Accepts any `Host` header. Use it only behind a proxy that checks the header itself. */
  allowAnyHost?: boolean | undefined
  /** Accepts requests from any web origin. */
  allowAnyOrigin?: boolean | undefined
  /** Lets pages of these origins call and read the responses. Default: none. */
  cors?: CorsOptions | undefined
}

/** Options of cross-origin resource sharing. */
export interface CorsOptions {
  /** Origins such as `https://app.example.com`, or `'*'` for every origin. They are also allowed to call. */
  origins: readonly string[] | '*'
  /** Request headers to allow besides those that MCP needs. */
  allowedHeaders?: readonly string[] | undefined
  /** How long a browser may cache the permission. Default 86,400. */
  maxAgeSeconds?: number | undefined
}

/** Cached results. More than legitimate clients need, and a bound for the others. */
const maxKept = 200

const ipLiteral = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])$/
const hostShape = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/

/**
 * Checks the `Host` and `Origin` headers against DNS rebinding (2025-11-25 transports, security warning): a website can point its
 * own name to this machine, but it cannot change the name in these headers.
 */
export class Guard {
  readonly #options: GuardOptions
  readonly #hosts = new Map<string, boolean>()
  readonly #origins = new Map<string, boolean>()

  constructor(options: GuardOptions) {
    checkGuardOptions(options)
    this.#options = options
  }

  /** Returns the refusal for a request that is not allowed. */
  check(call: HttpCall): Refusal | undefined {
    const foreign = this.checkHost(call)
    if (foreign) return foreign
    const host = call.request.header('host')
    const origin = call.request.header('origin')
    if (origin === undefined || this.#options.allowAnyOrigin) return undefined
    const key = `${origin} ${host}`
    const isAllowed = this.#origins.get(key) ?? keep(this.#origins, key, this.#allowsOrigin(origin, host))
    return isAllowed || this.#isAllowedInFront(call, origin) ? undefined : foreignOrigin(origin)
  }

  /**
   * CORS middleware in front of us allows this origin to read the response, so it may call. DNS rebinding gains nothing by that,
   * because the `Host` header was checked before.
   */
  #isAllowedInFront({ allowedOrigin }: HttpCall, origin: string): boolean {
    if (this.#options.allowedOrigins || this.#options.cors) return false
    return allowedOrigin === '*' || allowedOrigin === origin
  }

  /** Returns the refusal for a request whose `Host` header is not allowed. */
  checkHost({ request }: HttpCall): Refusal | undefined {
    const host = request.header('host')
    if (!this.#options.allowAnyHost) {
      if (host === undefined) return foreignHost(host)
      const isAllowed = this.#hosts.get(host) ?? keep(this.#hosts, host, this.#allowsHost(host))
      if (!isAllowed) return foreignHost(host)
    }
    return request.truncated ? new Refusal(431, refusedCode, 'Too many headers') : undefined
  }

  /** The headers that let the calling page read the response. */
  corsHeaders(call: HttpCall): HeaderFields | undefined {
    const { cors } = this.#options
    if (!cors) return call.allowedOrigin === undefined ? undefined : this.#headersBehind(call)
    const origin = call.request.header('origin')
    if (!origin || !allowsPage(cors, origin)) return undefined
    return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed, vary: 'origin' }
  }

  /** Exposes our headers to pages if CORS middleware in front of us does not. */
  #headersBehind(call: HttpCall): HeaderFields | undefined {
    const origin = call.request.header('origin')
    if (!origin || call.exposesHeaders || !this.#isAllowedInFront(call, origin)) return undefined
    return { 'access-control-expose-headers': exposed }
  }

  /** The headers for a preflight request; undefined if pages may not read responses. */
  preflightHeaders(call: HttpCall): HeaderFields | undefined {
    const { cors } = this.#options
    const allowed = this.corsHeaders(call)
    if (!cors || !allowed) return undefined
    const asked = call.request.header('access-control-request-headers') ?? ''
    const params = asked.split(',').map((name) => name.trim().toLowerCase())
    const names = [
      ...needed,
      ...(cors.allowedHeaders ?? []),
      ...params.filter((name) => /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)),
    ]
    return {
      ...allowed,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': names.join(', '),
      'access-control-max-age': String(cors.maxAgeSeconds ?? 86_400),
    }
  }

  #allowsHost(host: string): boolean {
    if (!hostShape.test(host)) return false
    const { allowedHosts } = this.#options
    const name = withoutPort(host).toLowerCase()
    if (!allowedHosts) return isLoopbackHost(name) || ipLiteral.test(name)
    return allowedHosts.some((allowed) => {
      const wanted = allowed.toLowerCase()
      return wanted === host.toLowerCase() || wanted === name
    })
  }

  #allowsOrigin(origin: string, host: string | undefined): boolean {
    const { allowedOrigins = [], cors } = this.#options
    if (allowedOrigins.includes(origin) || (cors && allowsPage(cors, origin))) return true
    const page = hostOf(origin)
    if (page === undefined) return false
    // The same host; or, if the server is called as localhost, any page on this machine.
    if (page === host?.toLowerCase()) return true
    if (this.#options.allowedOrigins) return false
    return host !== undefined && isLoopbackHost(withoutPort(host)) && isLoopbackHost(withoutPort(page))
  }
}

/** Reports values that can never match when the server starts, not with the first request. */
function checkGuardOptions({ allowedHosts, allowedOrigins, cors }: GuardOptions): void {
  for (const host of list('allowedHosts', allowedHosts)) {
    if (!hostShape.test(host)) throw new TypeError(`allowedHosts: '${host}' is not a host. Example: 'mcp.example.com'.`)
  }
  const origins = cors?.origins === '*' ? [] : list('cors.origins', cors?.origins)
  for (const origin of [...list('allowedOrigins', allowedOrigins), ...origins]) {
    if (hostOf(origin) === undefined)
      throw new TypeError(`'${origin}' is not an origin. Example: 'https://app.example.com', without a trailing slash.`)
  }
}

function list(name: string, values: unknown): readonly string[] {
  if (values === undefined) return []
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return values
  throw new TypeError(`${name} must be an array of strings`)
}

const needed = [
  'content-type',
  'accept',
  'authorization',
  'dpop',
  'last-event-id',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
]
const exposed = 'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, DPoP-Nonce, Retry-After'

function allowsPage({ origins }: CorsOptions, origin: string): boolean {
  return origins === '*' || origins.includes(origin)
}

function foreignHost(host: string | undefined): Refusal {
  const name = host !== undefined && hostShape.test(host) ? withoutPort(host) : undefined
  const way = name
    ? `. If it is the name of this server, set allowedHosts: ['${name}'], or pass --allow-host ${name} to the tenon command.`
    : ''
  return new Refusal(403, refusedCode, `The Host header is not allowed${way}`)
}

function foreignOrigin(origin: string): Refusal {
  const way = hostOf(origin) ? `. To allow it, set cors: { origins: ['${origin}'] }.` : ''
  return new Refusal(403, refusedCode, `The Origin header is not allowed${way}`)
}

/** Returns `a.example:8443` for `https://a.example:8443`; undefined if it is not a web origin. */
function hostOf(origin: string): string | undefined {
  const match = /^https?:\/\/([^/?#@\\\s]+)$/i.exec(origin)
  return match && hostShape.test(match[1]!) ? match[1]!.toLowerCase() : undefined
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}

function keep(kept: Map<string, boolean>, key: string, verdict: boolean): boolean {
  if (kept.size >= maxKept) kept.clear()
  kept.set(key, verdict)
  return verdict
}

/** Returns the refusal for a POST with invalid headers. */
export function postProblem(call: HttpCall): Refusal | undefined {
  const accept = call.request.header('accept') ?? ''
  const acceptsBoth = accept === bothTypes || (accepts(accept, 'application/json') && accepts(accept, events))
  if (acceptsBoth) return contentProblem(call)
  return (
    contentProblem(call) ?? new Refusal(406, refusedCode, `Accept must list both ${bothTypes.replace(',', ' and')}`)
  )
}

/** Returns the refusal for a body with the wrong type or encoding. */
export function contentProblem({ request }: HttpCall): Refusal | undefined {
  const type = request.header('content-type')
  if (type === undefined || (type !== 'application/json' && !/^application\/json[ \t]*(?:;|$)/i.test(type))) {
    return new Refusal(415, refusedCode, 'Content-Type must be application/json')
  }
  const encoding = request.header('content-encoding')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return new Refusal(415, refusedCode, 'Content-Encoding is not supported: send the body uncompressed')
  }
  return undefined
}

/** Returns the refusal for a GET with invalid headers. */
export function getProblem(call: HttpCall): Refusal | undefined {
  if (accepts(call.request.header('accept') ?? '', events)) return undefined
  return new Refusal(406, refusedCode, 'Accept must list text/event-stream')
}

const bothTypes = 'application/json, text/event-stream'
const events = 'text/event-stream'

function accepts(header: string, type: string): boolean {
  const family = `${type.split('/')[0]}/*`
  return header.split(',').some((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    if (parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) return false
    return range === type || range === family || range === '*/*'
  })
}

/** How many requests a caller may make. */
export interface RateLimitOptions {
  /** Requests per second that one caller can sustain. */
  perSecond: number
  /** Requests that a caller may make at once after a pause. Default: twice `perSecond`. */
  burst?: number | undefined
  /**
   * Requests per second from one address, twice as many at once. Counted before the caller is authenticated, so that a flood of
   * invalid tokens causes no token checks. Node only. Do not use it behind a proxy, because all requests then come from the
   * address of the proxy. Default: no limit.
   */
  addressPerSecond?: number | undefined
}

/** Callers that are remembered; a forgotten one starts with a full bucket. */
const maxCallers = 10_000

/** A token bucket per caller. */
export class RateLimit {
  readonly #buckets: TokenBuckets

  constructor({ perSecond, burst = perSecond * 2 }: Pick<RateLimitOptions, 'perSecond' | 'burst'>) {
    if (!(perSecond > 0) || !(burst >= 1)) {
      throw new TypeError('rateLimit: perSecond and addressPerSecond must be above 0 and burst at least 1')
    }
    this.#buckets = new TokenBuckets(burst, perSecond, maxCallers)
  }

  /** Counts a request; returns the refusal if the caller made too many. */
  check(caller: string, now: number): Refusal | undefined {
    const bucket = this.#buckets.of(caller, now)
    if (bucket.take(now)) return undefined
    const seconds = Math.max(1, Math.ceil(bucket.wait(now) / 1000))
    return new Refusal(429, refusedCode, `Too many requests: try again in ${seconds} s`, undefined, {
      'retry-after': String(seconds),
    })
  }
}
