import type { Context } from '../../server/context.ts'
import type { Approve } from '../action.ts'
import type { Host } from '../host.ts'
import { busy, CallerSession } from './caller-sessions.ts'

export interface CallerTableOptions {
  readonly host: Host
  readonly approve: Approve | undefined
  readonly maxCallers: number
  onError(error: unknown): void
}

/** The sessions of callers. Callers without identity and session never share one at the same time. */
export class CallerTable {
  readonly #options: CallerTableOptions
  readonly #sessions = new Map<string, CallerSession>()
  /** Sessions that wait for the next anonymous caller, and those that have one. */
  readonly #anonymous = new Set<CallerSession>()
  readonly #busy = new Set<CallerSession>()

  constructor(options: CallerTableOptions) {
    this.#options = options
  }

  /** Returns the session of a caller. Call `release` when it is not needed any more. */
  acquire(ctx: Context): { session: CallerSession; release: () => void } {
    const key = keyOf(ctx)
    if (key !== undefined) return { session: this.#find(key, ctx), release: () => {} }
    const session = this.#takeAnonymous(ctx)
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

  /** Closes all sessions, also those with calls. The next caller gets a new one. */
  async close(): Promise<void> {
    const all = [...this.#sessions.values(), ...this.#anonymous, ...this.#busy]
    this.#sessions.clear()
    this.#anonymous.clear()
    this.#busy.clear()
    await Promise.all(all.map(({ host }) => host.close()))
  }

  #find(key: string, ctx: Context): CallerSession {
    const found = this.#sessions.get(key) ?? this.#create(key, ctx, false)
    // The order of the map is the order of use.
    this.#sessions.delete(key)
    this.#sessions.set(key, found)
    return found
  }

  /** A connection serves one anonymous call at a time, so that a question cannot reach another caller. */
  #takeAnonymous(ctx: Context): CallerSession {
    const abilities = abilitiesOf(ctx)
    for (const session of this.#anonymous) {
      if (session.abilities !== abilities) continue
      this.#anonymous.delete(session)
      return session
    }
    return this.#create('anonymous', ctx, true)
  }

  #create(caller: string, ctx: Context, isAnonymous: boolean): CallerSession {
    this.#makeRoom()
    const { host, approve } = this.#options
    return new CallerSession(host, { caller, ctx, approve, isAnonymous, abilities: abilitiesOf(ctx) })
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

/** A session of the transport, or the identity of the caller with what it can be asked. */
function keyOf(ctx: Context): string | undefined {
  if (ctx.sessionId !== undefined) return `session ${ctx.sessionId}`
  const principal = ctx.request ? ctx.request.principal : 'local'
  return principal === undefined ? undefined : `${principal} ${abilitiesOf(ctx)}`
}

function abilitiesOf(ctx: Context): string {
  return (['elicit', 'elicitUrl', 'sample', 'roots'] as const).filter((ability) => ctx.can(ability)).join()
}
