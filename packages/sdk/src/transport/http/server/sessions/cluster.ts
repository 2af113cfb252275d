import { classify, isBatch, isNotification, isResponse, type ReceivedKind } from '../../../../jsonrpc/message.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import type { SessionRecord, SessionStore } from '../../../../store/ports.ts'
import { accountOf } from '../../../../util/account.ts'
import { clock } from '../../../../util/clock.ts'
import { runDetached } from '../../../../util/maybe-async.ts'
import { isObject } from '../../../../util/objects.ts'
import { type CallRequest, Refusal, refusedCode } from '../call.ts'
import type { HttpOptions } from '../options.ts'
import { parseStreamId } from '../streams/stream-id.ts'
import { ClusterBus, type ClusterMessage, type StreamName } from './cluster-bus.ts'
import { RecentChanges } from './recent-changes.ts'
import type { HttpSession } from './session.ts'
import type { SessionTable } from './session-table.ts'
import { StreamStatus } from './stream-status.ts'

/** How often an update, or a read, is repeated when other processes change the same session. */
const maxUpdates = 20

/** Notifications that another process may need, besides responses. */
const forwarded: ReadonlySet<unknown> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
])

/** Methods that change the state of a session. */
const changing: ReadonlySet<unknown> = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/**
 * Joins the processes that serve the same server. A session store lets any of them answer any request; a bus carries changes
 * to clients wherever they are connected.
 */
export class Cluster {
  readonly #endpoint: Endpoint
  readonly #sessions: SessionTable
  readonly #store: SessionStore | undefined
  readonly #bus: ClusterBus | undefined
  readonly #streamNode: () => string
  readonly #touchedAt = new WeakMap<HttpSession, number>()
  readonly #recent = new RecentChanges()
  readonly #streamStatus = new StreamStatus((asks) => this.#publish({ asks }))
  /** Sessions that are being read from the store to take them over. */
  readonly #reads = new Set<SessionRead>()
  readonly #stopListening: (() => void) | undefined
  #isReceivingChange = false

  /**
   * Returns undefined if nothing is shared.
   * @param streamNode Returns the part of stream ids that names this process.
   */
  static of(
    endpoint: Endpoint,
    options: HttpOptions,
    sessions: SessionTable,
    streamNode: () => string,
  ): Cluster | undefined {
    return options.sessionStore || options.bus ? new Cluster(endpoint, options, sessions, streamNode) : undefined
  }

  private constructor(
    endpoint: Endpoint,
    { sessionStore, bus }: HttpOptions,
    sessions: SessionTable,
    streamNode: () => string,
  ) {
    this.#endpoint = endpoint
    this.#sessions = sessions
    this.#streamNode = streamNode
    this.#store = sessionStore
    if (!bus) return
    this.#stopListening = endpoint.changes.on((change, isOwn) => this.#changed(change, isOwn))
    this.#bus = new ClusterBus(
      bus,
      (message) => this.#received(message),
      (error) => endpoint.reportError(error),
    )
  }

  /** Whether messages are forwarded to other processes. */
  get forwards(): boolean {
    return this.#bus !== undefined
  }

  /** Whether a message changes the state of its session. */
  changesSession(value: unknown): boolean {
    if (!this.#store) return false
    if (Array.isArray(value)) return value.some((member) => this.changesSession(member))
    return isObject(value) && changing.has(value.method)
  }

  /**
   * Extends the lifetime of a session in the store; false if another process ended it. With a bus we learn of that at once;
   * without one the store is asked each time.
   */
  use(session: HttpSession): boolean | Promise<boolean> {
    const store = this.#store
    if (!store) return true
    if (!this.#bus) return this.#touch(store, session)
    const now = clock.now()
    if (now - (this.#touchedAt.get(session) ?? session.createdAt) < this.#sessions.idleMs / 4) return true
    this.#touchedAt.set(session, now)
    this.#detached(() => store.touch(session.sessionId, this.#sessions.idleMs))
    return true
  }

  async #touch(store: SessionStore, session: HttpSession): Promise<boolean> {
    const exists = await store.touch(session.sessionId, this.#sessions.idleMs)
    if (!exists) await session.close()
    return exists
  }

  /**
   * Saves the state of a session if this message may have changed it.
   * @param isNew Whether the message opened the session. Others do not create its record: the session may have ended meanwhile.
   */
  async save(session: HttpSession, value: unknown, isNew = false): Promise<void> {
    const store = this.#store
    if (!store || !this.changesSession(value)) return
    // Computed before the store is read, because another process may change the session here meanwhile.
    const change = this.#endpoint.saveSession(session.link, value)
    if (!change) return
    if (await this.#update(store, session, change, isNew)) this.#publish({ saved: session.sessionId })
  }

  /**
   * Repeats the update when another process changed the session at the same time, so that no change is lost.
   * @returns False if the session does not exist.
   */
  async #update(
    store: SessionStore,
    session: HttpSession,
    change: (before: unknown) => unknown,
    isNew: boolean,
  ): Promise<boolean> {
    const { sessionId: id, principal, createdAt, link } = session
    for (let updates = 1; ; updates++) {
      const before = await store.get(id)
      if (!before && !isNew) return false
      const state = change(before?.state)
      const record = { id, createdAt, state, ...(principal !== undefined && { principal }) }
      if (!before || !store.replace || updates === maxUpdates) await store.set(record, this.#sessions.idleMs)
      else if (!(await store.replace(record, this.#sessions.idleMs, before))) continue
      if (before) this.#endpoint.restoreSession(link, state, this.#recent.latest())
      return true
    }
  }

  /** Forwards responses and notifications that concern another process. */
  forward({ sessionId, link }: HttpSession, value: unknown, received: ReceivedKind): void {
    if (!this.#bus) return
    for (const { message, kind } of isBatch(received) ? received : [{ message: value, kind: received }]) {
      const mayConcern =
        (isResponse(message, kind) && isOurs(message.id)) ||
        (isNotification(message, kind) && forwarded.has(message.method))
      if (mayConcern && !link.concerns(message)) this.#publish({ for: sessionId, message })
    }
  }

  /** Takes over a session that another process opened, if it belongs to this caller. */
  async restore(id: string, request: CallRequest, attach: () => HttpSession): Promise<HttpSession | undefined> {
    const read: SessionRead = { id, isOutdated: false }
    this.#reads.add(read)
    try {
      let record = await this.#find(id)
      // A change that was announced meanwhile may be missing in the record, and without the session here nothing else applies it.
      for (let reads = 1; read.isOutdated && reads < maxUpdates; reads++) {
        read.isOutdated = false
        record = await this.#find(id)
      }
      if (!record || record.principal !== request.principal) return undefined
      // Another request may have restored it while we waited.
      return this.#sessions.get(id) ?? (await this.#attach(record, request, attach))
    } finally {
      this.#reads.delete(read)
    }
  }

  async #attach(record: SessionRecord, request: CallRequest, attach: () => HttpSession): Promise<HttpSession> {
    this.#sessions.makeRoom(accountOf(request))
    const session = attach()
    session.createdAt = record.createdAt
    // That is the clock of another process. When the record expires is unknown here, so the next request extends it.
    this.#touchedAt.set(session, Number.NEGATIVE_INFINITY)
    try {
      this.#endpoint.restoreSession(session.link, record.state)
    } catch (error) {
      await session.close()
      throw error
    }
    return session
  }

  /** The request was not executed yet, so a client can safely retry after a 503. */
  async #find(id: string): Promise<SessionRecord | undefined> {
    try {
      return await this.#store?.get(id)
    } catch (error) {
      this.#endpoint.reportError(error)
      const message = 'The session store is unavailable: try again later'
      throw new Refusal(503, refusedCode, message, null, { 'retry-after': '1' })
    }
  }

  async delete(session: HttpSession): Promise<void> {
    await this.#store?.delete(session.sessionId)
    this.#publish({ ended: session.sessionId })
  }

  close(): void {
    this.#stopListening?.()
    this.#bus?.close()
  }

  /** Tells the others where a client listens. Each message belongs on one stream, so only that process sends to it. */
  listening({ sessionId }: HttpSession, isListening: boolean): void {
    this.#publish(isListening ? { listens: sessionId } : { stopped: sessionId })
  }

  /** Repeats the changes that no process sent, because none had the stream of the client. */
  catchUp({ link }: HttpSession): void {
    const missed = this.#recent.missed()
    if (!missed) this.#endpoint.tellSession(link, undefined)
    else for (const change of missed) this.#endpoint.tellSession(link, change)
  }

  /** Whether the process that opened a stream still sends on it. */
  isAnswered({ sessionId: session }: HttpSession, stream: string): Promise<boolean> {
    return this.#streamStatus.isOpen({ session, stream })
  }

  #answerStatus({ session, stream }: StreamName): void {
    if (parseStreamId(session, stream)?.node !== this.#streamNode()) return
    const isOpen = this.#sessions.get(session)?.answers(stream) ?? false
    this.#publish({ tells: { session, stream, isOpen } })
  }

  #changed(change: object, isOwn: boolean): void {
    this.#recent.add(change)
    if (!isOwn && !this.#isReceivingChange) this.#publish({ change })
  }

  #publish(message: ClusterMessage): void {
    this.#bus?.publish(message)
  }

  #received(message: ClusterMessage): void {
    if (message.change) return this.#receiveChange(message.change)
    if (message.asks) return this.#answerStatus(message.asks)
    if (message.tells) return this.#streamStatus.answered(message.tells.stream, message.tells.isOpen)
    const { saved, ended, listens, stopped, for: recipient, unsent } = message
    const id = saved ?? ended ?? listens ?? stopped ?? recipient ?? unsent ?? ''
    if (saved !== undefined || ended !== undefined) {
      for (const read of this.#reads) if (read.id === id) read.isOutdated = true
    }
    const session = this.#sessions.get(id)
    if (!session) return
    if (recipient !== undefined) receiveForwarded(session, message.message)
    else if (ended !== undefined) void session.close()
    else if (saved !== undefined) this.#detached(() => this.#reload(session))
    else if (listens !== undefined) this.#handOver(session)
    else if (unsent !== undefined) for (const text of message.texts ?? []) session.sendText(text)
    else session.listensElsewhere = false
  }

  #handOver(session: HttpSession): void {
    const texts = session.listenedElsewhere()
    if (texts.length > 0) this.#publish({ unsent: session.sessionId, texts })
  }

  #receiveChange(change: object): void {
    this.#isReceivingChange = true
    try {
      this.#endpoint.changes.tell(change)
    } finally {
      this.#isReceivingChange = false
    }
  }

  async #reload(session: HttpSession): Promise<void> {
    const record = await this.#store?.get(session.sessionId)
    if (record) this.#endpoint.restoreSession(session.link, record.state, this.#recent.latest())
  }

  #detached(work: () => unknown): void {
    void runDetached(work, (error) => this.#endpoint.reportError(error))
  }
}

interface SessionRead {
  readonly id: string
  /** Another process changed or ended the session since it was read. */
  isOutdated: boolean
}

/** Receives a message that another process checked and forwarded. A response is ours only if we sent the request. */
function receiveForwarded({ link }: HttpSession, message: unknown): void {
  const kind = classify(message)
  const isForUs = isNotification(message, kind) || (isResponse(message, kind) && link.concerns(message))
  if (isForUs) link.receive(message, undefined, kind)
}

/** The processes of a cluster number their requests from random positive integers. */
function isOurs(id: unknown): boolean {
  return Number.isSafeInteger(id) && Number(id) > 0
}
