import { DenseSet } from '../../../../util/dense-set.ts'
import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import type { PostResponse } from '../response.ts'

/** Each wait is measured in ticks, so that adding a reply costs neither a timer nor a look at the clock. */
const ticksPerWait = 4

/**
 * POSTs whose response has not begun. One coarse timer serves all of them: it turns each response that takes longer than
 * `streamAfterMs` into a stream, because proxies give up requests that get no headers.
 */
export class SlowResponses {
  readonly #replies = new DenseSet<PostResponse>()
  readonly #tickMs: number
  #tick = 0
  #timer: Timer | undefined

  /** @param streamAfterMs `Infinity`: responses wait for their answer, however long it takes. */
  constructor(streamAfterMs = 1_000) {
    if (!(streamAfterMs > 0)) throw new TypeError('streamAfterMs must be above 0; Infinity turns it off')
    this.#tickMs = Math.ceil(streamAfterMs / ticksPerWait)
  }

  add(reply: PostResponse): void {
    if (reply.begun || this.#tickMs > maxTimerMs) return
    reply.waiting = this
    reply.waitingSince = this.#tick
    this.#replies.add(reply)
    this.#timer ??= this.#startTimer()
  }

  delete(reply: PostResponse): void {
    this.#replies.delete(reply)
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(() => this.#look(), this.#tickMs)
    scheduler.unref(timer)
    return timer
  }

  #look(): void {
    this.#tick++
    if (this.#replies.size === 0) return this.#stopTimer()
    for (const reply of this.#replies.all()) {
      if (this.#tick - reply.waitingSince <= ticksPerWait) continue
      this.#replies.delete(reply)
      reply.beginStream()
    }
  }

  #stopTimer(): void {
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Timers cannot wait longer. */
const maxTimerMs = 2 ** 31 - 1
