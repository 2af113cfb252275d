import { pathOf } from '../../../auth/http.ts'
import { principalOf } from '../../../auth/resource/principal.ts'
import { ErrorCode } from '../../../errors.ts'
import { Fault } from '../../../jsonrpc/message.ts'
import type { Endpoint } from '../../../protocol/endpoint.ts'
import { networkOf } from '../../../util/account.ts'
import { clock } from '../../../util/clock.ts'
import { Deadlines } from '../../../util/deadlines.ts'
import { DenseSet } from '../../../util/dense-set.ts'
import { worksOnlyInRequests } from '../../../util/runtime.ts'
import { SseEndpoints } from '../../sse/endpoints.ts'
import { answerDocument, answerRoute } from './auth-routes.ts'
import { AuthorizedCall, Authorizer } from './authorized-call.ts'
import {
  type Body,
  type BodyLimits,
  type HttpCall,
  messageIn,
  type OutputLimits,
  Refusal,
  refusedCode,
} from './call.ts'
import { Guard, getProblem, postProblem, RateLimit } from './guard.ts'
import { IncomingBodies } from './incoming-bodies.ts'
import type { HttpOptions } from './options.ts'
import { checkHandshakeVersion, Revisions, versionOf } from './posted-message.ts'
import { Posts } from './posts.ts'
import { SlowResponses } from './response.ts'
import { SessionRequests } from './sessions/session-requests.ts'
import type { SessionMetrics } from './sessions/session-table.ts'
import type { HandlerServices } from './single-request.ts'
import { OpenStreams } from './streams/open-streams.ts'
import { UnsentOutputs } from './unsent-output.ts'

/** Numbers about a running HTTP handler, for monitoring. */
export interface HttpMetrics {
  readonly sessions: SessionMetrics
  /** Number of open streams. */
  readonly streams: number
  /** Number of requests outside of sessions that are being answered. */
  readonly calls: number
  /** Bytes that slow clients have not read yet. */
  readonly unsentBytes: number
}

/**
 * Takes every HTTP request of a server: checks who may call, applies limits, and passes the message on. `node.ts` and `web.ts`
 * adapt the two kinds of runtime to `HttpCall`.
 */
export class HttpRequestHandler {
  readonly #endpoint: Endpoint
  #release: (() => Promise<void>) | undefined
  readonly #options: HttpOptions
  readonly #guard: Guard
  readonly #rateLimit: RateLimit | undefined
  readonly #addressLimit: RateLimit | undefined
  readonly #authorizer: Authorizer | undefined
  readonly #services: HandlerServices
  readonly #sessions: SessionRequests
  readonly #posts: Posts
  readonly #sse: SseEndpoints | undefined
  readonly #bodyLimits: BodyLimits
  readonly #outputLimits: OutputLimits
  readonly #revisions: Revisions
  #isClosing = false

  /** @param ownsServer True for `serveHttp`, which closes slow connections itself and calls `servedAt`. */
  constructor(endpoint: Endpoint, options: HttpOptions = {}, ownsServer = false) {
    const { maxBodyBytes = 4 * 1024 * 1024, bodyTimeoutMs = 30_000, maxQueuedBytes = 4 * 1024 * 1024 } = options
    if (options.alwaysStream && options.enableJsonResponse) {
      throw new TypeError('alwaysStream and enableJsonResponse exclude each other. Set at most one of them.')
    }
    this.#endpoint = endpoint
    // Tasks of an earlier process resume now, without waiting for a request.
    if (!worksOnlyInRequests()) this.#release = endpoint.hold()
    this.#options = options
    this.#guard = new Guard(options)
    this.#rateLimit = options.rateLimit && new RateLimit(options.rateLimit)
    const { addressPerSecond } = options.rateLimit ?? {}
    if (addressPerSecond !== undefined) this.#addressLimit = new RateLimit({ perSecond: addressPerSecond })
    this.#authorizer = options.auth && new Authorizer(options.auth, options.sse, ownsServer)
    this.#outputLimits = { unsentOutputs: new UnsentOutputs(options), maxQueuedBytes }
    this.#bodyLimits = {
      maxBodyBytes,
      bodyTimeoutMs,
      deadlines: ownsServer ? undefined : new Deadlines(bodyTimeoutMs),
      incoming: new IncomingBodies(options),
    }
    this.#revisions = new Revisions(endpoint.revisions)
    this.#services = {
      endpoint,
      streams: new OpenStreams(options),
      slowResponses: new SlowResponses(options.streamAfterMs),
      singleRequests: new DenseSet(),
      maxQueuedBytes,
      jsonOnly: options.enableJsonResponse ?? false,
      alwaysStream: options.alwaysStream ?? false,
      reportError: (error) => endpoint.reportError(error),
    }
    this.#sessions = new SessionRequests(this.#services, options)
    this.#posts = new Posts(this.#services, this.#sessions, this.#revisions, options)
    this.#sse = options.sse ? new SseEndpoints(this.#services, this.#bodyLimits, options.sse) : undefined
  }

  get metrics(): HttpMetrics {
    return {
      sessions: this.#sessions.metrics,
      streams: this.#services.streams.size,
      calls: this.#services.singleRequests.size,
      unsentBytes: this.#outputLimits.unsentOutputs.unsentBytes,
    }
  }

  /** Sets the URL that `serveHttp` listens on, which is known only once it listens. */
  servedAt(url: string): void {
    this.#authorizer?.servedAt(url)
  }

  /** Whether a path belongs to `auth`: resource metadata, or an endpoint of the built-in authorization server. */
  describes(path: string): boolean {
    const authorizer = this.#authorizer
    return authorizer !== undefined && (authorizer.metadata.handles(path) || authorizer.routes?.handles(path) === true)
  }

  /** Answers a request. Never throws: errors, now or later, become the response. */
  handle(call: HttpCall): void {
    call.limitOutput(this.#outputLimits)
    this.#release ??= this.#endpoint.hold()
    try {
      this.#serve(call)?.catch((error) => this.#fail(call, error))
    } catch (error) {
      this.#fail(call, error)
    }
  }

  #fail(call: HttpCall, error: unknown): void {
    const cors = this.#guard.corsHeaders(call)
    if (error instanceof Refusal) return error.send(call, cors)
    this.#endpoint.reportError(error)
    new Refusal(500, ErrorCode.InternalError, 'Internal error').send(call, cors)
  }

  /** Refuses new requests, lets the current ones finish within `graceMs`, and ends every stream. */
  async close(graceMs = 5_000): Promise<void> {
    this.#isClosing = true
    const singles = this.#services.singleRequests.all().map(({ link }) => link.close(graceMs))
    await Promise.all([this.#sessions.close(graceMs), ...singles, this.#sse?.close(graceMs)])
    this.#services.streams.endAll()
    this.#sessions.leaveCluster()
    await this.#release?.()
  }

  /** Awaits only where it must: one more promise is a measurable part of a small request. */
  #serve(call: HttpCall): Promise<void> | void {
    if (this.#options.clientAddress) call.request.peer = this.#options.clientAddress(call.request)
    if (this.#authorizer && this.describes(pathOf(call.request))) return this.#answerAuthRoute(call, this.#authorizer)
    const foreign = this.#guard.check(call)
    if (foreign) throw foreign
    if (call.method === 'OPTIONS') return this.#preflight(call)
    checkAddressLimit(call, this.#addressLimit)
    if (this.#authorizer) return this.#authorize(call, this.#authorizer)
    const { request } = call
    // A layer in front of us has authenticated the caller, but does not know which scopes each tool needs.
    const known = request.auth === undefined ? call : new AuthorizedCall(call)
    if (this.#options.principal) return this.#identify(known, this.#options.principal)
    const principal = principalOf(request)
    if (principal instanceof Promise) return this.#identify(known, () => principal)
    request.principal = principal
    return this.#route(known)
  }

  /** Answers requests that clients make before they have a token. */
  #answerAuthRoute(call: HttpCall, { metadata, routes }: Authorizer): Promise<void> | void {
    // Metadata is public, also for web pages of other origins.
    if (metadata.handles(pathOf(call.request))) return answerDocument(call, metadata)
    // Each endpoint checks the origin itself.
    const foreign = this.#guard.checkHost(call)
    if (foreign) throw foreign
    if (this.#isClosing) throw shuttingDown()
    checkAddressLimit(call, this.#addressLimit ?? this.#rateLimit)
    return answerRoute(call, routes!)
  }

  /** Checks the token of every request, whatever its method and path (2025-03-26 on, access token usage). */
  async #authorize(call: HttpCall, authorizer: Authorizer): Promise<void> {
    const authorized = await authorizer.authorize(call, (error) => this.#endpoint.reportError(error))
    if (this.#options.principal) await this.#identify(authorized, this.#options.principal)
    else await this.#route(authorized)
  }

  async #identify(call: HttpCall, principal: NonNullable<HttpOptions['principal']>): Promise<void> {
    // An empty string would be one user shared by everyone without a name.
    call.request.principal = (await principal(call.request)) || undefined
    await this.#route(call)
  }

  #route(call: HttpCall): Promise<void> | void {
    if (this.#isClosing) throw shuttingDown()
    this.#checkRateLimit(call)
    if (this.#sse?.handles(call)) {
      if (call instanceof AuthorizedCall) call.isSession = true
      return this.#sse.answer(call, this.#guard.corsHeaders(call))
    }
    if (call.method === 'POST') return this.#post(call)
    if (!this.#hasSessions || (call.method !== 'GET' && call.method !== 'DELETE')) throw this.#notAllowed()
    return call.method === 'GET' ? this.#get(call) : this.#delete(call)
  }

  #checkRateLimit({ request: { principal, peer = '' } }: HttpCall): void {
    // The prefix keeps a user from having the same key as an address.
    const key = principal === undefined ? networkOf(peer) : `principal ${principal}`
    const refusal = this.#rateLimit?.check(key, clock.now())
    if (refusal) throw refusal
  }

  #post(call: HttpCall): void {
    const problem = postProblem(call)
    if (problem) throw problem
    call.body(this.#bodyLimits, (body) => {
      try {
        this.#received(call, body)?.catch((error) => this.#fail(call, error))
      } catch (error) {
        this.#fail(call, error)
      }
    })
  }

  #received(call: HttpCall, body: Body | Refusal): Promise<void> | void {
    if (body instanceof Refusal) throw body
    // `close` may have been called while the body arrived.
    if (this.#isClosing) throw shuttingDown()
    const version = versionOf(call.request)
    const value = messageIn(body, this.#bodyLimits.maxBodyBytes)
    if (value instanceof Fault) throw this.#unreadable(value, version)
    return this.#posts.answer(call, value, version, this.#guard.corsHeaders(call))
  }

  #get(call: HttpCall): Promise<void> {
    const problem = getProblem(call)
    if (problem) throw problem
    checkHandshakeVersion(this.#revisions, versionOf(call.request))
    return this.#sessions.get(call, this.#guard.corsHeaders(call))
  }

  #delete(call: HttpCall): Promise<void> {
    checkHandshakeVersion(this.#revisions, versionOf(call.request))
    return this.#sessions.delete(call, this.#guard.corsHeaders(call))
  }

  get #hasSessions(): boolean {
    return this.#revisions.hasHandshake && this.#options.sessions !== false
  }

  #unreadable({ code, message, id }: Fault, version: string | undefined): Refusal {
    return new Refusal(400, code, message, id ?? (this.#revisions.omitsUnknownId(version) ? undefined : null))
  }

  #preflight(call: HttpCall): void {
    const headers = this.#guard.preflightHeaders(call)
    if (!headers) throw this.#notAllowed()
    call.reply(204, headers)
  }

  #notAllowed(): Refusal {
    const allow = this.#hasSessions ? 'GET, POST, DELETE' : 'POST'
    return new Refusal(405, refusedCode, `Method not allowed: use ${allow}`, null, { allow })
  }
}

/** Counts a request for the network that it comes from, if that is known. */
function checkAddressLimit({ request: { peer } }: HttpCall, limit: RateLimit | undefined): void {
  if (!limit || peer === undefined) return
  const refusal = limit.check(networkOf(peer), clock.now())
  if (refusal) throw refusal
}

function shuttingDown(): Refusal {
  return new Refusal(503, refusedCode, 'The server is shutting down', undefined, {
    'retry-after': '1',
    connection: 'close',
  })
}
