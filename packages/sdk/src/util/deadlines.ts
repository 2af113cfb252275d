import { clock } from './clock.ts'
import { scheduler, type Timer } from './scheduler.ts'

/** Uses one timer for any number of deadlines, and checks them at intervals. */
export class Deadlines {
  readonly #waiting = new Map<() => void, number>()
  readonly #ms: number
  #timer: Timer | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `onLate` at the deadline, unless it is deleted before. */
  add(onLate: () => void): void {
    this.#waiting.set(onLate, clock.now() + this.#ms)
    this.#timer ??= scheduler.setInterval(() => this.#look(), Math.max(5, Math.min(1_000, this.#ms / 4)))
  }

  delete(onLate: () => void): void {
    this.#waiting.delete(onLate)
  }

  #look(): void {
    const now = clock.now()
    for (const [onLate, at] of this.#waiting) {
      if (at > now) continue
      this.#waiting.delete(onLate)
      onLate()
    }
    if (this.#waiting.size > 0) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }
}
