import type { Call } from '../../era/call.ts'
import type { Caller } from '../../protocol/caller.ts'
import { canAsk } from '../../protocol/input-check.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Context } from '../../server/context.ts'
import { type Account, AccountCounter, accountOf } from '../../util/account.ts'
import type { Approve } from '../action.ts'
import type { Host } from '../host.ts'
import { busy } from './busy.ts'
import { type Ability, abilities, CallerSession } from './caller-session.ts'
import { CallerTaints } from './caller-taints.ts'
import { anonymous, audienceOf, authOf, identityOf, recordedNameOf } from './identity.ts'
import type { UserTokens } from './options.ts'
import { Places } from './places.ts'

export interface CallerTableOptions {
  readonly host: Host
  readonly approve: Approve | undefined
  readonly maxCallers: number
  readonly userTokens: UserTokens
  /** Whether other nodes may serve the same callers. */
  readonly isOneOfSeveral: boolean
  /** Sends a log message that belongs to no call to the session of a caller. */
  log(link: Call['link'], message: LoggingMessageParams): void
  onError(error: unknown): void
}

/** A session, until `release` is called. */
export interface AcquiredSession {
  readonly session: CallerSession
  release(): void
}

type Source = Pick<Call, 'link' | 'stream'>

/** The session or stream that subscribes. */
export type Subscriber = Source & Pick<Context, 'caller'>

/** How many sessions without connections are kept for the next call. */
const maxUnconnected = 200

/** The sessions of callers. What a caller without identity used is closed afterwards: the next one is someone else. */
export class CallerTable {
  readonly #options: CallerTableOptions
  /** By identity; users of 2026-07-28 have one for each set of abilities (and of scopes), because each request has its own. */
  readonly #sessions = new Map<string, CallerSession>()
  /** One for each call of an anonymous caller that is open, or whose connections are being closed. */
  readonly #single = new Set<CallerSession>()
  /** Sessions for calls of anonymous callers to servers that all callers share. They hold no connections, so they do not count. */
  readonly #unconnected = new Set<CallerSession>()
  /** The same for the streams of anonymous callers. */
  readonly #streams = new Map<string, CallerSession>()
  readonly #places: Places
  readonly #hasUserTokens: boolean
  readonly #taints: CallerTaints

  constructor(options: CallerTableOptions) {
    this.#options = options
    this.#places = new Places(options.maxCallers)
    this.#hasUserTokens = Object.keys(options.userTokens).length > 0
    const { host, isOneOfSeveral } = options
    this.#taints = new CallerTaints({ ids: () => host.servers.map(({ id }) => id), isOneOfSeveral })
  }

  /**
   * Returns a session of a caller for a call to a server that all callers share. Anonymous callers do not share it either:
   * what one of them read must not count as known to the next.
   */
  acquireUnconnected(ctx: Context): AcquiredSession {
    const own = this.find(ctx)
    if (own) return { session: own, release: () => {} }
    const can = abilitiesOf(ctx.caller)
    const session = take(this.#unconnected, can) ?? this.#create({ source: ctx.call, caller: anonymous, can })
    session.touch(ctx.call)
    return {
      session,
      release: () => {
        session.host.forget()
        if (session.isClean && this.#unconnected.size < maxUnconnected) this.#unconnected.add(session)
        else this.#close(session)
      },
    }
  }

  /** Returns the session of a caller. Call `release` when it is not needed any more. */
  acquire(ctx: Context): AcquiredSession {
    const own = this.find(ctx)
    if (own) return { session: own, release: () => {} }
    const account = accountFor(ctx.call)
    this.#places.check(account)
    this.#makeRoom()
    const leave = this.#places.take(account)
    const session = this.#create({ source: ctx.call, caller: anonymous, can: abilitiesOf(ctx.caller), account })
    session.touch(ctx.call)
    this.#single.add(session)
    const release = async () => {
      // Until its processes have ended, it takes the place of another.
      await session.host.close().catch(this.#options.onError)
      this.#single.delete(session)
      leave()
    }
    return { session, release: () => void release() }
  }

  /** The session of a caller with an identity; undefined for others. */
  find(ctx: Context): CallerSession | undefined {
    const identity = identityOf(ctx.call)
    if (identity === anonymous) return undefined
    const session = this.#of(ctx.call, ctx.caller)
    session.touch(ctx.call)
    return session
  }

  /** Tokens of one user may permit different things. What a server gets for one of them must not be used for another. */
  #prefixOf(call: Source): string {
    const identity = identityOf(call)
    if (!isUser(identity) || !this.#hasUserTokens) return identity
    const { clientId, scopes = [] } = authOf(call) ?? {}
    return `${identity}\n${JSON.stringify([clientId, [...scopes].sort()])}`
  }

  /**
   * Returns the session for a subscription. Call `release` when the subscription has ended.
   *
   * @param isShared Whether all callers share the connection to the server.
   */
  subscribe(call: Subscriber, isShared: boolean): AcquiredSession {
    if (identityOf(call) !== anonymous) {
      const session = this.#forSubscriptions(call)
      return { session, release: session.useToSubscribe() }
    }
    const key = audienceOf(call)
    const session = isShared ? this.#stream(call, key) : this.#get(call, key, [])
    session.touch(call)
    const release = session.useToSubscribe()
    session.whenUnused(() => this.#remove(session))
    return { session, release }
  }

  /**
   * The session that holds the subscriptions of a caller: the one that its calls use, or will use, because some servers send
   * updates only on the connection that caused them.
   */
  #forSubscriptions(call: Subscriber): CallerSession {
    const prefix = this.#prefixOf(call)
    const ofCalls = [...this.#sessions].find(([key]) => key === prefix || key.startsWith(`${prefix}\n`))
    const session = ofCalls?.[1] ?? this.#of(call, call.caller)
    // A session subscribes with its first request for ever; its calls have newer tokens.
    if (!ofCalls || isUser(prefix)) session.touch(call)
    return session
  }

  #of(call: Source, caller: Caller): CallerSession {
    const can = abilitiesOf(caller)
    const prefix = this.#prefixOf(call)
    return this.#get(call, isUser(prefix) ? `${prefix}\n${can.join()}` : prefix, can)
  }

  /** One stream of an anonymous caller may be for many resources. */
  #stream(source: Source, key: string): CallerSession {
    const session = this.#streams.get(key) ?? this.#create({ source, caller: anonymous, can: [] })
    this.#streams.set(key, session)
    return session
  }

  /** The session or connection of a caller has ended. What it began may still run, for example as a task. */
  left(link: Call['link']): void {
    this.#taints.left(link)
    const identity = identityOf({ stream: undefined, link })
    const session = this.#sessions.get(identity)
    session?.whenUnused(() => this.#remove(session))
  }

  /** Closes all sessions, also those with calls. The next caller gets a new one. */
  async close(): Promise<void> {
    const tables = [this.#sessions, this.#streams, this.#single, this.#unconnected]
    const all = tables.flatMap((table) => [...table.values()])
    for (const table of tables) table.clear()
    await Promise.all(all.map(({ host }) => host.close()))
  }

  #get(source: Source, key: string, can: readonly Ability[]): CallerSession {
    const known = this.#sessions.get(key)
    if (!known) this.#makeRoom()
    const [caller = key] = key.split('\n')
    const account = accountFor(source)
    const found = known ?? this.#create({ source, caller, can, account, takePlace: () => this.#places.take(account) })
    // The order of the map is the order of use.
    this.#sessions.delete(key)
    this.#sessions.set(key, found)
    return found
  }

  /** @param takePlace Default: the session needs no place of its own, now or later. */
  #create({ source, caller, can, account, takePlace = () => () => {} }: NewSession): CallerSession {
    const { host, approve, userTokens, log } = this.#options
    const isAnonymous = caller.startsWith(anonymous)
    return new CallerSession(host, {
      caller: isAnonymous ? anonymous : recordedNameOf(source),
      abilities: can,
      approve,
      userTokens,
      isAnonymous,
      account,
      takePlace,
      taint: this.#taints.of(source),
      log,
    })
  }

  /** Closes sessions that are not in use. Throws if all are, because each may have a process for every server. */
  #makeRoom(): void {
    const { maxCallers } = this.#options
    while (this.#sessions.size + this.#single.size >= maxCallers) {
      const unused = this.#unused()
      if (!unused) throw busy(`The gateway serves ${maxCallers} callers (maxCallers)`)
      this.#remove(unused)
    }
  }

  /** The least recently used session of whoever has the most, so that opening many ends those of nobody else. */
  #unused(): CallerSession | undefined {
    const sessions = [...this.#sessions.values()]
    const counts = new AccountCounter()
    for (const { account } of sessions) counts.add(account, 1)
    let found: CallerSession | undefined
    for (const session of sessions) {
      if (!session.isBusy && (!found || counts.of(session.account) > counts.of(found.account))) found = session
    }
    return found
  }

  #remove(session: CallerSession): void {
    for (const table of [this.#sessions, this.#streams])
      for (const [key, other] of table) if (other === session) table.delete(key)
    this.#close(session)
  }

  #close(session: CallerSession): void {
    session.host.close().catch(this.#options.onError)
  }
}

interface NewSession {
  readonly source: Source
  readonly caller: string
  readonly can: readonly Ability[]
  readonly account?: Account | undefined
  readonly takePlace?: () => () => void
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

function isUser(identity: string): boolean {
  return identity.startsWith('user ')
}

/** Who the places of a caller count for; undefined on a connection of its own without identity, such as stdio. */
function accountFor({ stream, link }: Source): Account | undefined {
  return accountOf(stream?.request ?? link.transport)
}

/** What a caller can be asked. */
export function abilitiesOf(caller: Caller): Ability[] {
  return abilities.filter((ability) => canAsk(caller, ability))
}
