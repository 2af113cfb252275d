import { clock } from '../../util/clock.ts'
import type { SessionRecord, SessionStore } from '../ports.ts'

/** Options of `MemorySessionStore`. */
export interface MemorySessionStoreOptions {
  /** Maximum number of sessions. Beyond it the least recently used session is removed. Default 10,000. */
  maxSessions?: number | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/**
 * Keeps sessions in the memory of this process. They are lost when it exits. Expired ones are removed on access,
 * without timers.
 */
export class MemorySessionStore implements SessionStore {
  readonly #maxSessions: number
  readonly #now: () => number
  /** Least recently used first. If all sessions have the same time to live, this is also the order of expiry. */
  readonly #sessions = new Map<string, StoredSession>()

  constructor(options: MemorySessionStoreOptions = {}) {
    this.#maxSessions = options.maxSessions ?? 10_000
    this.#now = options.now ?? (() => clock.now())
  }

  /** Number of sessions, including expired ones that were not removed yet. */
  get size(): number {
    return this.#sessions.size
  }

  get(id: string): SessionRecord | undefined {
    const session = this.#find(id)
    return session && JSON.parse(session.json)
  }

  set(record: SessionRecord, ttlMs: number): void {
    const json = JSON.stringify(record)
    this.#sessions.delete(record.id)
    this.#sweep()
    this.#sessions.set(record.id, { json, expiresAt: this.#now() + ttlMs })
  }

  replace(record: SessionRecord, ttlMs: number, before: SessionRecord): boolean {
    if (this.#find(record.id)?.json !== JSON.stringify(before)) return false
    this.set(record, ttlMs)
    return true
  }

  touch(id: string, ttlMs: number): boolean {
    const session = this.#find(id)
    if (!session) return false
    session.expiresAt = this.#now() + ttlMs
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return true
  }

  delete(id: string): boolean {
    return this.#find(id) !== undefined && this.#sessions.delete(id)
  }

  #find(id: string): StoredSession | undefined {
    const session = this.#sessions.get(id)
    if (!session || this.#now() < session.expiresAt) return session
    this.#sessions.delete(id)
    return undefined
  }

  /** Removes expired sessions and makes room for one more. Stops at the first live session, so that it stays cheap. */
  #sweep(): void {
    const now = this.#now()
    for (const [id, { expiresAt }] of this.#sessions) {
      if (now < expiresAt && this.#sessions.size < this.#maxSessions) return
      this.#sessions.delete(id)
    }
  }
}

interface StoredSession {
  /** Stored as text, because that is a copy which callers cannot change. */
  readonly json: string
  expiresAt: number
}
