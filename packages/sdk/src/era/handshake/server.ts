import { ErrorCode, ProtocolError, UrlElicitationRequiredError } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { ResultObject, RpcErrorBody, RpcNotification } from '../../jsonrpc/message.ts'
import type { Caller } from '../../protocol/caller.ts'
import type { ServerCapabilities } from '../../protocol/capabilities.ts'
import type { InitializeParams } from '../../protocol/initialize.ts'
import { canAsk } from '../../protocol/input-check.ts'
import { isAtLeast, type LoggingLevel, type LoggingMessageParams } from '../../protocol/logging.ts'
import type { Revision } from '../../protocol/revision.ts'
import { requestStreamOf } from '../../protocol/transport.ts'
import { isUri } from '../../protocol/uri.ts'
import type { Conversation, Reply } from '../../replay/conversation.ts'
import { isObject } from '../../util/objects.ts'
import { checkAccess, grantedTo, isAllowed, isIndistinct } from '../access.ts'
import type { Call } from '../call.ts'
import { type Change, isSubscribed } from '../changes.ts'
import { invalidVersion, methodNotFound, noHandshake } from '../method-errors.ts'
import { type Definition, type EraMethod, type ServerEra, withCheckedParams } from '../server.ts'
import { taskProgressed } from './client-task.ts'
import { HandshakeConversation } from './conversation.ts'
import { applyMessage, Session, type StoredSession, toStored } from './session.ts'

/** Subscriptions per session, to bound the memory that a client can use. */
const maxSubscriptions = 10_000

/** 2024-11-05 to 2025-11-25: `initialize` opens a session, which holds the state of the client. */
export class HandshakeServer implements ServerEra {
  readonly #definition: Definition
  readonly #revisions: readonly Revision[]
  readonly replay = undefined
  readonly methods: ReadonlyMap<string, EraMethod>
  /** Requests that changed their session. One that was refused did not, so nothing is stored for it. */
  readonly #applied = new WeakSet<object>()

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

  /** An invalid version is answered with the versions that the server supports (2025-11-25 lifecycle, error handling). */
  #withCheckedVersion(methods: Record<string, EraMethod>): Map<string, EraMethod> {
    const checked = withCheckedParams(methods)
    const initialize = checked.get('initialize')!
    return checked.set('initialize', (exchange) => {
      const version = exchange.request.params?.protocolVersion
      if (typeof version !== 'string' || version === '') throw invalidVersion(version, this.#revisions)
      return initialize(exchange)
    })
  }

  identify(exchange: Exchange): Caller {
    const session = exchange.link.session
    if (session instanceof Session) return session
    const assumed = requestStreamOf(exchange)?.assumedRevision
    if (assumed !== undefined) return this.#assumeSession(exchange.link, assumed, false)
    const newest = this.#definition.isLenient ? this.#revisions[0] : undefined
    if (newest) return this.#assumeSession(exchange.link, newest.id, true)
    if (this.#revisions.length === this.#definition.revisions.length) {
      throw new ProtocolError(ErrorCode.InvalidRequest, 'Session not initialized: send "initialize" first')
    }
    throw new ProtocolError(
      ErrorCode.InvalidParams,
      'params._meta has no io.modelcontextprotocol/protocolVersion, and "initialize" was not sent',
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
    // 2025-11-25 elicitation: -32042 is for clients that declared URL elicitation.
    return {
      code: ErrorCode.InternalError,
      message: `${error.message}; this client cannot be asked to visit a URL`,
    }
  }

  notified(notification: RpcNotification, link: Link): void {
    const session = link.session
    if (!(session instanceof Session)) return
    if (notification.method === 'notifications/initialized') session.start()
    else if (notification.method === 'notifications/roots/list_changed') session.cache.roots = undefined
    else if (notification.method === 'notifications/progress')
      taskProgressed(session.cache.taskProgress, notification.params)
  }

  drain(): void {}

  closed(link: Link): void {
    if (!(link.session instanceof Session)) return
    link.session.stopListening?.()
    link.session.subscriptions?.clear()
  }

  revisionOf(link: Link): Revision | undefined {
    return this.callerOf(link)?.rules
  }

  /** The client that `initialize` introduced; undefined before. */
  callerOf(link: Link): Caller | undefined {
    return link.session instanceof Session ? link.session : undefined
  }

  adopt(link: Link, { protocolVersion, capabilities }: ResultObject): void {
    const { session } = link
    if (!(session instanceof Session)) return
    const revision = this.#revisions.find(({ id }) => id === protocolVersion) ?? session.rules
    this.closed(link)
    this.#openSession(link, revision, session, (capabilities ?? session.declared) as ServerCapabilities)
  }

  /**
   * Returns an update of the stored session after a message; undefined if there is no session, or the message did not change
   * it. Other processes change the session too, so the update applies only the effect of this message to the state they stored.
   */
  save(link: Link, message: unknown): ((before: unknown) => StoredSession) | undefined {
    if (!(link.session instanceof Session)) return undefined
    const now = toStored(link.session)
    const messages = (Array.isArray(message) ? message : [message]).filter((each) => this.#changed(each))
    if (messages.length === 0) return undefined
    return (stored) => {
      const before = (stored as StoredSession | undefined) ?? now
      // Read now, because this process may have subscribed with another token since.
      const { granted } = link.session as Session
      const state =
        stored === undefined ? now : messages.reduce((state, each) => applyMessage(state, each, now, granted), before)
      return { ...state, version: (before.version ?? 0) + 1 }
    }
  }

  #changed(message: unknown): message is RpcNotification {
    if (!isObject(message)) return false
    return this.#applied.has(message) || message.method === 'notifications/initialized'
  }

  /**
   * Begins the changes of a message, which `restore` keeps until they are stored.
   * @returns A function that ends them.
   */
  beginChange(link: Link, message: unknown): () => void {
    const end = link.session instanceof Session ? link.session.pending.begin(message) : undefined
    return () => {
      end?.()
      const { session } = link
      if (!(session instanceof Session)) return
      if (session.pending.size === 0) session.hasUnsavedGranted = false
      if (session.deferred) this.restore(link, session.deferred)
    }
  }

  /**
   * Continues a session that another process opened or changed. A state that is older than the one it has is ignored.
   * @param recent Changes that were made while the other process may have been ahead. The session is notified of those of
   * resources to which it was not subscribed here yet.
   */
  restore(link: Link, saved: unknown, recent: readonly Change[] = []): void {
    const before = link.session instanceof Session ? link.session : undefined
    const stored = before ? before.newest(saved as StoredSession) : (saved as StoredSession)
    if (!stored) return
    const { revision: id, declared, ...state } = stored
    const revision = this.#revisions.find((candidate) => candidate.id === id)
    if (!revision) throw new TypeError(`A stored session uses revision ${id}, which this server does not offer`)
    // The link may have closed while the store was read.
    if (link.closed) return
    before?.stopListening?.()
    const session = this.#openSession(link, revision, state, declared)
    session.version = state.version ?? 0
    session.logLevel = state.logLevel
    session.granted = state.granted ?? []
    if (before) session.takeOver(before, stored)
    const uris =
      session.subscriptions ?? this.#definition.subscribedUris.createSet({ stream: undefined, link }, session)
    const added = session.updateSubscriptions(uris, new Set(state.subscriptions))
    if (before) this.#notifyAdded(link, session, added, recent)
    // Queued updates are sent by `start`, which looks at the scopes.
    if (state.initialized) session.start()
  }

  /** Sends a log message that belongs to no request. Only sessions can receive it. */
  log(link: Link, message: LoggingMessageParams): void {
    const session = link.session
    if (!(session instanceof Session)) return
    const send = ({ logLevel }: Session) => {
      if (isAtLeast(message.level, logLevel)) link.notify('notifications/message', { ...message })
    }
    if (session.initialized) send(session)
    else session.whenInitialized(send)
  }

  /** Notifies a session of a change. Undefined stands for everything that may have changed. */
  notifyChange(link: Link, change: Change | undefined): void {
    const session = link.session
    if (!(session instanceof Session)) return
    if (change) return this.#notifyWhenReady(link, session, change)
    for (const list of ['tools', 'prompts', 'resources'] as const) this.#notifyWhenReady(link, session, { list })
    for (const updated of session.subscriptions?.values() ?? []) this.#notifyWhenReady(link, session, { updated })
  }

  #initialize(exchange: Exchange): ResultObject {
    const { link, request } = exchange
    if (link.session instanceof Session) {
      if (!this.#definition.isLenient) throw new ProtocolError(ErrorCode.InvalidRequest, 'Already initialized')
      this.closed(link)
    }
    const params = request.params as unknown as InitializeParams
    const revision = this.#chooseRevision(params.protocolVersion)
    const declared = declaredTo(exchange, this.#definition.capabilities())
    this.#openSession(link, revision, params, declared).holdsQuestions = !this.#definition.isLenient
    this.#applied.add(request)
    const { info, instructions } = this.#definition
    return revision.toResult('initialize', {
      protocolVersion: revision.id,
      capabilities: declared,
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    })
  }

  #openSession(
    link: Link,
    revision: Revision,
    client: Pick<Partial<Caller>, 'clientInfo' | 'capabilities'>,
    declared: ServerCapabilities,
  ): Session {
    const cache = link.session instanceof Session ? link.session.cache : undefined
    const session = new Session(revision, client, declared, true, cache)
    link.session = session
    link.batching = revision.batching
    link.omitsUnknownId = revision.omitsUnknownId
    session.stopListening = this.#definition.changes.on((change) => this.#notifyWhenReady(link, session, change))
    return session
  }

  /** Without a handshake, the caller is taken for a client that declared no capabilities. */
  #assumeSession(link: Link, id: string, canAnswer: boolean): Session {
    const revision = this.#chooseRevision(id)
    const session = new Session(revision, {}, this.#definition.capabilities(), canAnswer)
    link.session = session
    return session
  }

  /** The requested version, or the newest of this era (2025-11-25 lifecycle, version negotiation). */
  #chooseRevision(requested: string): Revision {
    return this.#revisions.find((revision) => revision.id === requested) ?? this.#revisions[0]!
  }

  #setLevel(exchange: Exchange): ResultObject {
    const session = this.#sessionWith(exchange, (declared) => declared.logging)
    session.logLevel = exchange.request.params!.level as LoggingLevel
    return this.#succeed(exchange)
  }

  #subscribe(exchange: Exchange): ResultObject | Promise<ResultObject> {
    const session = this.#sessionWith(exchange, (declared) => declared.resources?.subscribe)
    const uri = exchange.request.params!.uri as string
    if (!isUri(uri)) throw new ProtocolError(ErrorCode.InvalidParams, 'params.uri must be a valid URI')
    checkAccess(exchange, this.#definition.requiredScopesOf(uri))
    session.subscriptions ??= this.#definition.subscribedUris.createSet(exchange, session)
    if (session.subscriptions.size >= maxSubscriptions) {
      throw new ProtocolError(
        ErrorCode.InvalidRequest,
        `Subscription limit reached: a session can have ${maxSubscriptions}`,
      )
    }
    const confirmed = session.subscriptions.add(uri)
    session.granted = grantedTo(exchange)
    session.hasUnsavedGranted = true
    return confirmed ? confirmed.then(() => this.#succeed(exchange)) : this.#succeed(exchange)
  }

  #unsubscribe(exchange: Exchange): ResultObject {
    const session = this.#sessionWith(exchange, (declared) => declared.resources?.subscribe)
    session.subscriptions?.delete(exchange.request.params!.uri as string)
    return this.#succeed(exchange)
  }

  #succeed({ request }: Exchange): ResultObject {
    this.#applied.add(request)
    return {}
  }

  #sessionWith(exchange: Exchange, needs: (declared: ServerCapabilities) => unknown): Session {
    const session = this.identify(exchange) as Session
    if (!needs(session.declared)) throw methodNotFound(exchange.request.method)
    return session
  }

  /** Notifies a session of changes of resources to which it was subscribed without this process knowing. */
  #notifyAdded(link: Link, session: Session, added: ReadonlySet<string>, changes: readonly Change[]): void {
    const { audience } = session.subscriptions!
    const subscriptions = { has: (uri: string) => added.has(uri), audience }
    for (const change of changes) {
      if ('updated' in change && isSubscribed(subscriptions, change)) this.#notifyWhenReady(link, session, change)
    }
  }

  #notifyWhenReady(link: Link, session: Session, change: Change): void {
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

/** A server without this era answers every `initialize` with the versions it supports. */
function refuse(definition: Definition): EraMethod {
  return ({ request }) => {
    throw noHandshake(request.params?.protocolVersion, definition.revisions)
  }
}

/** 2025-11-25 tasks, listing: a task that can be read is in the list of its caller. Where that is impossible there is no list. */
function declaredTo(exchange: Exchange, capabilities: ServerCapabilities): ServerCapabilities {
  if (!capabilities.tasks?.list || !isIndistinct(exchange)) return capabilities
  const { list: _, ...tasks } = capabilities.tasks
  return { ...capabilities, tasks }
}
