import { classify, isNotification, isResponse } from '../../../../jsonrpc/message.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import type { Bus, SessionRecord, SessionStore } from '../../../../store/ports.ts'
import { accountOf } from '../../../../util/account.ts'
import { clock } from '../../../../util/clock.ts'
import { lazy } from '../../../../util/lazy.ts'
import { isObject } from '../../../../util/objects.ts'
import { random } from '../../../../util/random.ts'
import { runDetached } from '../../../../util/run-detached.ts'
import { scheduler } from '../../../../util/scheduler.ts'
import type { CallRequest } from '../call.ts'
import { Refusal, refusedCode } from '../call.ts'
import type { HttpOptions } from '../options.ts'
import { parseStreamId } from '../streams/stream-id.ts'
import type { HttpSession } from './session.ts'
import type { SessionTable } from './session-table.ts'

const topic = 'tenon'

/** One of these is there, beside whom it comes from. */
interface BusMessage {
  node: string
  change?: object
  /** Sessions, by id: its state was saved, it was ended, its client listens there, or no longer does. */
  saved?: string
  ended?: string
  listens?: string
  stopped?: string
  /** A message of the client of this session that came to the wrong process, or concerns several. */
  for?: string
  message?: unknown
  /** Messages for the client of this session, from before it listened, for the process where it does now. */
  unsent?: string
  texts?: string[]
  /** Asks the process that opened a stream of a session whether it still sends on it. */
  asks?: StreamName
  /** Answers such a question. */
  tells?: StreamName & { isOpen: boolean }
}

interface StreamName {
  session: string
  stream: string
}

interface RecentChange {
  readonly change: object
  readonly at: number
}

/** How long a process has to say whether it still answers a request, and how often it is asked. */
const answerMs = 1_000
const maxQuestions = 3

/** How often a change of a session is tried that other processes change at the same time. */
const maxTries = 20

/** Changes that are repeated to a client whose stream was with no process for a while. */
const recentMs = 60_000
const maxRecent = 1_000

/** A client comes back within this time. A process that is younger may not have heard of all that the client missed. */
const returnMs = 10_000

/** Beside answers: what a client says of its own requests, of ours, and of what we may remember. */
const forwarded: ReadonlySet<unknown> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
])

/** After these a session is no longer what it was. */
const changing: ReadonlySet<unknown> = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/**
 * What processes that serve the same share: sessions by a store, so that any of them can answer any request; changes by a
 * bus, so that clients hear of them wherever they are connected.
 */
export class Cluster {
  readonly #endpoint: Endpoint
  readonly #sessions: SessionTable
  readonly #store: SessionStore | undefined
  readonly #bus: Bus | undefined
  /** What the ids of our streams say of us. */
  readonly #streamNode: () => string
  /** Tells our own messages from those of others. */
  readonly #node = lazy(() => random.uuid())
  readonly #touched = new WeakMap<HttpSession, number>()
  readonly #recent = new Map<string, RecentChange>()
  /** Those who wait to hear whether a stream is still being sent on, by its id. */
  readonly #asking = new Map<string, Set<(isOpen: boolean) => void>>()
  readonly #startedAt = clock.now()
  #stopChanges: (() => void) | undefined
  #stopHearing: (() => void) | undefined
  #isClosed = false
  #isTelling = false

  /** Undefined when nothing is shared. */
  static of(
    endpoint: Endpoint,
    { sessionStore, bus }: HttpOptions,
    sessions: SessionTable,
    streamNode: () => string,
  ): Cluster | undefined {
    return sessionStore || bus ? new Cluster(endpoint, sessions, streamNode, sessionStore, bus) : undefined
  }

  private constructor(
    endpoint: Endpoint,
    sessions: SessionTable,
    streamNode: () => string,
    store: SessionStore | undefined,
    bus: Bus | undefined,
  ) {
    this.#endpoint = endpoint
    this.#sessions = sessions
    this.#streamNode = streamNode
    this.#store = store
    this.#bus = bus
    if (!bus) return
    this.#stopChanges = endpoint.changes.on((change) => this.#changed(change))
    void runDetached(async () => {
      this.#stopHearing = await bus.subscribe(topic, (message) => this.#heard(message))
      if (this.#isClosed) this.#stopHearing()
    }, endpoint.reportError)
  }

  /** Whether the others hear what comes here. */
  get forwards(): boolean {
    return this.#bus !== undefined
  }

  changesSession(value: unknown): boolean {
    if (!this.#store) return false
    return Array.isArray(value)
      ? value.some((member) => this.changesSession(member))
      : isObject(value) && changing.has(value.method)
  }

  /**
   * Says that a session is in use, so that it stays; false when it was ended elsewhere. By a bus we hear of that at once;
   * without one the store is asked each time.
   */
  use(session: HttpSession): boolean | Promise<boolean> {
    const store = this.#store
    if (!store) return true
    if (!this.#bus) return this.#isThere(store, session)
    const now = clock.now()
    if (now - (this.#touched.get(session) ?? session.createdAt) < this.#sessions.idleMs / 4) return true
    this.#touched.set(session, now)
    void runDetached(
      () => store.touch(session.sessionId, this.#sessions.idleMs),
      (error) => this.#endpoint.reportError(error),
    )
    return true
  }

  async #isThere(store: SessionStore, session: HttpSession): Promise<boolean> {
    const isThere = await store.touch(session.sessionId, this.#sessions.idleMs)
    if (!isThere) await session.close()
    return isThere
  }

  /** Keeps what the session is now, if this message may have changed it. */
  async save(session: HttpSession, value: unknown): Promise<void> {
    const store = this.#store
    if (!store || !this.changesSession(value)) return
    // Found out now: another process may change the session here while the store is asked.
    const change = this.#endpoint.saveSession(session.link, value)
    if (!change) return
    await this.#update(store, session, change)
    this.#publish({ saved: session.sessionId })
  }

  /** Processes that change a session at the same time must not undo what the others did. */
  async #update(store: SessionStore, session: HttpSession, change: (before: unknown) => unknown): Promise<void> {
    const { sessionId: id, principal, createdAt, link } = session
    for (let tries = 1; ; tries++) {
      const before = await store.get(id)
      const state = change(before?.state)
      const record = { id, createdAt, state, ...(principal !== undefined && { principal }) }
      if (!before || !store.replace || tries === maxTries) await store.set(record, this.#sessions.idleMs)
      else if (!(await store.replace(record, this.#sessions.idleMs, before))) continue
      if (before) this.#endpoint.restoreSession(link, state)
      return
    }
  }

  /** A client answers wherever it is led to; the process that asked may be another. */
  forward({ sessionId, link }: HttpSession, value: unknown): void {
    if (!this.#bus) return
    for (const message of Array.isArray(value) ? value : [value]) {
      if (!isObject(message)) continue
      const isWanted = message.method === undefined ? isOurs(message.id) : forwarded.has(message.method)
      if (isWanted && !link.concerns(message as never)) this.#publish({ for: sessionId, message })
    }
  }

  /** Takes over a session that another process opened, if it belongs to this caller. */
  async restore(id: string, request: CallRequest, attach: () => HttpSession): Promise<HttpSession | undefined> {
    const record = await this.#find(id)
    if (!record || record.principal !== request.principal) return undefined
    // Another request may have brought it here while we waited.
    const present = this.#sessions.get(id)
    if (present) return present
    this.#sessions.makeRoom(accountOf(request))
    const session = attach()
    session.createdAt = record.createdAt
    try {
      this.#endpoint.restoreSession(session.link, record.state)
    } catch (error) {
      await session.close()
      throw error
    }
    return session
  }

  /** Nothing was carried out yet, so the client may come again whatever it asks for. */
  async #find(id: string): Promise<SessionRecord | undefined> {
    try {
      return await this.#store?.get(id)
    } catch (error) {
      this.#endpoint.reportError(error)
      const message = 'The session cannot be looked up at the moment: try again'
      throw new Refusal(503, refusedCode, message, null, { 'retry-after': '1' })
    }
  }

  async delete(session: HttpSession): Promise<void> {
    await this.#store?.delete(session.sessionId)
    this.#publish({ ended: session.sessionId })
  }

  close(): void {
    this.#isClosed = true
    this.#stopChanges?.()
    this.#stopHearing?.()
  }

  /** Each message belongs on one stream, so only the process where the client listened last tells it anything. */
  listening({ sessionId }: HttpSession, isListening: boolean): void {
    this.#publish(isListening ? { listens: sessionId } : { stopped: sessionId })
  }

  /** Repeats what the client may have missed: changes were told to nobody while no process had its stream. */
  catchUp({ link }: HttpSession): void {
    const now = clock.now()
    if (now - this.#startedAt < returnMs) return this.#endpoint.tellSession(link, undefined)
    for (const { change, at } of this.#recent.values()) {
      if (now - at < recentMs) this.#endpoint.tellSession(link, change)
    }
  }

  /** Whether the process that opened the stream says that it still sends on it. */
  async isAnswered({ sessionId: session }: HttpSession, stream: string): Promise<boolean> {
    for (let asked = 0; asked < maxQuestions; asked++) {
      const isOpen = await this.#ask({ session, stream })
      if (isOpen !== undefined) return isOpen
    }
    return false
  }

  #ask(asks: StreamName): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#asking.get(asks.stream) ?? new Set()
      this.#asking.set(asks.stream, waiting)
      const finish = (isOpen: boolean | undefined) => {
        scheduler.clearTimeout(timer)
        waiting.delete(finish)
        if (waiting.size === 0) this.#asking.delete(asks.stream)
        resolve(isOpen)
      }
      const timer = scheduler.setTimeout(() => finish(undefined), answerMs)
      waiting.add(finish)
      this.#publish({ asks })
    })
  }

  #answer({ session, stream }: StreamName): void {
    if (parseStreamId(session, stream)?.node !== this.#streamNode()) return
    const isOpen = this.#sessions.get(session)?.answers(stream) ?? false
    this.#publish({ tells: { session, stream, isOpen } })
  }

  #changed(change: object): void {
    this.#remember(change)
    if (!this.#isTelling) this.#publish({ change })
  }

  /** The newest come last, so that the oldest are forgotten first. */
  #remember(change: object): void {
    const key = JSON.stringify(change)
    this.#recent.delete(key)
    this.#recent.set(key, { change, at: clock.now() })
    if (this.#recent.size > maxRecent) this.#recent.delete(this.#recent.keys().next().value!)
  }

  #publish(message: object): void {
    if (!this.#bus) return
    const bus = this.#bus
    void runDetached(
      () => bus.publish(topic, JSON.stringify({ node: this.#node(), ...message })),
      (error) => this.#endpoint.reportError(error),
    )
  }

  #heard(text: string): void {
    const message = readMessage(text)
    if (!message || message.node === this.#node()) return
    if (message.change) return this.#tell(message.change)
    if (message.asks) return this.#answer(message.asks)
    if (message.tells) {
      const { stream, isOpen } = message.tells
      for (const finish of this.#asking.get(stream) ?? []) finish(isOpen)
      return
    }
    const id =
      message.saved ?? message.ended ?? message.listens ?? message.stopped ?? message.for ?? message.unsent ?? ''
    const session = this.#sessions.get(id)
    if (!session) return
    if (message.for !== undefined) this.#receive(session, message.message)
    else if (message.ended !== undefined) void session.close()
    else if (message.saved !== undefined) void runDetached(() => this.#reload(session), this.#endpoint.reportError)
    else if (message.listens !== undefined) this.#handOver(session)
    else if (message.unsent !== undefined) for (const text of message.texts ?? []) session.sendText(text)
    else session.listensElsewhere = false
  }

  /** What another process checked and passed on; it is ours only if we asked, or are doing what it is about. */
  #receive({ link }: HttpSession, message: unknown): void {
    const kind = classify(message)
    const isForUs = isNotification(message, kind) || (isResponse(message, kind) && link.concerns(message))
    if (isForUs) link.receive(message, undefined, kind)
  }

  #handOver(session: HttpSession): void {
    const texts = session.listenedElsewhere()
    if (texts.length > 0) this.#publish({ unsent: session.sessionId, texts })
  }

  #tell(change: object): void {
    this.#isTelling = true
    try {
      this.#endpoint.changes.tell(change)
    } finally {
      this.#isTelling = false
    }
  }

  async #reload(session: HttpSession): Promise<void> {
    const record = await this.#store?.get(session.sessionId)
    if (record) this.#endpoint.restoreSession(session.link, record.state)
  }
}

/** Processes of a fleet number their questions from random beginnings; an answer to anything else is to nobody. */
function isOurs(id: unknown): boolean {
  return Number.isSafeInteger(id) && (id as number) > 0
}

/** Others may use the same bus. */
function readMessage(text: string): BusMessage | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return isObject(message) ? (message as unknown as BusMessage) : undefined
  } catch {
    return undefined
  }
}
