import { isLoopbackHost } from '../../../util/loopback.ts'
import { TokenBuckets } from '../../../util/token-bucket.ts'
import { type HeaderFields, type HttpCall, Refusal, refusedCode } from './call.ts'

export interface GuardOptions {
  /**
   * Names under which the server may be called, such as `mcp.example.com`; without a port, any port will do. Default: the
   * names of this machine (`localhost`, `127.0.0.1`, `[::1]`) and IP addresses, which no foreign page can make its own.
   */
  allowedHosts?: readonly string[] | undefined
  /**
   * Web origins that may call besides the server's own, such as `https://app.example.com`. Pages can only read the answers with
   * `cors`, which allows them to call, too. Default: pages on this machine, and those that CORS middleware in front of a Node
   * handler allows.
   */
  allowedOrigins?: readonly string[] | undefined
  /** Answers under any name. Only behind a proxy that checks the `Host` header itself. */
  allowAnyHost?: boolean | undefined
  /** Answers pages of any origin. */
  allowAnyOrigin?: boolean | undefined
  /** Lets pages of these origins read the answers; they are allowed to call, too. Default: none. */
  cors?: CorsOptions | undefined
}

export interface CorsOptions {
  /** Such as `https://app.example.com`; `'*'` is every origin, which then is also allowed to call. */
  origins: readonly string[] | '*'
  /** Request headers beyond those that MCP needs. */
  allowedHeaders?: readonly string[] | undefined
  /** How long a browser may remember the permission. Default 86,400. */
  maxAgeSeconds?: number | undefined
}

/** Verdicts kept; far more than honest clients make, and a bound for the others. */
const maxKept = 200

const ipLiteral = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])$/
const hostShape = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/

/**
 * Who may call at all (2025-11-25 transports, security warning). A page can make its own name point to this machine, and
 * then the browser lets it call; but it cannot change the name in `Host` and `Origin`.
 */
export class Guard {
  readonly #options: GuardOptions
  readonly #hosts = new Map<string, boolean>()
  readonly #origins = new Map<string, boolean>()

  constructor(options: GuardOptions) {
    checkGuardOptions(options)
    this.#options = options
  }

  /** What to answer a caller that may not; undefined for all others. */
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
   * CORS middleware in front of us has decided that pages of this very origin may read the response, so they may call. A page
   * that made its own name point to this machine gains nothing by that, because its `Host` was refused before.
   */
  #isAllowedInFront({ allowedOrigin }: HttpCall, origin: string): boolean {
    if (this.#options.allowedOrigins || this.#options.cors) return false
    return allowedOrigin === '*' || allowedOrigin === origin
  }

  /** The same, as far as the name goes by which the server was called. */
  checkHost({ request }: HttpCall): Refusal | undefined {
    const host = request.header('host')
    if (!this.#options.allowAnyHost) {
      if (host === undefined) return foreignHost(host)
      const isAllowed = this.#hosts.get(host) ?? keep(this.#hosts, host, this.#allowsHost(host))
      if (!isAllowed) return foreignHost(host)
    }
    return request.truncated ? new Refusal(431, refusedCode, 'There are too many headers') : undefined
  }

  /** The headers that let the page behind this call read the answer. */
  corsHeaders(call: HttpCall): HeaderFields | undefined {
    const { cors } = this.#options
    if (!cors) return call.allowedOrigin === undefined ? undefined : this.#headersBehind(call)
    const origin = call.request.header('origin')
    if (!origin || !allowsPage(cors, origin)) return undefined
    return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed, vary: 'origin' }
  }

  /** Pages need to read our headers too; CORS middleware in front exposes none unless it is told to. */
  #headersBehind(call: HttpCall): HeaderFields | undefined {
    const origin = call.request.header('origin')
    if (!origin || call.exposesHeaders || !this.#isAllowedInFront(call, origin)) return undefined
    return { 'access-control-expose-headers': exposed }
  }

  /** The answer to a browser that asks before it calls; undefined where no page may read answers. */
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
    // A page of the very same host; and, where this machine is called by its own name, any page of this machine.
    if (page === host?.toLowerCase()) return true
    if (this.#options.allowedOrigins) return false
    return host !== undefined && isLoopbackHost(withoutPort(host)) && isLoopbackHost(withoutPort(page))
  }
}

/** What would never match, or fail at the first request, is better told at once. */
function checkGuardOptions({ allowedHosts, allowedOrigins, cors }: GuardOptions): void {
  for (const host of list('allowedHosts', allowedHosts)) {
    if (!hostShape.test(host)) throw new TypeError(`allowedHosts: '${host}' is no host; write 'mcp.example.com'`)
  }
  const origins = cors?.origins === '*' ? [] : list('cors.origins', cors?.origins)
  for (const origin of [...list('allowedOrigins', allowedOrigins), ...origins]) {
    if (hostOf(origin) === undefined)
      throw new TypeError(`'${origin}' is no origin; write 'https://app.example.com', without a slash at the end`)
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
  const way = name ? `; if it is yours, set allowedHosts: ['${name}']` : ''
  return new Refusal(403, refusedCode, `The Host header names a host that is not served here${way}`)
}

function foreignOrigin(origin: string): Refusal {
  const way = hostOf(origin) ? `. To let its pages call and read the answers, set cors: { origins: ['${origin}'] }` : ''
  return new Refusal(403, refusedCode, `The Origin header names an origin that may not call${way}`)
}

/** `https://a.example:8443` gives `a.example:8443`; what is no web origin gives undefined. */
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

/** What is wrong with the headers of a POST, or undefined. */
export function postProblem(call: HttpCall): Refusal | undefined {
  const accept = call.request.header('accept') ?? ''
  const acceptsBoth = accept === bothTypes || (accepts(accept, 'application/json') && accepts(accept, events))
  if (acceptsBoth) return contentProblem(call)
  return (
    contentProblem(call) ?? new Refusal(406, refusedCode, `Accept must list both ${bothTypes.replace(',', ' and')}`)
  )
}

/** What is wrong with how a body is sent, or undefined. */
export function contentProblem({ request }: HttpCall): Refusal | undefined {
  const type = request.header('content-type')
  if (type === undefined || (type !== 'application/json' && !/^application\/json[ \t]*(?:;|$)/i.test(type))) {
    return new Refusal(415, refusedCode, 'Content-Type must be application/json')
  }
  const encoding = request.header('content-encoding')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return new Refusal(415, refusedCode, 'Content-Encoding is not supported: send the body as it is')
  }
  return undefined
}

/** What is wrong with the headers of a GET, or undefined. */
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
