import { pathOf } from '../../../auth/http.ts'
import { principalOf } from '../../../auth/resource/principal.ts'
import { RpcCode } from '../../../errors.ts'
import type { Endpoint, RevisionFacts } from '../../../jsonrpc/endpoint.ts'
import { Fault, kindOf, type RpcRequest } from '../../../jsonrpc/message.ts'
import { standardHeadersProblem } from '../../../protocol/mirrored-headers.ts'
import { revisionWithoutHeader } from '../../../protocol/revisions/index.ts'
import { type Account, accountOf, networkOf } from '../../../util/account.ts'
import { clock } from '../../../util/clock.ts'
import { Deadlines } from '../../../util/deadlines.ts'
import { DenseSet } from '../../../util/dense-set.ts'
import { isObject } from '../../../util/objects.ts'
import { worksOnlyInRequests } from '../../../util/runtime.ts'
import { SseEndpoints } from '../../sse/endpoints.ts'
import { answerDocument, answerRoute } from './auth-routes.ts'
import { Authorizer } from './authorize.ts'
import { AuthorizedCall } from './authorized-call.ts'
import {
  type Body,
  type BodyLimits,
  type HeaderFields,
  type HttpCall,
  messageIn,
  type OutputLimits,
  Refusal,
  refusedCode,
  tooManyStreams,
} from './call.ts'
import { Guard, getProblem, postProblem } from './guard.ts'
import { IncomingBodies } from './incoming-bodies.ts'
import type { HttpOptions } from './options.ts'
import { RateLimit } from './rate-limit.ts'
import { PostResponse } from './response.ts'
import { Revisions } from './revisions.ts'
import { isInitialize, isSilent, SessionRequests } from './sessions/session-requests.ts'
import type { SessionMetrics } from './sessions/session-table.ts'
import { type CallHost, SingleRequest } from './single-request.ts'
import { checkModern, isModern, versionOf } from './stateless-headers.ts'
import { OpenStreams } from './streams/open-streams.ts'
import { SlowResponses } from './streams/slow-responses.ts'
import { UnsentOutputs } from './unsent-output.ts'

export interface HttpMetrics {
  readonly sessions: SessionMetrics
  /** Streams that somebody reads now. */
  readonly streams: number
  /** Requests without a session that are being answered now. */
  readonly calls: number
  /** Bytes that clients which are behind have not read yet. */
  readonly unsentBytes: number
}

const noHeaders: HeaderFields = Object.freeze({})

/** From an HTTP request to the link it belongs to, on every revision; the rims bring it `HttpCall`s. */
export class HttpRequestHandler {
  readonly #endpoint: Endpoint
  #release: (() => Promise<void>) | undefined
  readonly #options: HttpOptions
  readonly #guard: Guard
  readonly #rateLimit: RateLimit | undefined
  readonly #addressLimit: RateLimit | undefined
  readonly #authorizer: Authorizer | undefined
  readonly #streams: OpenStreams
  readonly #waiting: SlowResponses
  readonly #sessions: SessionRequests
  readonly #callHost: CallHost
  readonly #sse: SseEndpoints | undefined
  readonly #bodyLimits: BodyLimits
  readonly #outputLimits: OutputLimits
  readonly #revisions: Revisions
  #draining = false

  /** @param ownsServer True for `serveHttp`, whose HTTP server ends slow bodies itself, and which says where it is served. */
  constructor(endpoint: Endpoint, options: HttpOptions = {}, ownsServer = false) {
    const { maxBodyBytes = 4 * 1024 * 1024, bodyTimeoutMs = 30_000, maxQueuedBytes = 4 * 1024 * 1024 } = options
    this.#endpoint = endpoint
    // Tasks of an earlier process go on now, without waiting for a request.
    if (!worksOnlyInRequests()) this.#release = endpoint.hold()
    this.#options = options
    this.#guard = new Guard(options)
    this.#rateLimit = options.rateLimit && new RateLimit(options.rateLimit)
    const { addressPerSecond } = options.rateLimit ?? {}
    if (addressPerSecond !== undefined) this.#addressLimit = new RateLimit({ perSecond: addressPerSecond })
    this.#authorizer = options.auth && new Authorizer(options.auth, options.sse, ownsServer)
    this.#streams = new OpenStreams(options)
    this.#waiting = new SlowResponses(options.streamAfterMs)
    this.#outputLimits = { backlogs: new UnsentOutputs(options), maxQueuedBytes }
    this.#bodyLimits = {
      maxBodyBytes,
      bodyTimeoutMs,
      deadlines: ownsServer ? undefined : new Deadlines(bodyTimeoutMs),
      incoming: new IncomingBodies(options),
    }
    this.#revisions = new Revisions(endpoint.revisions)
    const shared = {
      endpoint,
      streams: this.#streams,
      waiting: this.#waiting,
      maxQueuedBytes,
      plainAnswers: options.enableJsonResponse ?? false,
      reportError: (error: unknown) => endpoint.reportError(error),
    }
    this.#callHost = { ...shared, calls: new DenseSet() }
    this.#sessions = new SessionRequests(shared, options)
    this.#sse = options.sse ? new SseEndpoints(this.#callHost, this.#bodyLimits, options.sse) : undefined
  }

  get metrics(): HttpMetrics {
    return {
      sessions: this.#sessions.metrics,
      streams: this.#streams.size,
      calls: this.#callHost.calls.size,
      unsentBytes: this.#outputLimits.backlogs.unsentBytes,
    }
  }

  /** Where `serveHttp` listens, known only once it does. */
  servedAt(url: string): void {
    this.#authorizer?.servedAt(url)
  }

  /** Whether a path is for clients that need to log in: that of metadata, or of an endpoint that comes with `auth`. */
  describes(path: string): boolean {
    const authorizer = this.#authorizer
    return authorizer !== undefined && (authorizer.metadata.handles(path) || authorizer.routes?.handles(path) === true)
  }

  /** Answers; never throws. What goes wrong on the way, now or later, becomes the answer. */
  handle(call: HttpCall): void {
    call.limitOutput(this.#outputLimits)
    this.#release ??= this.#endpoint.hold()
    try {
      this.#serve(call)?.catch((error) => this.#failed(call, error))
    } catch (error) {
      this.#failed(call, error)
    }
  }

  #failed(call: HttpCall, error: unknown): void {
    const extra = this.#guard.corsHeaders(call)
    if (error instanceof Refusal) return error.send(call, extra)
    this.#endpoint.reportError(error)
    new Refusal(500, RpcCode.InternalError, 'Internal error').send(call, extra)
  }

  /** Lets what is under way finish, ends every stream, refuses what comes from now on. */
  async close(graceMs = 5_000): Promise<void> {
    this.#draining = true
    const calls = this.#callHost.calls.all().map(({ link }) => link.close(graceMs))
    await Promise.all([this.#sessions.close(graceMs), ...calls, this.#sse?.close(graceMs)])
    this.#streams.endAll()
    this.#sessions.leaveFleet()
    await this.#release?.()
  }

  /** Nothing is awaited here that need not be: a promise more is a measurable part of a small call. */
  #serve(call: HttpCall): Promise<void> | void {
    if (this.#options.clientAddress) call.request.peer = this.#options.clientAddress(call.request)
    if (this.#authorizer && this.describes(pathOf(call.request))) return this.#login(call, this.#authorizer)
    const foreign = this.#guard.check(call)
    if (foreign) throw foreign
    if (call.method === 'OPTIONS') return this.#preflight(call)
    checkAddress(call, this.#addressLimit)
    if (this.#authorizer) return this.#authorize(call, this.#authorizer)
    const { request } = call
    // Someone in front of us knows who it is, but not what each tool needs.
    const known = request.auth === undefined ? call : new AuthorizedCall(call)
    if (this.#options.principal) return this.#identify(known, this.#options.principal)
    const principal = principalOf(request)
    if (principal instanceof Promise) return this.#identify(known, () => principal)
    request.principal = principal
    return this.#route(known)
  }

  /** What clients need before they have a token. */
  #login(call: HttpCall, { metadata, routes }: Authorizer): Promise<void> | void {
    // Public, and for pages of every origin.
    if (metadata.handles(pathOf(call.request))) return answerDocument(call, metadata)
    // Which origins may call is for each endpoint to say.
    const foreign = this.#guard.checkHost(call)
    if (foreign) throw foreign
    if (this.#draining) throw shuttingDown()
    checkAddress(call, this.#addressLimit ?? this.#rateLimit)
    return answerRoute(call, routes!)
  }

  /** On every request, whatever its method and endpoint, and before anything else is looked at (2025-03-26 on, access token usage). */
  async #authorize(call: HttpCall, authorizer: Authorizer): Promise<void> {
    const authorized = await authorizer.authorize(call, (error) => this.#endpoint.reportError(error))
    if (this.#options.principal) await this.#identify(authorized, this.#options.principal)
    else await this.#route(authorized)
  }

  async #identify(call: HttpCall, principal: NonNullable<HttpOptions['principal']>): Promise<void> {
    // An empty text would be one user for all who have none.
    call.request.principal = (await principal(call.request)) || undefined
    await this.#route(call)
  }

  #route(call: HttpCall): Promise<void> | void {
    if (this.#draining) throw shuttingDown()
    const { request } = call
    // With a mark before it, so that no user can be called like the address of another.
    const { principal, peer = '' } = request
    const tooMany = this.#rateLimit?.check(
      principal === undefined ? networkOf(peer) : `principal ${principal}`,
      clock.now(),
    )
    if (tooMany) throw tooMany
    if (this.#sse?.handles(call)) {
      if (call instanceof AuthorizedCall) call.isSession = true
      return this.#sse.answer(call, this.#guard.corsHeaders(call))
    }
    if (call.method === 'POST') return this.#post(call)
    if (call.method === 'GET') return this.#get(call)
    if (call.method === 'DELETE') return this.#delete(call)
    throw this.#notAllowed()
  }

  #post(call: HttpCall): void {
    const problem = postProblem(call)
    if (problem) throw problem
    call.body(this.#bodyLimits, (body) => {
      try {
        this.#received(call, body)?.catch((error) => this.#failed(call, error))
      } catch (error) {
        this.#failed(call, error)
      }
    })
  }

  #received(call: HttpCall, body: Body | Refusal): Promise<void> | void {
    if (body instanceof Refusal) throw body
    // It may have been asked to end while the body was on its way.
    if (this.#draining) throw shuttingDown()
    const version = versionOf(call.request)
    const value = messageIn(body, this.#bodyLimits.maxBodyBytes)
    if (value instanceof Fault) throw this.#unreadable(value, version)
    const cors = this.#guard.corsHeaders(call)
    if (isModern(this.#revisions, version, value)) return this.#answerModern(call, value, cors)
    return this.#answerLegacy(call, value, version, cors)
  }

  #answerModern(call: HttpCall, value: unknown, cors: HeaderFields | undefined): void {
    const kind = checkModern(this.#revisions, value, call.request)
    if (isListen(value)) this.#checkRoom(accountOf(call.request))
    const one = new SingleRequest(this.#callHost, call.request, undefined)
    if (kind === 'notification') return this.#takeOnce(one, call, value, cors)
    const reply = new PostResponse(call, one, cors)
    one.link.receive(value, reply)
    // 2026-07-28 streamable-http, cancellation: whoever goes away cancels. Most answers are on their way by now.
    if (reply.done) return
    call.onClose(() => one.answered())
    this.#waiting.add(reply)
    if (isListen(value) && call instanceof AuthorizedCall) call.atExpiry(() => void one.link.close(0))
  }

  #answerLegacy(
    call: HttpCall,
    value: unknown,
    version: string | undefined,
    cors: HeaderFields | undefined,
  ): Promise<void> | void {
    this.#checkVersion(version, value)
    this.#checkStandardHeaders(call, value)
    if (this.#options.stateless) return this.#answerOnce(call, value, version, cors)
    return this.#sessions.post(call, value, cors)
  }

  /** A request of an older revision, where no sessions are kept. */
  #answerOnce(call: HttpCall, value: unknown, version: string | undefined, cors: HeaderFields | undefined): void {
    const one = new SingleRequest(this.#callHost, call.request, this.#assumed(version))
    if (isSilent(value, one.link.batching)) return this.#takeOnce(one, call, value, cors)
    const reply = new PostResponse(call, one, cors)
    one.link.receive(value, reply)
    this.#waiting.add(reply)
  }

  #takeOnce(one: SingleRequest, call: HttpCall, value: unknown, cors: HeaderFields | undefined): void {
    one.link.receive(value)
    one.answered()
    call.reply(202, cors ?? noHeaders)
  }

  #get(call: HttpCall): Promise<void> {
    if (!this.#revisions.hasHandshake || this.#options.stateless) throw this.#notAllowed()
    const problem = getProblem(call)
    if (problem) throw problem
    this.#checkVersion(versionOf(call.request), undefined)
    return this.#sessions.get(call, this.#guard.corsHeaders(call))
  }

  #delete(call: HttpCall): Promise<void> {
    if (!this.#revisions.hasHandshake || this.#options.stateless) throw this.#notAllowed()
    this.#checkVersion(versionOf(call.request), undefined)
    return this.#sessions.delete(call, this.#guard.corsHeaders(call))
  }

  /** 2025-06-18 transports: a version that is not served is a 400; none at all is taken for the oldest one with HTTP. */
  #checkVersion(version: string | undefined, value: unknown): void {
    const id = isRequest(value) ? value.id : undefined
    if (!this.#revisions.hasHandshake) {
      if (isInitialize(value)) {
        const requested = (value as RpcRequest).params?.protocolVersion
        throw this.#unsupported(RpcCode.UnsupportedProtocolVersion, String(requested), id)
      }
      if (version === undefined) {
        const supported = this.#endpoint.revisions.map((revision) => revision.id)
        const message = `The header MCP-Protocol-Version is missing; this server speaks ${supported.join(', ')}`
        const refusal = new Refusal(400, RpcCode.HeaderMismatch, message, id)
        refusal.data = { supported }
        throw refusal
      }
      throw this.#unsupported(RpcCode.UnsupportedProtocolVersion, version, id)
    }
    if (version === undefined || this.#revisions.eraOf(version) === 'handshake') return
    throw this.#unsupported(refusedCode, version, id ?? null)
  }

  #unsupported(code: number, version: string, id: RpcRequest['id'] | null | undefined): Refusal {
    const supported = this.#endpoint.revisions.map((revision) => revision.id)
    const refusal = new Refusal(400, code, `Unsupported protocol version; it speaks ${supported.join(', ')}`, id)
    refusal.data = { supported, requested: version.slice(0, 100) }
    return refusal
  }

  #assumed(version: string | undefined): RevisionFacts {
    return this.#revisions.handshake(version ?? revisionWithoutHeader)
  }

  #checkStandardHeaders(call: HttpCall, value: unknown): void {
    const mode = this.#options.standardHeaders ?? 'validate'
    const { request } = call
    const isAbsent = request.header('mcp-method') === undefined && request.header('mcp-name') === undefined
    if (mode === 'ignore' || (isAbsent && mode === 'validate') || !isRequest(value)) return
    const problem = standardHeadersProblem(value.method, value.params, request, mode === 'require')
    // The number that the draft of these headers had, before 2026-07-28 gave it another.
    if (problem !== undefined) throw new Refusal(400, -32001, problem, value.id)
  }

  #checkRoom(account: Account | undefined): void {
    if (this.#streams.hasRoom(account) && !this.#callHost.plainAnswers) return
    throw tooManyStreams()
  }

  #unreadable(fault: Fault, version: string | undefined): Refusal {
    const omits = this.#endpoint.revisions.find(({ id }) => id === version)?.omitsUnknownId
    return new Refusal(400, fault.code, fault.message, fault.id ?? (omits ? undefined : null))
  }

  #preflight(call: HttpCall): void {
    const headers = this.#guard.preflightHeaders(call)
    if (!headers) throw this.#notAllowed()
    call.reply(204, headers)
  }

  #notAllowed(): Refusal {
    const allow = this.#revisions.hasHandshake && !this.#options.stateless ? 'GET, POST, DELETE' : 'POST'
    return new Refusal(405, refusedCode, `Method not allowed: use ${allow}`, null, { allow })
  }
}

/** Counts a request for the network that it comes from, where that is known. */
function checkAddress({ request: { peer } }: HttpCall, limit: RateLimit | undefined): void {
  if (!limit || peer === undefined) return
  const tooMany = limit.check(networkOf(peer), clock.now())
  if (tooMany) throw tooMany
}

/** Of 2026-07-28, whose members have been checked. */
function isListen(value: unknown): boolean {
  return isObject(value) && value.method === 'subscriptions/listen' && value.id !== undefined
}

function isRequest(value: unknown): value is RpcRequest {
  return isObject(value) && kindOf(value) === 'request'
}

function shuttingDown(): Refusal {
  return new Refusal(503, refusedCode, 'The server is shutting down', undefined, {
    'retry-after': '1',
    connection: 'close',
  })
}
