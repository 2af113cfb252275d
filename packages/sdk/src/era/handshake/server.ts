import { ProtocolError, RpcCode, UrlElicitationRequiredError } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { ResultObject, RpcErrorBody, RpcNotification } from '../../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../../protocol/capabilities.ts'
import type { InitializeParams } from '../../protocol/initialize.ts'
import type { LoggingLevel } from '../../protocol/log-level.ts'
import { isAtLeast } from '../../protocol/log-level.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Revision, RevisionId } from '../../protocol/revision.ts'
import { isUri } from '../../protocol/uri.ts'
import { checkAccess, type Granted, grantedTo, isAllowed } from '../access.ts'
import type { Call } from '../call.ts'
import { type Change, isSubscribed } from '../changes.ts'
import { withCheckedParams } from '../checked.ts'
import { canAsk } from '../questions.ts'
import { impossibleVersion, methodNotFound, noHandshake } from '../refusals.ts'
import type { Caller, Conversation, Definition, EraMethod, Reply, ServerEra } from '../server.ts'
import type { UriSet } from '../subscribed-uris.ts'
import { HandshakeConversation, type RootsMemory } from './conversation.ts'

/** Subscriptions one session may hold, so that a client cannot fill the memory. */
const maxSubscriptions = 10_000

/** Messages kept for a client that has not sent `notifications/initialized` yet; beyond that the oldest are dropped. */
const maxWaiting = 100

/** What `initialize` settled, for as long as the link lasts. It is the caller of every later request. */
class Session implements Caller, RootsMemory {
  readonly revision: RevisionId
  readonly rules: Revision
  readonly clientInfo: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** What the client was told; features that come later are not announced to it. */
  readonly declared: ServerCapabilities
  subscriptions: UriSet | undefined
  /** The scopes that the client had when it last subscribed: updates of what it may not read are not for it. */
  granted: Granted = []
  /** Before any logging/setLevel the choice is ours (2025-11-25 logging); none where logging is not declared. */
  logLevel: LoggingLevel | undefined
  /** The client said that it is ready; until then it is sent nothing but answers. */
  initialized = false
  /** What is sent as soon as it is. */
  #waiting: ((session: Session) => void)[] | undefined
  stopListening: (() => void) | undefined
  /** Outlives a change of the session by another process: handlers that run know it. */
  readonly known: RootsMemory['known']
  readonly answers: boolean

  constructor(
    revision: Revision,
    client: Partial<InitializeParams>,
    declared: ServerCapabilities,
    answers: boolean,
    known: RootsMemory['known'] = {},
  ) {
    this.answers = answers
    this.known = known
    this.revision = revision.id
    this.rules = revision
    this.clientInfo = client.clientInfo
    this.capabilities = client.capabilities ?? {}
    this.declared = declared
    this.logLevel = declared.logging ? 'info' : undefined
  }

  /** A client is ready for its user before we hear of it, so what is sent until then must not be lost. */
  whenInitialized(send: (session: Session) => void): void {
    this.#waiting ??= []
    if (this.#waiting.length >= maxWaiting) this.#waiting.shift()
    this.#waiting.push(send)
  }

  /** Goes on with what waits for the client in a session that this one replaces. */
  takeOver(before: Session): void {
    this.#waiting = before.#waiting
  }

  /** The client is ready. */
  begin(): void {
    this.initialized = true
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const send of waiting) send(this)
  }
}

/** A session as it is kept for another process. */
interface SavedSession extends Pick<Session, 'capabilities' | 'declared'> {
  revision: string
  clientInfo?: Implementation
  logLevel?: LoggingLevel
  initialized: boolean
  subscriptions: string[]
  granted: Granted
}

/** 2024-11-05 to 2025-11-25: one `initialize`, then a session in which everything is remembered. */
export class HandshakeServer implements ServerEra {
  readonly #definition: Definition
  readonly #revisions: readonly Revision[]
  readonly mirrors = false
  readonly methods: ReadonlyMap<string, EraMethod>

  constructor(definition: Definition) {
    this.#definition = definition
    this.#revisions = definition.revisions.filter((revision) => revision.era === 'handshake')
    const methods: Record<string, EraMethod> = {
      initialize: (exchange) => this.#initialize(exchange),
      ping: () => ({}),
      'logging/setLevel': (exchange) => this.#setLevel(exchange),
      'resources/subscribe': (exchange) => this.#subscribe(exchange),
      'resources/unsubscribe': (exchange) => this.#unsubscribe(exchange),
    }
    this.methods =
      this.#revisions.length > 0 ? this.#withCheckedVersion(methods) : new Map([['initialize', refuse(definition)]])
  }

  /** A client that gets the version wrong is told which ones there are (2025-11-25 lifecycle, error handling). */
  #withCheckedVersion(methods: Record<string, EraMethod>): Map<string, EraMethod> {
    const checked = withCheckedParams(methods)
    const initialize = checked.get('initialize')!
    return checked.set('initialize', (exchange) => {
      const version = exchange.request.params?.protocolVersion
      if (typeof version !== 'string' || version === '') throw impossibleVersion(version, this.#revisions)
      return initialize(exchange)
    })
  }

  identify(exchange: Exchange): Caller {
    const session = exchange.link.session
    if (session instanceof Session) return session
    const assumed = exchange.stream?.assumedRevision
    if (assumed !== undefined) return this.#assume(exchange.link, assumed)
    if (this.#revisions.length === this.#definition.revisions.length) {
      throw new ProtocolError(RpcCode.InvalidRequest, 'Call initialize first')
    }
    throw new ProtocolError(
      RpcCode.InvalidParams,
      'params._meta has no io.modelcontextprotocol/protocolVersion, and initialize was not called',
    )
  }

  converse(call: Call, caller: Caller): Conversation {
    return new HandshakeConversation(call, caller as Session, this.#definition.questions)
  }

  complete(method: string, { rules }: Caller, result: ResultObject): Reply {
    return rules.toResult(method, result)
  }

  toError(error: ProtocolError, exchange: Exchange): RpcErrorBody {
    const isForUrls = error instanceof UrlElicitationRequiredError
    const { session } = exchange.link
    if (!isForUrls || (session instanceof Session && canAsk(session, 'elicitUrl'))) return error.toBody()
    // 2025-11-25 elicitation, -32042: only for clients that can show pages.
    return {
      code: RpcCode.InternalError,
      message: `${error.message}; this client cannot be asked to visit a URL`,
    }
  }

  notified(notification: RpcNotification, link: Link): void {
    const session = link.session
    if (!(session instanceof Session)) return
    if (notification.method === 'notifications/initialized') session.begin()
    else if (notification.method === 'notifications/roots/list_changed') session.known.roots = undefined
  }

  drain(): void {}

  closed(link: Link): void {
    if (!(link.session instanceof Session)) return
    link.session.stopListening?.()
    link.session.subscriptions?.clear()
  }

  revisionOf(link: Link): Revision | undefined {
    return link.session instanceof Session ? link.session.rules : undefined
  }

  /**
   * What another process needs to go on with this session after the message; undefined while there is none. Other processes
   * change sessions too, so the message is carried out on the state that they left.
   */
  save(link: Link, message: unknown): ((before: unknown) => SavedSession) | undefined {
    const now = this.#toSaved(link)
    if (!now) return undefined
    const messages = (Array.isArray(message) ? message : [message]) as RpcNotification[]
    return (before) => {
      if (before === undefined) return now
      return messages.reduce((state, each) => merge(state, each, now), before as SavedSession)
    }
  }

  #toSaved(link: Link): SavedSession | undefined {
    const session = link.session
    if (!(session instanceof Session)) return undefined
    const { revision, capabilities, clientInfo, declared, logLevel, initialized } = session
    return {
      revision,
      capabilities,
      declared,
      ...(clientInfo && { clientInfo }),
      ...(logLevel && { logLevel }),
      initialized,
      subscriptions: session.subscriptions?.values() ?? [],
      granted: session.granted,
    }
  }

  /** Goes on with a session that another process opened, or has changed. */
  restore(link: Link, saved: unknown): void {
    const { revision: id, declared, ...state } = saved as SavedSession
    const revision = this.#revisions.find((candidate) => candidate.id === id)
    if (!revision) throw new TypeError(`A saved session is of ${id}, which is not served here`)
    // The store takes its time, in which the link may have ended.
    if (link.closed) return
    this.closed(link)
    const before = link.session
    const session = this.#begin(link, revision, state, declared)
    session.logLevel = state.logLevel
    session.subscriptions = this.#definition.subscribedUris.createSet({ stream: undefined, link })
    for (const uri of state.subscriptions) session.subscriptions.add(uri, true)
    if (before instanceof Session) session.takeOver(before)
    if (state.initialized) session.begin()
    session.granted = state.granted ?? []
  }

  /** Logs outside of any request, which only a session can receive. */
  log(link: Link, message: LoggingMessageParams): void {
    const session = link.session
    if (!(session instanceof Session)) return
    const send = ({ logLevel }: Session) => {
      if (isAtLeast(message.level, logLevel)) link.notify('notifications/message', { ...message })
    }
    if (session.initialized) send(session)
    else session.whenInitialized(send)
  }

  /** Tells a session of one change; without one, of everything that may have changed. */
  tell(link: Link, change: Change | undefined): void {
    const session = link.session
    if (!(session instanceof Session)) return
    if (change) return this.#tell(link, session, change)
    for (const list of ['tools', 'prompts', 'resources'] as const) this.#tell(link, session, { list })
    for (const updated of session.subscriptions?.values() ?? []) this.#tell(link, session, { updated })
  }

  #initialize(exchange: Exchange): ResultObject {
    const { link, request } = exchange
    if (link.session instanceof Session) throw new ProtocolError(RpcCode.InvalidRequest, 'Already initialized')
    const params = request.params as unknown as InitializeParams
    const revision = this.#agree(params.protocolVersion)
    const declared = this.#definition.capabilities()
    this.#begin(link, revision, params, declared)
    const { info, instructions } = this.#definition
    return revision.toResult('initialize', {
      protocolVersion: revision.id,
      capabilities: declared,
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    })
  }

  #begin(link: Link, revision: Revision, client: Partial<InitializeParams>, declared: ServerCapabilities): Session {
    const before = link.session instanceof Session ? link.session.known : undefined
    const session = new Session(revision, client, declared, true, before)
    link.session = session
    link.batching = revision.batching
    link.omitsUnknownId = revision.omitsUnknownId
    session.stopListening = this.#definition.changes.on((change) => this.#tell(link, session, change))
    return session
  }

  /** Where no sessions are kept, a request is taken for one of a client that can do nothing but ask. */
  #assume(link: Link, id: string): Session {
    const revision = this.#agree(id)
    const session = new Session(revision, {}, this.#definition.capabilities(), false)
    link.session = session
    return session
  }

  /** The version asked for, or our newest that has a handshake (2025-11-25 lifecycle, version negotiation). */
  #agree(requested: string): Revision {
    return this.#revisions.find((revision) => revision.id === requested) ?? this.#revisions[0]!
  }

  #setLevel(exchange: Exchange): ResultObject {
    const session = this.#sessionWith(exchange, (declared) => declared.logging)
    session.logLevel = exchange.request.params!.level as LoggingLevel
    return {}
  }

  #subscribe(exchange: Exchange): ResultObject {
    const session = this.#sessionWith(exchange, (declared) => declared.resources?.subscribe)
    const uri = exchange.request.params!.uri as string
    if (!isUri(uri)) throw new ProtocolError(RpcCode.InvalidParams, 'params.uri is no valid URI')
    checkAccess(exchange, this.#definition.requiredScopesOf(uri))
    session.subscriptions ??= this.#definition.subscribedUris.createSet(exchange)
    if (session.subscriptions.size >= maxSubscriptions) {
      throw new ProtocolError(RpcCode.InvalidRequest, `A session holds at most ${maxSubscriptions} subscriptions`)
    }
    session.subscriptions.add(uri)
    session.granted = grantedTo(exchange)
    return {}
  }

  #unsubscribe(exchange: Exchange): ResultObject {
    const session = this.#sessionWith(exchange, (declared) => declared.resources?.subscribe)
    session.subscriptions?.delete(exchange.request.params!.uri as string)
    return {}
  }

  #sessionWith(exchange: Exchange, needs: (declared: ServerCapabilities) => unknown): Session {
    const session = this.identify(exchange) as Session
    if (!needs(session.declared)) throw methodNotFound(exchange.request.method)
    return session
  }

  #tell(link: Link, session: Session, change: Change): void {
    if (session.initialized) this.#notify(link, session, change)
    else session.whenInitialized((ready) => this.#notify(link, ready, change))
  }

  #notify(link: Link, session: Session, change: Change): void {
    if ('list' in change) {
      if (session.declared[change.list]?.listChanged) link.notify(`notifications/${change.list}/list_changed`)
    } else if (
      session.subscriptions &&
      isSubscribed(session.subscriptions, change) &&
      isAllowed(session.granted, this.#definition.requiredScopesOf(change.updated))
    ) {
      link.notify('notifications/resources/updated', { uri: change.updated })
    }
  }
}

/** Does to a saved session what a message has done to the one that is in use here. */
function merge(state: SavedSession, { method, params }: RpcNotification, now: SavedSession): SavedSession {
  if (method === 'notifications/initialized') return { ...state, initialized: now.initialized }
  if (method === 'logging/setLevel') return { ...state, ...(now.logLevel && { logLevel: now.logLevel }) }
  if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return state
  const subscriptions = state.subscriptions.filter((uri) => uri !== params?.uri)
  const isSubscribed = now.subscriptions.includes(params?.uri as string)
  return { ...state, subscriptions: isSubscribed ? [...subscriptions, params?.uri as string] : subscriptions }
}

/** A server of 2026-07-28 alone answers any initialize, sound or not, with the versions that it speaks. */
function refuse(definition: Definition): EraMethod {
  return ({ request }) => {
    throw noHandshake(request.params?.protocolVersion, definition.revisions)
  }
}
