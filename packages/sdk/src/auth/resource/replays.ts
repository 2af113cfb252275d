import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'

/** Remembers values that may be used only once. Implement it on a shared store to cover several processes. */
export interface Replays {
  /**
   * Returns true if the key is new. Must be atomic: of two concurrent calls with the same key, only one returns true.
   * @param until How long to remember the key, in milliseconds since 1970.
   */
  add(key: string, until: number): boolean | Promise<boolean>
}

/** Keeps a limited number of values in memory. Rejects new ones rather than dropping old ones too early. */
export class MemoryReplays implements Replays {
  readonly #until = new Map<string, number>()
  readonly #max: number

  /** @param max The number of values to keep. */
  constructor(max = 500_000) {
    this.#max = max
  }

  add(key: string, until: number): boolean {
    const now = clock.now()
    const known = this.#until.get(key)
    if (known !== undefined && known > now) return false
    this.#until.delete(key)
    if (this.#until.size >= this.#max) this.#removeExpired(now)
    if (this.#until.size >= this.#max)
      throw new McpError('overloaded', 'Too many DPoP proofs at once. Try again later.')
    this.#until.set(key, until)
    return true
  }

  #removeExpired(now: number): void {
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}
