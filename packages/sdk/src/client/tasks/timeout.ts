import { TimeoutError } from '../../errors.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import { maxTimerMs } from '../../util/backoff.ts'
import { clock } from '../../util/clock.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'

type Limits = Pick<RequestOptions, 'timeoutMs' | 'maxTotalTimeoutMs' | 'resetTimeoutOnProgress'>

const defaultTotalMs = 600_000
const forever = Number.POSITIVE_INFINITY

/** The timeout of one caller that waits for a task. */
export class TaskTimeout {
  readonly #limits: Limits
  readonly #idleMs: number
  readonly #totalMs: number
  readonly #expired: (error: TimeoutError) => void
  #idleAt: number
  #lastAt: number
  #pausedAt: number | undefined
  #timer: Timer | undefined

  /**
   * A running task responds to every poll, so silence says nothing about it. `timeoutMs` therefore applies only if the caller
   * passes it; the total time is always limited.
   */
  constructor(limits: Limits, expired: (error: TimeoutError) => void) {
    this.#limits = limits
    const { timeoutMs, maxTotalTimeoutMs } = limits
    this.#idleMs = timeoutMs || forever
    this.#totalMs = (maxTotalTimeoutMs ?? (timeoutMs === undefined ? defaultTotalMs : timeoutMs * 10)) || forever
    this.#expired = expired
    const now = clock.now()
    this.#idleAt = now + this.#idleMs
    this.#lastAt = now + this.#totalMs
    this.#arm()
  }

  /** The task was updated: starts the idle timeout again. */
  restart(): void {
    if (this.#limits.resetTimeoutOnProgress === false || this.#pausedAt !== undefined) return
    if (this.#lastAt === forever && this.#idleAt === forever) return
    this.#idleAt = clock.now() + this.#idleMs
    this.#arm()
  }

  pause(): void {
    if (this.#pausedAt !== undefined) return
    this.#pausedAt = clock.now()
    scheduler.clearTimeout(this.#timer)
  }

  resume(): void {
    if (this.#pausedAt === undefined) return
    const pausedMs = clock.now() - this.#pausedAt
    this.#pausedAt = undefined
    this.#idleAt += pausedMs
    this.#lastAt += pausedMs
    this.#arm()
  }

  /** Stops the timeout; it cannot be resumed. */
  stop(): void {
    scheduler.clearTimeout(this.#timer)
    this.#idleAt = forever
    this.#lastAt = forever
  }

  #arm(): void {
    scheduler.clearTimeout(this.#timer)
    const at = Math.min(this.#idleAt, this.#lastAt)
    if (at === forever) return
    this.#timer = scheduler.setTimeout(() => this.#check(), Math.min(Math.max(at - clock.now(), 0), maxTimerMs))
  }

  #check(): void {
    const now = clock.now()
    if (now < this.#idleAt && now < this.#lastAt) return this.#arm()
    // The check may come late, when both limits are over: the earlier one ended the task.
    const isTotal = this.#lastAt <= this.#idleAt
    const limitMs = isTotal ? this.#totalMs : this.#idleMs
    const limit = isTotal ? 'in total (maxTotalTimeoutMs)' : 'without an update (timeoutMs)'
    this.#expired(new TimeoutError(`The task took longer than ${limitMs} ms ${limit}`, limitMs))
  }
}
