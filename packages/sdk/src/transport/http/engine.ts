import { RpcCode } from '../../errors.ts'
import type { Endpoint, RevisionFacts } from '../../jsonrpc/endpoint.ts'
import { Fault, kindOf, type RpcRequest, type RpcResponse } from '../../jsonrpc/message.ts'
import { parseUnambiguous } from '../../jsonrpc/parse.ts'
import { standardHeadersProblem } from '../../protocol/mirrored-headers.ts'
import { revisionWithoutHeader } from '../../protocol/revisions/index.ts'
import { MemoryEventStore } from '../../store/memory.ts'
import { Bag } from '../../util/bag.ts'
import { chain } from '../../util/chain.ts'
import { Deadlines } from '../../util/deadlines.ts'
import { isObject } from '../../util/objects.ts'
import { settle } from '../../util/settle.ts'
import { SseEndpoints } from '../sse/endpoints.ts'
import {
  type Body,
  type BodyLimits,
  type HeaderFields,
  type HttpCall,
  principalOf,
  Refusal,
  refusedCode,
  sessionNotFoundCode,
  tooManyStreams,
} from './call.ts'
import { Fleet } from './fleet.ts'
import { Guard, getProblem, postProblem } from './guard.ts'
import { checkModern, isModern, versionOf } from './modern.ts'
import { type CallHost, OneCall } from './one-call.ts'
import { OpenStreams } from './open-streams.ts'
import type { HttpOptions } from './options.ts'
import { PostReply } from './post-reply.ts'
import { RateLimit } from './rate-limit.ts'
import { Revisions } from './revisions.ts'
import { HttpSession, type SessionHost } from './session.ts'
import { type SessionMetrics, Sessions } from './sessions.ts'

export interface HttpMetrics {
  readonly sessions: SessionMetrics
  /** Streams that somebody reads now. */
  readonly streams: number
  /** Requests without a session that are being answered now. */
  readonly calls: number
}

const noHeaders: HeaderFields = Object.freeze({})

/** From an HTTP request to the link it belongs to, on every revision; the rims bring it `HttpCall`s. */
export class HttpEngine {
  readonly #endpoint: Endpoint
  readonly #options: HttpOptions
  readonly #guard: Guard
  readonly #rateLimit: RateLimit | undefined
  readonly #streams: OpenStreams
  readonly #sessions: Sessions
  readonly #sessionHost: SessionHost
  readonly #callHost: CallHost
  readonly #fleet: Fleet | undefined
  readonly #sse: SseEndpoints | undefined
  readonly #bodyLimits: BodyLimits
  readonly #revisions: Revisions
  #draining = false

  /** @param timesBodies False where the HTTP server itself ends bodies that are too slow. */
  constructor(endpoint: Endpoint, options: HttpOptions = {}, timesBodies = true) {
    const { maxBodyBytes = 4 * 1024 * 1024, bodyTimeoutMs = 30_000, maxQueuedBytes = 4 * 1024 * 1024 } = options
    this.#endpoint = endpoint
    this.#options = options
    this.#guard = new Guard(options)
    this.#rateLimit = options.rateLimit && new RateLimit(options.rateLimit)
    this.#streams = new OpenStreams(options)
    this.#sessions = new Sessions(options)
    this.#bodyLimits = {
      maxBodyBytes,
      bodyTimeoutMs,
      deadlines: timesBodies ? new Deadlines(bodyTimeoutMs) : undefined,
    }
    this.#revisions = new Revisions(endpoint.revisions)
    const shared = {
      endpoint,
      streams: this.#streams,
      maxQueuedBytes,
      plainAnswers: options.enableJsonResponse ?? false,
      reportError: (error: unknown) => endpoint.reportError(error),
    }
    this.#callHost = { ...shared, calls: new Bag() }
    this.#sessionHost = {
      ...shared,
      eventStore: options.eventStore === false ? undefined : (options.eventStore ?? new MemoryEventStore()),
      maxStreamsPerSession: options.maxStreamsPerSession ?? 64,
      node: randomId().slice(0, 6).replaceAll(/[-_]/g, '0'),
      shared: options.sessionStore !== undefined,
      listening: (session, isListening) => this.#fleet?.listening(session, isListening),
      onUnread: (stream) => this.#streams.delete(stream),
      closed: (session) => this.#closed(session),
    }
    this.#fleet = Fleet.of(endpoint, options, this.#sessions)
    this.#sse = options.sse ? new SseEndpoints(this.#callHost, this.#bodyLimits, options.sse) : undefined
  }

  get metrics(): HttpMetrics {
    return { sessions: this.#sessions.metrics, streams: this.#streams.size, calls: this.#callHost.calls.size }
  }

  /** Answers; never throws. What goes wrong on the way, now or later, becomes the answer. */
  handle(call: HttpCall): void {
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
    const links = [...this.#sessions.all(), ...this.#callHost.calls.all()].map(({ link }) => link)
    await Promise.all([...links.map((link) => link.close(graceMs)), this.#sse?.close(graceMs)])
    this.#streams.endAll()
    this.#fleet?.close()
  }

  /** Nothing is awaited here that need not be: a promise more is a measurable part of a small call. */
  #serve(call: HttpCall): Promise<void> | void {
    const foreign = this.#guard.check(call)
    if (foreign) throw foreign
    if (call.method === 'OPTIONS') return this.#preflight(call)
    const { request } = call
    if (this.#options.principal) return this.#identify(call, this.#options.principal)
    request.principal = principalOf(request.auth)
    return this.#route(call)
  }

  async #identify(call: HttpCall, principal: NonNullable<HttpOptions['principal']>): Promise<void> {
    call.request.principal = await principal(call.request)
    await this.#route(call)
  }

  #route(call: HttpCall): Promise<void> | void {
    if (this.#draining) throw shuttingDown()
    const { request } = call
    const tooMany = this.#rateLimit?.check(request.principal ?? request.peer ?? '', Date.now())
    if (tooMany) throw tooMany
    if (this.#sse?.handles(call)) return this.#sse.answer(call, this.#guard.corsHeaders(call))
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
    const value = typeof body === 'string' ? parseUnambiguous(body) : body.value
    if (value instanceof Fault) throw this.#unreadable(value, version)
    const cors = this.#guard.corsHeaders(call)
    if (isModern(this.#revisions, version, value)) return this.#answerModern(call, value, cors)
    return this.#answerLegacy(call, value, version, cors)
  }

  #answerModern(call: HttpCall, value: unknown, cors: HeaderFields | undefined): void {
    const kind = checkModern(this.#revisions, value, call.request)
    const { principal } = call.request
    if (kind === 'request' && (value as RpcRequest).method === 'subscriptions/listen') this.#checkRoom(principal)
    const one = new OneCall(this.#callHost, principal, undefined)
    if (kind === 'notification') return this.#takeOnce(one, call, value, cors)
    const reply = new PostReply(call, one, cors)
    one.link.receive(value, reply)
    // 2026-07-28 streamable-http, cancellation: whoever goes away cancels. Most answers are on their way by now.
    if (!reply.done) call.onClose(() => one.answered())
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
    const id = call.request.header('mcp-session-id')
    if (isInitialize(value) && id === undefined) return this.#openSession(call, value, cors)
    return chain(this.#findSession(call), (session) => this.#answerInSession(session, call, value, cors))
  }

  #answerInSession(
    session: HttpSession,
    call: HttpCall,
    value: unknown,
    cors: HeaderFields | undefined,
  ): Promise<void> | void {
    session.lastSeen = Date.now()
    if (isSilent(value, session.link.batching)) {
      this.#takeSilent(session, value)
      return chain(this.#fleet?.save(session, value), () => call.reply(202, cors ?? noHeaders))
    }
    const reply = new PostReply(call, session, cors)
    if (this.#fleet?.changesSession(value)) reply.beforeLast = () => this.#fleet!.save(session, value)
    session.asked()
    session.link.receive(value, reply)
  }

  /** An answer that another process waits for is passed on there, and is nothing to us. */
  #takeSilent(session: HttpSession, value: unknown): void {
    this.#fleet?.forward(session, value)
    const isForOthers =
      this.#fleet?.forwards && kindOf(value) === 'response' && !session.link.concerns(value as RpcResponse)
    if (!isForOthers) session.link.receive(value)
  }

  #openSession(call: HttpCall, value: unknown, cors: HeaderFields | undefined): void {
    const { principal } = call.request
    this.#sessions.makeRoom(principal)
    const session = this.#attach(this.#createId(), principal)
    const reply = new PostReply(call, session, { ...cors, 'mcp-session-id': session.sessionId })
    reply.beforeLast = (errorCode) => {
      if (errorCode === undefined) return this.#opened(session, value)
      reply.headers = cors
      void session.close()
      return undefined
    }
    session.asked()
    session.link.receive(value, reply)
  }

  /** What must be over before the client is told of its session. */
  #opened(session: HttpSession, value: unknown): Promise<void> | undefined {
    if (!this.#options.onSession) return this.#fleet?.save(session, value)
    return this.#tell('opened', session).then(() => this.#fleet?.save(session, value))
  }

  #tell(event: 'opened' | 'closed', { sessionId }: HttpSession): Promise<void> {
    return settle(
      () => this.#options.onSession?.(event, sessionId),
      (error) => this.#endpoint.reportError(error),
    )
  }

  #attach(id: string, principal: string | undefined): HttpSession {
    const session = new HttpSession(id, principal, this.#sessionHost)
    session.link = this.#endpoint.attach(session)
    if (this.#options.sessionStore) session.link.firstId = randomNumber()
    this.#sessions.add(session)
    return session
  }

  #createId(): string {
    const id = this.#options.sessionIdGenerator?.() ?? randomId()
    if (/^[\x21-\x7e]{1,512}$/.test(id) && !this.#sessions.get(id)) return id
    throw new TypeError('sessionIdGenerator must give a new id of 1 to 512 visible ASCII characters each time')
  }

  /** A request of an older revision, where no sessions are kept. */
  #answerOnce(call: HttpCall, value: unknown, version: string | undefined, cors: HeaderFields | undefined): void {
    const one = new OneCall(this.#callHost, call.request.principal, this.#assumed(version))
    if (isSilent(value, one.link.batching)) return this.#takeOnce(one, call, value, cors)
    one.link.receive(value, new PostReply(call, one, cors))
  }

  #takeOnce(one: OneCall, call: HttpCall, value: unknown, cors: HeaderFields | undefined): void {
    one.link.receive(value)
    one.answered()
    call.reply(202, cors ?? noHeaders)
  }

  async #get(call: HttpCall): Promise<void> {
    if (!this.#revisions.hasHandshake || this.#options.stateless) throw this.#notAllowed()
    const problem = getProblem(call)
    if (problem) throw problem
    this.#checkVersion(versionOf(call.request), undefined)
    const session = await this.#findSession(call)
    session.lastSeen = Date.now()
    const cors = this.#guard.corsHeaders(call)
    const lastEventId = call.request.header('last-event-id')
    if (lastEventId === undefined) session.listen(call, cors)
    else await session.resume(call, lastEventId, cors)
  }

  async #delete(call: HttpCall): Promise<void> {
    if (!this.#revisions.hasHandshake || this.#options.stateless) throw this.#notAllowed()
    this.#checkVersion(versionOf(call.request), undefined)
    const session = await this.#findSession(call)
    await session.close()
    await this.#fleet?.delete(session)
    this.#forgetEvents(session)
    call.reply(200, this.#guard.corsHeaders(call) ?? noHeaders)
  }

  /** A session that is not there and one that belongs to somebody else are the same to the caller. */
  #findSession(call: HttpCall): Promise<HttpSession> | HttpSession {
    const id = call.request.header('mcp-session-id')
    if (id === undefined) {
      throw new Refusal(400, refusedCode, 'The header Mcp-Session-Id is missing: call initialize first', null)
    }
    const { principal } = call.request
    const session = this.#sessions.get(id)
    if (!this.#fleet) return ownedBy(principal, session)
    if (session) return chain(this.#fleet.use(session), (isThere) => ownedBy(principal, isThere ? session : undefined))
    return this.#fleet
      .restore(id, principal, () => this.#attach(id, principal))
      .then((restored) => ownedBy(principal, restored))
  }

  #closed(session: HttpSession): void {
    this.#sessions.delete(session)
    // Where others know the session, it may go on there, with what can be resumed.
    if (!this.#options.sessionStore) this.#forgetEvents(session)
    // One that never got past `initialize` was never told of.
    if (this.#options.onSession && this.#endpoint.revisionOf(session.link)) void this.#tell('closed', session)
  }

  #forgetEvents({ sessionId }: HttpSession): void {
    const { eventStore } = this.#sessionHost
    if (!eventStore?.forget) return
    void settle(
      () => eventStore.forget!(sessionId),
      (error) => this.#endpoint.reportError(error),
    )
  }

  /** 2025-06-18 transports: a version that is not served is a 400; none at all is taken for the oldest one with HTTP. */
  #checkVersion(version: string | undefined, value: unknown): void {
    const id = isRequest(value) ? value.id : undefined
    if (!this.#revisions.hasHandshake) {
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

  #checkRoom(principal: string | undefined): void {
    if (this.#streams.hasRoom(principal) && !this.#callHost.plainAnswers) return
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

function ownedBy(principal: string | undefined, session: HttpSession | undefined): HttpSession {
  if (session && session.principal === principal) return session
  throw sessionNotFound()
}

function sessionNotFound(): Refusal {
  return new Refusal(404, sessionNotFoundCode, 'Session not found: start a new one with initialize', null)
}

function isRequest(value: unknown): value is RpcRequest {
  return isObject(value) && kindOf(value) === 'request'
}

function isInitialize(value: unknown): boolean {
  return isObject(value) && value.method === 'initialize' && value.id !== undefined
}

/** Nothing but notifications and answers: there is nothing to say but that they came. */
function isSilent(value: unknown, batching: boolean): boolean {
  if (Array.isArray(value)) return batching && value.length > 0 && value.every((member) => isSilent(member, false))
  const kind = kindOf(value)
  return kind === 'notification' || kind === 'response'
}

/** Processes that ask the same client must not use the same numbers. */
function randomNumber(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2))
  return (high! % 2 ** 20) * 2 ** 32 + low! + 1
}

function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function shuttingDown(): Refusal {
  return new Refusal(503, refusedCode, 'The server is shutting down', undefined, {
    'retry-after': '1',
    connection: 'close',
  })
}
