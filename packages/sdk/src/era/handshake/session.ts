import type { RpcNotification } from '../../jsonrpc/message.ts'
import type { Caller } from '../../protocol/caller.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../../protocol/capabilities.ts'
import type { LoggingLevel } from '../../protocol/logging.ts'
import type { Revision, RevisionId } from '../../protocol/revision.ts'
import type { Granted } from '../access.ts'
import type { UriSet } from '../subscribed-uris.ts'
import type { RootsCache } from './conversation.ts'

/** Messages queued until the client sends `notifications/initialized`. Beyond that the oldest are dropped. */
const maxQueued = 100

/** The result of `initialize`, for as long as the link is open. It is the caller of every later request. */
export class Session implements Caller, RootsCache {
  readonly revision: RevisionId
  readonly rules: Revision
  readonly clientInfo: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The capabilities in the result of `initialize`. Features that are registered later are not announced. */
  readonly declared: ServerCapabilities
  subscriptions: UriSet | undefined
  /** The scopes of the client's last `resources/subscribe`. It gets no updates of resources it may not read. */
  granted: Granted = []
  /** Until `logging/setLevel` the server chooses the level (2025-11-25 logging). Undefined if logging is not declared. */
  logLevel: LoggingLevel | undefined
  /** Whether the client sent `notifications/initialized`. Until then it gets responses only. */
  initialized = false
  /** Sent after `notifications/initialized`. */
  #queued: ((session: Session) => void)[] | undefined
  stopListening: (() => void) | undefined
  /** Survives a change of the session by another process, because running handlers refer to it. */
  readonly cache: RootsCache['cache']
  readonly canAnswer: boolean

  constructor(
    revision: Revision,
    client: Pick<Partial<Caller>, 'clientInfo' | 'capabilities'>,
    declared: ServerCapabilities,
    canAnswer: boolean,
    cache: RootsCache['cache'] = {},
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

  /** Takes over the queue of the session that this one replaces. */
  takeOver(before: Session): void {
    this.#queued = before.#queued
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
  clientInfo?: Implementation
  logLevel?: LoggingLevel
  initialized: boolean
  subscriptions: string[]
  granted: Granted
}

export function toStored(session: Session): StoredSession {
  const { revision, capabilities, clientInfo, declared, logLevel, initialized, granted } = session
  return {
    revision,
    capabilities,
    declared,
    ...(clientInfo && { clientInfo }),
    ...(logLevel && { logLevel }),
    initialized,
    subscriptions: session.subscriptions?.values() ?? [],
    granted,
  }
}

/** Applies the effect of a message to the stored session. `now` is the session in this process after the message. */
export function applyMessage(
  state: StoredSession,
  { method, params }: RpcNotification,
  now: StoredSession,
): StoredSession {
  if (method === 'notifications/initialized') return { ...state, initialized: now.initialized }
  if (method === 'logging/setLevel') return { ...state, ...(now.logLevel && { logLevel: now.logLevel }) }
  if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return state
  const subscriptions = state.subscriptions.filter((uri) => uri !== params?.uri)
  const isSubscribed = now.subscriptions.includes(params?.uri as string)
  if (!isSubscribed) return { ...state, subscriptions }
  // Updates of guarded resources depend on the scopes of the token that subscribed last.
  return { ...state, subscriptions: [...subscriptions, params?.uri as string], granted: now.granted }
}
