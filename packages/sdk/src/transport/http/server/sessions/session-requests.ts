import { ErrorCode } from '../../../../errors.ts'
import { isBatch, isRequest, isResponse, type ReceivedKind, type RequestId } from '../../../../jsonrpc/message.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import { MemoryEventStore } from '../../../../store/memory/events.ts'
import { accountOf } from '../../../../util/account.ts'
import { toBase64Url } from '../../../../util/base64url.ts'
import { clock } from '../../../../util/clock.ts'
import { lazy } from '../../../../util/lazy.ts'
import { chain, runDetached } from '../../../../util/maybe-async.ts'
import { random } from '../../../../util/random.ts'
import {
  type CallRequest,
  type HeaderFields,
  type HttpCall,
  Refusal,
  refusedCode,
  sessionNotFoundCode,
} from '../call.ts'
import type { HttpOptions } from '../options.ts'
import { expectsNoResponse, isInitialize, kindFor, type PostedKind } from '../posted-message.ts'
import { PostResponse } from '../response.ts'
import type { HandlerServices } from '../single-request.ts'
import { Cluster } from './cluster.ts'
import { HttpSession, type SessionServices } from './session.ts'
import { type SessionMetrics, SessionTable } from './session-table.ts'

/** Answers requests that belong to a session or open one: 2025-03-26 to 2025-11-25. */
export class SessionRequests {
  readonly #endpoint: Endpoint
  readonly #options: HttpOptions
  readonly #sessions: SessionTable
  readonly #services: SessionServices
  readonly #cluster: Cluster | undefined

  constructor(services: HandlerServices, options: HttpOptions) {
    this.#endpoint = services.endpoint
    this.#options = options
    this.#sessions = new SessionTable(options)
    this.#services = {
      ...services,
      eventStore: options.eventStore === false ? undefined : (options.eventStore ?? new MemoryEventStore()),
      maxStreamsPerSession: options.maxStreamsPerSession ?? 64,
      node: lazy(() => randomId().slice(0, 6).replaceAll(/[-_]/g, '0')),
      shared: options.sessionStore !== undefined,
      listening: (session, isListening) => this.#cluster?.listening(session, isListening),
      catchUp: (session) => this.#cluster?.catchUp(session),
      isAnswered: options.bus && ((session, streamId) => this.#cluster!.isAnswered(session, streamId)),
      closed: (session) => this.#closed(session),
    }
    this.#cluster = Cluster.of(services.endpoint, options, this.#sessions, this.#services.node)
  }

  get metrics(): SessionMetrics {
    return this.#sessions.metrics
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#sessions.all().map(({ link }) => link.close(graceMs)))
  }

  /** Stops exchanging messages with the other processes of the cluster. */
  leaveCluster(): void {
    this.#cluster?.close()
  }

  post(call: HttpCall, value: unknown, kind: PostedKind, cors: HeaderFields | undefined): Promise<void> | void {
    const id = call.request.header('mcp-session-id')
    if (isInitialize(value) && id === undefined) return this.#open(call, value, kind, cors)
    return chain(this.#find(call), (session) => this.#answer(session, call, value, kind, cors))
  }

  async get(call: HttpCall, cors: HeaderFields | undefined): Promise<void> {
    const session = await this.#find(call)
    session.lastSeen = clock.now()
    const lastEventId = call.request.header('last-event-id')
    if (lastEventId === undefined) session.listen(call, cors)
    else await session.resume(call, lastEventId, cors)
  }

  async delete(call: HttpCall, cors: HeaderFields | undefined): Promise<void> {
    const session = await this.#find(call)
    await session.close()
    await this.#cluster?.delete(session)
    this.#forgetEvents(session)
    if ((await session.closedCallback) === false)
      throw new Refusal(500, ErrorCode.InternalError, 'Internal error', null)
    call.reply(200, cors ?? {})
  }

  #answer(
    session: HttpSession,
    call: HttpCall,
    value: unknown,
    posted: PostedKind,
    cors: HeaderFields | undefined,
  ): Promise<void> | void {
    session.lastSeen = clock.now()
    const kind = kindFor(session.link, value, posted)
    if (expectsNoResponse(kind)) {
      this.#accept(session, value, kind)
      return chain(this.#cluster?.save(session, value), () => call.reply(202, cors ?? {}))
    }
    // A batch may contain responses besides its requests.
    if (isBatch(kind)) this.#cluster?.forward(session, value, kind)
    const response = new PostResponse(call, session, cors)
    if (isRequest(value, kind)) response.requestId = value.id
    const cluster = this.#cluster
    if (cluster?.changesSession(value)) {
      response.beforeLast = (error) => (error ? undefined : cluster.save(session, value))
      response.afterLast = this.#endpoint.beginChange(session.link, value)
    }
    session.asked()
    session.link.receive(value, response, kind)
    this.#services.slowResponses.add(response)
  }

  /** Takes notifications and responses. A response that another process waits for is forwarded and not received here. */
  #accept(session: HttpSession, value: unknown, kind: ReceivedKind): void {
    this.#cluster?.forward(session, value, kind)
    const isForOthers = this.#cluster?.forwards && isResponse(value, kind) && !session.link.concerns(value)
    if (!isForOthers) session.link.receive(value, undefined, kind)
  }

  #open(call: HttpCall, value: unknown, posted: PostedKind, cors: HeaderFields | undefined): void {
    this.#sessions.makeRoom(accountOf(call.request))
    const session = this.#attach(this.#createId(), call.request, true)
    const response = new PostResponse(call, session, { ...cors, 'mcp-session-id': session.sessionId })
    const kind = kindFor(session.link, value, posted)
    const id = isRequest(value, kind) ? value.id : undefined
    response.beforeLast = (error) => {
      if (error === undefined) return this.#opened(session, value, id)
      response.headers = cors
      void session.close()
      return undefined
    }
    session.asked()
    session.link.receive(value, response, kind)
  }

  /** Completes the opening of a session before the client gets its id. */
  #opened(session: HttpSession, value: unknown, id: RequestId | undefined): Promise<void> | undefined {
    if (!this.#options.onSession) return this.#cluster?.save(session, value, true)
    return this.#tell('opened', session).then((isAccepted) => {
      if (isAccepted) return this.#cluster?.save(session, value, true)
      session.isRefused = true
      void session.close()
      throw new Refusal(400, refusedCode, 'Session refused: the server failed to open it', id)
    })
  }

  /** Calls `onSession` and returns whether it succeeded; its error is reported. */
  async #tell(event: 'opened' | 'closed', { sessionId }: HttpSession): Promise<boolean> {
    try {
      await this.#options.onSession?.(event, sessionId)
      return true
    } catch (error) {
      this.#endpoint.reportError(error)
      return false
    }
  }

  #attach(id: string, request: CallRequest, isNew: boolean): HttpSession {
    const session = new HttpSession(id, request, this.#services, isNew)
    session.link = this.#endpoint.attach(session)
    if (this.#options.sessionStore) session.link.firstId = randomNumber()
    this.#sessions.add(session)
    return session
  }

  #createId(): string {
    const id = this.#options.sessionIdGenerator?.() ?? randomId()
    if (/^[\x21-\x7e]{1,512}$/.test(id) && !this.#sessions.get(id)) return id
    throw new TypeError('sessionIdGenerator must return a new id of 1 to 512 visible ASCII characters')
  }

  /** A session of another user gets the same response as one that does not exist. */
  #find(call: HttpCall): Promise<HttpSession> | HttpSession {
    const id = call.request.header('mcp-session-id')
    if (id === undefined) {
      throw new Refusal(
        400,
        refusedCode,
        'The header Mcp-Session-Id is missing. Send "initialize" to start a session.',
        null,
      )
    }
    const { principal } = call.request
    const session = this.#sessions.get(id)
    if (!this.#cluster) return ownedBy(principal, session)
    if (session) return chain(this.#cluster.use(session), (exists) => ownedBy(principal, exists ? session : undefined))
    return this.#cluster
      .restore(id, call.request, () => this.#attach(id, call.request, false))
      .then((restored) => ownedBy(principal, restored))
  }

  #closed(session: HttpSession): void {
    this.#sessions.delete(session)
    if (session.isTooOld) this.#deleteEverywhere(session)
    // In a cluster the session may continue at another process, which then needs the events.
    else if (!this.#options.sessionStore) this.#forgetEvents(session)
    // `onSession` was never called for a session whose `initialize` failed.
    const wasOpened = this.#endpoint.revisionOf(session.link) !== undefined && !session.isRefused
    if (this.#options.onSession && wasOpened) session.closedCallback = this.#tell('closed', session)
  }

  #deleteEverywhere(session: HttpSession): void {
    this.#forgetEvents(session)
    void runDetached(
      () => this.#cluster?.delete(session),
      (error) => this.#endpoint.reportError(error),
    )
  }

  #forgetEvents({ sessionId }: HttpSession): void {
    const { eventStore } = this.#services
    if (!eventStore?.forget) return
    void runDetached(
      () => eventStore.forget!(sessionId),
      (error) => this.#endpoint.reportError(error),
    )
  }
}

function ownedBy(principal: string | undefined, session: HttpSession | undefined): HttpSession {
  if (session && session.principal === principal) return session
  throw new Refusal(
    404,
    sessionNotFoundCode,
    'Session not found: it expired or was never created. Send "initialize" to start a new one.',
    null,
  )
}

/** The processes of a cluster must not use the same ids for requests to one client. */
function randomNumber(): number {
  const [high, low] = new Uint32Array(random.bytes(8).buffer)
  return (high! % 2 ** 20) * 2 ** 32 + low! + 1
}

function randomId(): string {
  const bytes = random.bytes(32)
  return toBase64Url(bytes)
}
