import type { Context } from '../../server/context.ts'
import type { Approve } from '../action.ts'
import type { Host } from '../host.ts'
import { CallerSession } from './caller-sessions.ts'

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
  readonly #anonymous = new Set<CallerSession>()

  constructor(options: CallerTableOptions) {
    this.#options = options
  }

  /** Returns the session of a caller. Call `release` when it is not needed any more. */
  acquire(ctx: Context): { session: CallerSession; release: () => void } {
    const key = keyOf(ctx)
    const session = key === undefined ? this.#takeAnonymous(ctx) : this.#find(key, ctx)
    this.#evict()
    return {
      session,
      release: () => {
        if (key !== undefined) return
        session.host.forget()
        this.#anonymous.add(session)
      },
    }
  }

  async close(): Promise<void> {
    const all = [...this.#sessions.values(), ...this.#anonymous]
    this.#sessions.clear()
    this.#anonymous.clear()
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
    const { host, approve } = this.#options
    return new CallerSession(host, { caller, ctx, approve, isAnonymous, abilities: abilitiesOf(ctx) })
  }

  #evict(): void {
    const { maxCallers, onError } = this.#options
    for (const [key, session] of this.#sessions) {
      if (this.#sessions.size <= maxCallers) break
      if (session.isBusy) continue
      this.#sessions.delete(key)
      session.host.close().catch(onError)
    }
    for (const session of this.#anonymous) {
      if (this.#anonymous.size <= maxCallers) break
      this.#anonymous.delete(session)
      session.host.close().catch(onError)
    }
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
