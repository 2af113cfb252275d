import { clock } from '../../../util/clock.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'

/** After this many comments, the server is known to send them periodically. */
const minComments = 3

/** How many comments may be missing, and the minimum time to wait for them. */
const maxMissingComments = 4
const minSilenceMs = 10_000

/**
 * Detects that a server which keeps a quiet stream alive with comments has stopped sending them: it hangs, or the network
 * dropped the connection without closing it. No error would ever report that.
 */
export class SilenceDetector {
  readonly #onSilent: () => void
  #comments = 0
  #commentAt = 0
  #longestGapMs = 0
  #lastDataAt = 0
  #timer: Timer | undefined

  constructor(onSilent: () => void) {
    this.#onSilent = onSilent
  }

  /**
   * Called when data arrives.
   * @param comments How many comments the stream has carried so far.
   */
  onData(comments: number): void {
    this.#lastDataAt = clock.now()
    if (comments === this.#comments) return
    if (this.#comments > 0) this.#longestGapMs = Math.max(this.#longestGapMs, this.#lastDataAt - this.#commentAt)
    this.#comments = comments
    this.#commentAt = this.#lastDataAt
    if (comments >= minComments) this.#timer ??= this.#start(this.#limitMs)
  }

  stop(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#comments = 0
    this.#longestGapMs = 0
  }

  get #limitMs(): number {
    return Math.max(minSilenceMs, maxMissingComments * this.#longestGapMs)
  }

  #start(ms: number): Timer {
    const timer = scheduler.setTimeout(() => this.#check(), ms)
    scheduler.unref(timer)
    return timer
  }

  #check(): void {
    const leftMs = this.#lastDataAt + this.#limitMs - clock.now()
    if (leftMs > 0) {
      this.#timer = this.#start(leftMs)
      return
    }
    this.stop()
    this.#onSilent()
  }
}
