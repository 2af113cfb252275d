import { clock } from '../util/clock.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { Progress } from './pending.ts'

/** As many values of a peer as a display can follow. A peer that sends more is reduced to its newest ones. */
export const receivedProgress = { burst: 100, perSecond: 50 }

/** Options of `LimitedProgress`. */
export interface LimitedProgressOptions {
  /** How many values may follow each other at once. */
  readonly burst: number
  readonly perSecond: number
  readonly deliver: (progress: Progress) => void
  /** Receives errors of `deliver` for values that were delayed. Default: they are thrown. */
  readonly onError?: (error: unknown) => void
}

/** Passes the progress of one request on: values that increase, and above the rate limit only the newest. */
export class LimitedProgress {
  readonly #options: LimitedProgressOptions
  readonly #bucket: TokenBucket
  #last = Number.NEGATIVE_INFINITY
  #pending: Progress | undefined
  #timer: Timer | undefined

  constructor(options: LimitedProgressOptions) {
    this.#options = options
    this.#bucket = new TokenBucket(options.burst, options.perSecond, clock.now())
  }

  /** Whether a value would be passed on, now or later. */
  increases({ progress }: Progress): boolean {
    return progress > this.#last
  }

  add(progress: Progress): void {
    if (!this.increases(progress)) return
    this.#last = progress.progress
    const now = clock.now()
    if (this.#pending === undefined && this.#bucket.take(now)) return this.#options.deliver(progress)
    this.#pending = progress
    this.#timer ??= scheduler.setTimeout(() => this.flush(), this.#bucket.wait(now))
  }

  /** Delivers the value that waits, before the response for example. */
  flush(): void {
    this.stop()
    const pending = this.#pending
    this.#pending = undefined
    if (!pending) return
    this.#bucket.take(clock.now())
    const { deliver, onError } = this.#options
    if (!onError) return deliver(pending)
    try {
      deliver(pending)
    } catch (error) {
      onError(error)
    }
  }

  /** Delivers nothing any more by itself. */
  stop(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
