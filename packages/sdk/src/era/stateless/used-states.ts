import { clock } from '../../util/clock.ts'
import type { UsedStates } from '../server.ts'

/** Far more than a process gives out in the time that they are valid. */
const maxRemembered = 100_000

/** States that were used, remembered in this process until they would have expired anyway. */
export class UsedStatesHere implements UsedStates {
  /** The time of expiry by id, in the order in which they were used: the first are about the first to expire. */
  readonly #used = new Map<string, number>()

  claim(id: string, ttlMs: number): boolean {
    const now = clock.now()
    if ((this.#used.get(id) ?? 0) > now) return false
    this.#forgetExpired(now)
    // Rather refuse than forget one that is still valid.
    if (this.#used.size >= maxRemembered) return false
    this.#used.set(id, now + ttlMs)
    return true
  }

  #forgetExpired(now: number): void {
    for (const [id, expires] of this.#used) {
      if (expires > now) return
      this.#used.delete(id)
    }
  }
}
