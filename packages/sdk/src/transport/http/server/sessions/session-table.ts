import { type Account, AccountCounter } from '../../../../util/account.ts'
import { clock } from '../../../../util/clock.ts'
import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import { warnOnce } from '../../../../util/warn.ts'
import { Refusal, refusedCode } from '../call.ts'
import type { HttpSession } from './session.ts'

/** Limits for sessions of the handshake era. */
export interface SessionLimits {
  /** How long an unused session lives. Default 1,800,000 (30 minutes). */
  sessionIdleMs?: number | undefined
  /** How long a session lives even if it is in use; its streams end with it. Default: no limit. */
  sessionMaxMs?: number | undefined
  /** Open sessions of all callers. Default 10,000. */
  maxSessions?: number | undefined
  /** Open sessions of one principal. Default 100. */
  maxSessionsPerPrincipal?: number | undefined
  /** Open sessions of anonymous callers from one address; see `clientAddress`. Default 1,000. */
  maxSessionsPerAddress?: number | undefined
}

/** Numbers about the sessions of a handler. */
export interface SessionMetrics {
  /** Open now. */
  readonly open: number
  /** Opened since the start. */
  readonly opened: number
  /** Ended because they were unused or too old. */
  readonly expired: number
  /** Refused because a limit was reached. */
  readonly refused: number
}

/** A session that was used within this time is never evicted for a new one. */
const evictableAfterMs = 60_000

/** The open sessions of one handler. Ends idle sessions and enforces the limits. */
export class SessionTable {
  readonly #limits: Required<SessionLimits>
  readonly #open = new Map<string, HttpSession>()
  readonly #perAccount = new AccountCounter()
  #opened = 0
  #expired = 0
  #refused = 0
  #timer: Timer | undefined

  constructor({
    sessionIdleMs = 1_800_000,
    sessionMaxMs = Number.POSITIVE_INFINITY,
    maxSessions = 10_000,
    maxSessionsPerPrincipal = 100,
    maxSessionsPerAddress = 1_000,
  }: SessionLimits) {
    this.#limits = { sessionIdleMs, sessionMaxMs, maxSessions, maxSessionsPerPrincipal, maxSessionsPerAddress }
  }

  get idleMs(): number {
    return this.#limits.sessionIdleMs
  }

  get metrics(): SessionMetrics {
    return { open: this.#open.size, opened: this.#opened, expired: this.#expired, refused: this.#refused }
  }

  all(): HttpSession[] {
    return [...this.#open.values()]
  }

  get(id: string): HttpSession | undefined {
    return this.#open.get(id)
  }

  /** Evicts the least recently used idle session if a limit is reached; throws a `Refusal` if there is none. */
  makeRoom(account: Account | undefined): void {
    const { maxSessions, maxSessionsPerPrincipal, maxSessionsPerAddress } = this.#limits
    const limit = account?.isAddress ? maxSessionsPerAddress : maxSessionsPerPrincipal
    if (this.#perAccount.of(account) >= limit && !this.#evict((session) => isSame(session.account, account))) {
      if (account?.isAddress) warnAboutProxy()
      this.#refuse(429)
    }
    if (this.#open.size >= maxSessions && !this.#evict(() => true)) this.#refuse(503)
  }

  add(session: HttpSession): void {
    this.#open.set(session.sessionId, session)
    this.#opened++
    this.#perAccount.add(session.account, 1)
    this.#timer ??= this.#startTimer()
  }

  delete(session: HttpSession): void {
    if (!this.#open.delete(session.sessionId)) return
    this.#perAccount.add(session.account, -1)
    if (this.#open.size > 0) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Ends sessions that are unused for too long or too old. */
  sweep(now = clock.now()): void {
    const { sessionIdleMs, sessionMaxMs } = this.#limits
    for (const session of this.all()) {
      session.isTooOld = now - session.createdAt >= sessionMaxMs
      if (!session.isTooOld && (now - session.lastSeen < sessionIdleMs || !session.idle)) continue
      this.#expired++
      void session.close()
    }
  }

  #startTimer(): Timer {
    const { sessionIdleMs, sessionMaxMs } = this.#limits
    const timer = scheduler.setInterval(
      () => this.sweep(),
      Math.max(10, Math.min(30_000, sessionIdleMs / 2, sessionMaxMs / 2)),
    )
    scheduler.unref(timer)
    return timer
  }

  #evict(among: (session: HttpSession) => boolean): boolean {
    let oldest: HttpSession | undefined
    for (const session of this.#open.values()) {
      if (session.idle && among(session) && !(oldest && oldest.lastSeen <= session.lastSeen)) oldest = session
    }
    if (!oldest || clock.now() - oldest.lastSeen < evictableAfterMs) return false
    this.#expired++
    void oldest.close()
    return true
  }

  #refuse(status: number): never {
    this.#refused++
    throw new Refusal(status, refusedCode, 'Too many sessions: try again later', null, { 'retry-after': '60' })
  }
}

function isSame(one: Account | undefined, other: Account | undefined): boolean {
  return one?.name === other?.name && one?.isAddress === other?.isAddress
}

function warnAboutProxy(): void {
  warnOnce(
    'sessions-per-address',
    'One address has reached maxSessionsPerAddress. If it is your proxy, set clientAddress to distinguish its clients.',
  )
}
