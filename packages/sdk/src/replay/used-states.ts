import { clock } from '../util/clock.ts'

/** Records which states were used, for as long as they are valid. Share one between processes to allow each state once. */
export interface UsedStates {
  /** Returns true on the first call with this id, and false on later ones. */
  claim(id: string, ttlMs: number): boolean | Promise<boolean>
}

/** Far more than a process issues during the lifetime of a state. */
const maxIds = 100_000

/** Used states in the memory of this process. */
export class MemoryUsedStates implements UsedStates {
  /** The time of expiry by id. In order of use, which is roughly the order of expiry. */
  readonly #expiries = new Map<string, number>()

  claim(id: string, ttlMs: number): boolean {
    const now = clock.now()
    if ((this.#expiries.get(id) ?? 0) > now) return false
    this.#deleteExpired(now)
    // Refusing a fresh state is safer than forgetting a used one.
    if (this.#expiries.size >= maxIds) return false
    this.#expiries.set(id, now + ttlMs)
    return true
  }

  #deleteExpired(now: number): void {
    for (const [id, expires] of this.#expiries) {
      if (expires > now) return
      this.#expiries.delete(id)
    }
  }
}
