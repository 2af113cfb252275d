import { Counter } from '../../util/counter.ts'
import { scheduler } from '../../util/scheduler.ts'

/** Thrown when no slot becomes free in time. */
export const noSlot = new Error('The owner reached its limit of running tasks')

/** How long to wait for a free slot. */
const slotTimeoutMs = 50

/** Limits how many tasks of one owner run at the same time. */
export class OwnerSlots {
  readonly #max: number
  readonly #taken = new Counter()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(max: number) {
    this.#max = max
  }

  /** Runs the work in a slot of the owner. Throws `noSlot` if none becomes free soon. */
  async within(owner: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (!this.#take(owner) && !(await this.#wait(owner, signal))) throw noSlot
    try {
      await work()
    } finally {
      this.#release(owner)
    }
  }

  #take(owner: string): boolean {
    if (this.#taken.of(owner) >= this.#max) return false
    this.#taken.add(owner, 1)
    return true
  }

  /** Resolves to true when another run hands over its slot. */
  #wait(owner: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(owner) ?? new Set()
      this.#waiting.set(owner, waiting)
      const settle = (gotSlot: boolean) => {
        scheduler.clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        waiting.delete(take)
        if (waiting.size === 0 && this.#waiting.get(owner) === waiting) this.#waiting.delete(owner)
        resolve(gotSlot)
      }
      const take = () => settle(true)
      const giveUp = () => settle(false)
      const timer = scheduler.setTimeout(giveUp, slotTimeoutMs)
      signal.addEventListener('abort', giveUp)
      waiting.add(take)
    })
  }

  #release(owner: string): void {
    const [next] = this.#waiting.get(owner) ?? []
    if (next) next()
    else this.#taken.add(owner, -1)
  }
}
