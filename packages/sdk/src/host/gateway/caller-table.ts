import type { Call } from '../../era/call.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Context } from '../../server/context.ts'
import type { Approve } from '../action.ts'
import type { Host } from '../host.ts'
import { type Ability, abilities, busy, CallerSession } from './caller-session.ts'
import { anonymous, authOf, identityOf } from './identity.ts'
import type { UserTokens } from './options.ts'

export interface CallerTableOptions {
  readonly host: Host
  readonly approve: Approve | undefined
  readonly maxCallers: number
  readonly userTokens: UserTokens
  /** Sends a log message that belongs to no call to the session of a caller. */
  log(link: Call['link'], message: LoggingMessageParams): void
  onError(error: unknown): void
}

/** A session, until `release` is called. */
export interface AcquiredSession {
  readonly session: CallerSession
  release(): void
}

/** How many sessions without connections are kept for the next call. */
const maxUnconnected = 200

/** The sessions of callers. Callers without identity and session never share one at the same time. */
export class CallerTable {
  readonly #options: CallerTableOptions
  /** By identity; users of 2026-07-28 have one for each set of abilities (and of scopes), because each request has its own. */
  readonly #sessions = new Map<string, CallerSession>()
  /** Sessions that wait for the next anonymous caller, and those that have one. */
  readonly #anonymous = new Set<CallerSession>()
  readonly #busy = new Set<CallerSession>()
  /** The same for calls to servers that all callers share. They hold no connections, so they do not count. */
  readonly #unconnected = new Set<CallerSession>()

  readonly #hasUserTokens: boolean

  constructor(options: CallerTableOptions) {
    this.#options = options
    this.#hasUserTokens = Object.keys(options.userTokens).length > 0
  }

  /**
   * Returns a session of a caller for a call to a server that all callers share. Anonymous callers do not share it either:
   * what one of them read must not count as known to the next.
   */
  acquireUnconnected(ctx: Context): AcquiredSession {
    const own = this.find(ctx)
    if (own) return { session: own, release: () => {} }
    const can = abilitiesOf(ctx)
    const session = take(this.#unconnected, can) ?? this.#create(anonymous, can, true)
    session.touch(ctx.call)
    return {
      session,
      release: () => {
        session.host.forget()
        if (this.#unconnected.size < maxUnconnected) this.#unconnected.add(session)
        else session.host.close().catch(this.#options.onError)
      },
    }
  }

  /** Returns the session of a caller. Call `release` when it is not needed any more. */
  acquire(ctx: Context): AcquiredSession {
    const own = this.find(ctx)
    if (own) return { session: own, release: () => {} }
    const session = this.#takeAnonymous(ctx)
    session.touch(ctx.call)
    this.#busy.add(session)
    return {
      session,
      release: () => {
        // It is closed if the table was closed meanwhile.
        if (!this.#busy.delete(session)) return
        session.host.forget()
        this.#anonymous.add(session)
      },
    }
  }

  /** The session of a caller with an identity; undefined for others. */
  find(ctx: Context): CallerSession | undefined {
    const identity = identityOf(ctx.call)
    if (identity === anonymous) return undefined
    const can = abilitiesOf(ctx)
    const prefix = this.#prefixOf(ctx.call)
    const session = this.#get(isUser(identity) ? `${prefix}\n${can.join()}` : prefix, can)
    session.touch(ctx.call)
    return session
  }

  /** Tokens of one user may permit different things. What a server gets for one of them must not be used for another. */
  #prefixOf(call: Pick<Call, 'link' | 'stream'>): string {
    const identity = identityOf(call)
    if (!isUser(identity) || !this.#hasUserTokens) return identity
    const { clientId, scopes = [] } = authOf(call) ?? {}
    return `${identity}\n${JSON.stringify([clientId, [...scopes].sort()])}`
  }

  /**
   * The session that holds the subscriptions of a caller: the one that its calls use, if there is any, because some servers
   * send updates only on the connection that caused them.
   */
  forSubscriptions(call: Pick<Call, 'link' | 'stream'>): CallerSession {
    const prefix = this.#prefixOf(call)
    const ofCalls = [...this.#sessions].find(([key]) => key === prefix || key.startsWith(`${prefix}\n`))
    const session = ofCalls?.[1] ?? this.#get(subscriptionsKey(prefix), [])
    // A session subscribes with its first request for ever; its calls have newer tokens.
    if (!ofCalls || isUser(prefix)) session.touch(call)
    return session
  }

  /** The session or connection of a caller has ended. What it began may still run, for example as a task. */
  left(link: Call['link']): void {
    const identity = identityOf({ stream: undefined, link })
    for (const key of [identity, subscriptionsKey(identity)]) {
      const session = this.#sessions.get(key)
      session?.whenUnused(() => this.#remove(session))
    }
  }

  /** Closes all sessions, also those with calls. The next caller gets a new one. */
  async close(): Promise<void> {
    const all = [...this.#sessions.values(), ...this.#anonymous, ...this.#busy, ...this.#unconnected]
    this.#sessions.clear()
    this.#unconnected.clear()
    this.#anonymous.clear()
    this.#busy.clear()
    await Promise.all(all.map(({ host }) => host.close()))
  }

  #get(key: string, can: readonly Ability[]): CallerSession {
    const known = this.#sessions.get(key)
    if (!known) this.#makeRoom()
    const found = known ?? this.#create(key, can, false)
    // The order of the map is the order of use.
    this.#sessions.delete(key)
    this.#sessions.set(key, found)
    return found
  }

  /** A connection serves one anonymous call at a time, so that a question cannot reach another caller. */
  #takeAnonymous(ctx: Context): CallerSession {
    const can = abilitiesOf(ctx)
    const waiting = take(this.#anonymous, can)
    if (waiting) return waiting
    this.#makeRoom()
    return this.#create(anonymous, can, true)
  }

  #create(key: string, can: readonly Ability[], isAnonymous: boolean): CallerSession {
    const { host, approve, userTokens, log } = this.#options
    const [caller = key] = key.split('\n')
    return new CallerSession(host, { caller, abilities: can, approve, userTokens, isAnonymous, log })
  }

  /** Closes sessions that are not in use. Throws if all are, because each may have a process for every server. */
  #makeRoom(): void {
    const { maxCallers } = this.#options
    while (this.#sessions.size + this.#anonymous.size + this.#busy.size >= maxCallers) {
      const [waiting] = this.#anonymous
      const unused = waiting ?? [...this.#sessions.values()].find(({ isBusy }) => !isBusy)
      if (!unused) throw busy(`The gateway serves ${maxCallers} callers (maxCallers)`)
      this.#remove(unused)
    }
  }

  #remove(session: CallerSession): void {
    this.#anonymous.delete(session)
    for (const [key, other] of this.#sessions) if (other === session) this.#sessions.delete(key)
    session.host.close().catch(this.#options.onError)
  }
}

/** Takes a session of a caller that could be asked the same. */
function take(sessions: Set<CallerSession>, can: readonly Ability[]): CallerSession | undefined {
  for (const session of sessions) {
    if (String(session.abilities) !== String(can)) continue
    sessions.delete(session)
    return session
  }
  return undefined
}

function subscriptionsKey(identity: string): string {
  return `${identity}\nsubscriptions`
}

function isUser(identity: string): boolean {
  return identity.startsWith('user ')
}

function abilitiesOf(ctx: Context): Ability[] {
  return abilities.filter((ability) => ctx.can(ability))
}
