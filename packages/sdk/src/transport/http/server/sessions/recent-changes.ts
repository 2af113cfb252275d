import { clock } from '../../../../util/clock.ts'

/** How long, and how many, changes are repeated to a client whose stream was open at no process for a while. */
const keptMs = 60_000
const maxKept = 1_000

/** A client reconnects within this time. A younger process may have missed changes that the client missed too. */
const reconnectMs = 10_000

/** Within this time a process learns of a subscription that another process confirmed. */
const lagMs = 5_000

/** The changes of the last minute. */
export class RecentChanges {
  readonly #kept = new Map<string, { readonly change: object; readonly at: number }>()
  readonly #startedAt = clock.now()

  /** Adds a change. The newest is last, so that the oldest is dropped first. */
  add(change: object): void {
    const key = JSON.stringify(change, (_, value) => (value instanceof Set ? [...value] : value))
    this.#kept.delete(key)
    this.#kept.set(key, { change, at: clock.now() })
    if (this.#kept.size <= maxKept) return
    for (const oldest of this.#kept.keys()) return void this.#kept.delete(oldest)
  }

  /** The changes that a client may have missed; undefined if everything may have changed. */
  missed(): object[] | undefined {
    return clock.now() - this.#startedAt < reconnectMs ? undefined : this.#within(keptMs)
  }

  /** The changes that a client may have missed because this process did not know of its subscription yet. */
  latest(): object[] {
    return this.#within(lagMs)
  }

  #within(ms: number): object[] {
    const now = clock.now()
    return [...this.#kept.values()].filter(({ at }) => now - at < ms).map(({ change }) => change)
  }
}
