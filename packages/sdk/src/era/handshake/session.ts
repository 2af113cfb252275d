import type { RpcNotification } from '../../jsonrpc/message.ts'
import type { Caller } from '../../protocol/caller.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../../protocol/capabilities.ts'
import type { LoggingLevel } from '../../protocol/logging.ts'
import type { Revision, RevisionId } from '../../protocol/revision.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { Granted } from '../access.ts'
import type { UriSet } from '../subscribed-uris.ts'
import type { SessionCache } from './conversation.ts'
import { PendingChanges } from './pending-changes.ts'

/** Messages queued until the client sends `notifications/initialized`. Beyond that the oldest are dropped. */
const maxQueued = 100

const maxHoldMs = 5_000

/** The result of `initialize`, for as long as the link is open. It is the caller of every later request. */
export class Session implements Caller, SessionCache {
  readonly revision: RevisionId
  readonly rules: Revision
  readonly clientInfo: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The capabilities in the result of `initialize`. Features that are registered later are not announced. */
  readonly declared: ServerCapabilities
  subscriptions: UriSet | undefined
  /** The scopes of the client's last `resources/subscribe`. It gets no updates of resources it may not read. */
  granted: Granted = []
  /** Whether a subscription of this process set `granted`, and may not be stored yet. */
  hasUnsavedGranted = false
  /** Until `logging/setLevel` the server chooses the level (2025-11-25 logging). Undefined if logging is not declared. */
  logLevel: LoggingLevel | undefined
  /** Whether the client sent `notifications/initialized`. Until then it gets responses only. */
  initialized = false
  /** Sent after `notifications/initialized`. */
  #queued: ((session: Session) => void)[] | undefined
  stopListening: (() => void) | undefined
  /** The version of the stored state that this session has. */
  version = 0
  /** Survives a change of the session by another process, because the messages are still being handled. */
  pending = new PendingChanges()
  /** A stored state that was applied only in part, because changes were pending. */
  deferred: StoredSession | undefined
  /** Survives a change of the session by another process, because running handlers refer to it. */
  readonly cache: SessionCache['cache']
  readonly canAnswer: boolean
  /** Whether questions wait for `notifications/initialized`. */
  holdsQuestions = false

  constructor(
    revision: Revision,
    client: Pick<Partial<Caller>, 'clientInfo' | 'capabilities'>,
    declared: ServerCapabilities,
    canAnswer: boolean,
    cache: SessionCache['cache'] = {},
  ) {
    this.canAnswer = canAnswer
    this.cache = cache
    this.revision = revision.id
    this.rules = revision
    this.clientInfo = client.clientInfo
    this.capabilities = client.capabilities ?? {}
    this.declared = declared
    this.logLevel = declared.logging ? 'info' : undefined
  }

  /** Queues a message: the client may be ready before its notification arrives, so nothing may be lost. */
  whenInitialized(send: (session: Session) => void): void {
    this.#queued ??= []
    if (this.#queued.length >= maxQueued) this.#queued.shift()
    this.#queued.push(send)
  }

  /** Some clients never confirm the handshake, so a question does not wait for long. */
  get ready(): Promise<unknown> | undefined {
    if (this.initialized || !this.holdsQuestions) return undefined
    return new Promise((resolve) => {
      this.whenInitialized(resolve)
      scheduler.unref(scheduler.setTimeout(resolve, maxHoldMs))
    })
  }

  /** Replaces a session after another process changed it. Changes that are not stored yet are kept. */
  takeOver(before: Session, stored: StoredSession): void {
    const { pending } = before
    this.#queued = before.#queued
    this.pending = pending
    this.subscriptions = before.subscriptions
    if (pending.hasLogLevel) this.logLevel = before.logLevel
    if (pending.size === 0) return
    this.deferred = stored
    if (!before.hasUnsavedGranted) return
    this.granted = before.granted
    this.hasUnsavedGranted = true
  }

  /**
   * Makes the subscriptions those of a stored state, except the ones that are being changed. They are not replaced as a whole,
   * because each may have to be confirmed by someone else.
   * @returns The resources that were added.
   */
  updateSubscriptions(subscriptions: UriSet, stored: ReadonlySet<string>): Set<string> {
    const added = new Set<string>()
    this.subscriptions = subscriptions
    for (const uri of subscriptions.values()) {
      if (!stored.has(uri) && !this.pending.hasUri(uri)) subscriptions.delete(uri)
    }
    for (const uri of stored) {
      if (subscriptions.has(uri) || this.pending.hasUri(uri)) continue
      // The client was told before that it is subscribed. Whoever follows subscriptions reports what fails now.
      subscriptions.add(uri, true)
      added.add(uri)
    }
    return added
  }

  /** Of a state that was read from the store and those that were applied before: the newest that has something to apply. */
  newest(stored: StoredSession): StoredSession | undefined {
    return (stored.version ?? 0) < this.version ? this.deferred : stored
  }

  /** Called when the client sent `notifications/initialized`. */
  start(): void {
    this.initialized = true
    const queued = this.#queued ?? []
    this.#queued = undefined
    for (const send of queued) send(this)
  }
}

/** A session as it is stored for other processes. */
export interface StoredSession extends Pick<Session, 'capabilities' | 'declared'> {
  revision: string
  /** Incremented by every change. States can be read in another order than they were stored. */
  version?: number
  clientInfo?: Implementation
  logLevel?: LoggingLevel
  initialized: boolean
  subscriptions: string[]
  granted: Granted
}

export function toStored(session: Session): StoredSession {
  const { revision, version, capabilities, clientInfo, declared, logLevel, initialized, granted } = session
  return {
    revision,
    version,
    capabilities,
    declared,
    ...(clientInfo && { clientInfo }),
    ...(logLevel && { logLevel }),
    initialized,
    subscriptions: session.subscriptions?.values() ?? [],
    granted,
  }
}

/**
 * Applies the effect of a message that succeeded to the stored session.
 * @param now The session in this process after the message.
 * @param granted The scopes of the latest subscription of this process. Use them only if the message subscribes.
 */
export function applyMessage(
  state: StoredSession,
  { method, params }: RpcNotification,
  now: StoredSession,
  granted: Granted,
): StoredSession {
  if (method === 'notifications/initialized') return { ...state, initialized: now.initialized }
  if (method === 'logging/setLevel') return { ...state, ...(now.logLevel && { logLevel: now.logLevel }) }
  if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return state
  const subscriptions = state.subscriptions.filter((uri) => uri !== params?.uri)
  const isSubscribed = now.subscriptions.includes(params?.uri as string)
  if (!isSubscribed) return { ...state, subscriptions }
  const subscribed = { ...state, subscriptions: [...subscriptions, params?.uri as string] }
  // Updates of guarded resources depend on the scopes of the token that subscribed last.
  return method === 'resources/subscribe' ? { ...subscribed, granted } : subscribed
}
