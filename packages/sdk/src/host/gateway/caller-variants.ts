import type { Context } from '../../server/context.ts'
import { pause } from '../../util/scheduler.ts'
import type { Host } from '../host.ts'
import { abilitiesOf, type CallerTable } from './caller-table.ts'

export interface CallerVariantsOptions {
  readonly host: Host
  readonly callers: CallerTable
  onError(error: unknown): void
}

/** How long a list waits for what servers offer to callers with other abilities. They are added with a notification later. */
const waitMs = 2_000

/**
 * Servers may offer more tools to a client that can be asked something. The first caller with a set of abilities finds out, on
 * connections of its own; the others with the same abilities use what it got.
 */
export class CallerVariants {
  readonly #options: CallerVariantsOptions
  /** Servers that were asked, by abilities. A server that failed or is held is not asked again by lists. */
  readonly #asked = new Map<string, Set<string>>()

  constructor(options: CallerVariantsOptions) {
    this.#options = options
  }

  /** Returns the key of the caller's abilities, after servers were asked what they offer to it. */
  async prepare(ctx: Context): Promise<string> {
    const { host } = this.#options
    const abilities = abilitiesOf(ctx.caller).sort().join(' ')
    await host.ready()
    const asked = this.#asked.get(abilities) ?? new Set<string>()
    const ids = host.unknownFor(abilities).filter((id) => !asked.has(id))
    if (ids.length === 0) return abilities
    this.#asked.set(abilities, asked)
    for (const id of ids) asked.add(id)
    const stop = new AbortController()
    await Promise.race([this.#ask(ctx, ids), pause(waitMs, { signal: stop.signal, unref: true })])
    stop.abort()
    return abilities
  }

  async #ask(ctx: Context, ids: readonly string[]): Promise<void> {
    const { callers, onError } = this.#options
    try {
      const { session, release } = callers.acquire(ctx)
      const end = session.use()
      await Promise.all(ids.map((id) => session.host.prepareServer(id).catch(onError)))
      end()
      release()
    } catch (error) {
      onError(error)
    }
  }
}
