import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'

/** Remembers what may be used only once. A store that several processes share makes it once for all of them. */
export interface Replays {
  /**
   * True the first time. Must be remembered until then, and decided in one step: of two at the same time, one is first.
   * @param until In milliseconds since 1970.
   */
  add(key: string, until: number): boolean | Promise<boolean>
}

/** In this process, and never more than a given number: what would have to be forgotten too early is refused instead. */
export class MemoryReplays implements Replays {
  readonly #until = new Map<string, number>()
  readonly #max: number

  constructor(max = 500_000) {
    this.#max = max
  }

  add(key: string, until: number): boolean {
    const now = clock.now()
    const known = this.#until.get(key)
    if (known !== undefined && known > now) return false
    this.#until.delete(key)
    if (this.#until.size >= this.#max) this.#forget(now)
    if (this.#until.size >= this.#max) throw new McpError('overloaded', 'Too many proofs at a time')
    this.#until.set(key, until)
    return true
  }

  #forget(now: number): void {
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}
