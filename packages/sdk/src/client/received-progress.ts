import type { Progress } from '../jsonrpc/pending.ts'
import { clock } from '../util/clock.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { TokenBucket } from '../util/token-bucket.ts'

/** As many as a display can follow. A server that sends more is reduced to its newest values. */
const burst = 100
const perSecond = 50

/** Passes the progress of one request on: values that increase, and above the rate limit only the newest. */
export class ReceivedProgress {
  readonly #listener: (progress: Progress) => void
  readonly #onError: (error: unknown) => void
  readonly #bucket = new TokenBucket(burst, perSecond, clock.now())
  #last = Number.NEGATIVE_INFINITY
  #pending: Progress | undefined
  #timer: Timer | undefined

  /** @param onError Receives errors of the listener that occur after `receive` has returned. */
  constructor(listener: (progress: Progress) => void, onError: (error: unknown) => void) {
    this.#listener = listener
    this.#onError = onError
  }

  readonly receive = (received: Progress): void => {
    if (received.progress <= this.#last) return
    this.#last = received.progress
    const now = clock.now()
    if (this.#pending === undefined && this.#bucket.take(now)) return this.#listener(received)
    this.#pending = received
    this.#timer ??= scheduler.setTimeout(() => this.#flush(), this.#bucket.wait(now))
  }

  /** The response has arrived. It comes after the newest value. */
  readonly end = (): void => {
    this.#flush()
  }

  #flush(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    const pending = this.#pending
    this.#pending = undefined
    if (!pending) return
    this.#bucket.take(clock.now())
    try {
      this.#listener(pending)
    } catch (error) {
      this.#onError(error)
    }
  }
}
