import { DenseSet } from '../../../../util/dense-set.ts'
import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import type { PostResponse } from '../response.ts'

/** Waiting times are counted in ticks, so that adding a response needs neither a timer nor the clock. */
const ticksPerWait = 4

/**
 * Responses that have not begun. A single coarse timer turns each one that takes longer than `streamAfterMs` into a stream,
 * because proxies give up requests that get no headers.
 */
export class SlowResponses {
  readonly #responses = new DenseSet<PostResponse>()
  readonly #tickMs: number
  #tick = 0
  #timer: Timer | undefined

  /** @param streamAfterMs `Infinity`: responses never become streams because of the time. */
  constructor(streamAfterMs = 1_000) {
    if (!(streamAfterMs > 0)) throw new TypeError('streamAfterMs must be a number above 0, or Infinity to turn it off')
    this.#tickMs = Math.ceil(streamAfterMs / ticksPerWait)
  }

  add(response: PostResponse): void {
    if (response.begun || this.#tickMs > maxTimerMs) return
    response.waiting = this
    response.waitingSince = this.#tick
    this.#responses.add(response)
    this.#timer ??= this.#startTimer()
  }

  delete(response: PostResponse): void {
    this.#responses.delete(response)
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(() => this.#check(), this.#tickMs)
    scheduler.unref(timer)
    return timer
  }

  #check(): void {
    this.#tick++
    if (this.#responses.size === 0) return this.#stopTimer()
    for (const response of this.#responses.all()) {
      if (this.#tick - response.waitingSince <= ticksPerWait) continue
      this.#responses.delete(response)
      response.beginStream()
    }
  }

  #stopTimer(): void {
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The longest time that a timer can wait. */
const maxTimerMs = 2 ** 31 - 1
