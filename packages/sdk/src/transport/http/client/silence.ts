import { clock } from '../../../util/clock.ts'
import { unref } from '../../../util/unref.ts'

/** Comments after which a server is known to send them periodically. */
const fewestComments = 3

/** How many comments may be missing, and the least time that this takes. */
const missingComments = 4
const leastMs = 10_000

/**
 * Notices that a server which keeps a quiet stream alive by comments has fallen silent: it hangs, or the network lost the
 * connection without a word. Nothing else would ever tell.
 */
export class SilenceWatch {
  readonly #onSilent: () => void
  #comments = 0
  #commentAt = 0
  #longestMs = 0
  #heardAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(onSilent: () => void) {
    this.#onSilent = onSilent
  }

  /** @param comments How many the stream has carried so far. */
  heard(comments: number): void {
    this.#heardAt = clock.now()
    if (comments === this.#comments) return
    if (this.#comments > 0) this.#longestMs = Math.max(this.#longestMs, this.#heardAt - this.#commentAt)
    this.#comments = comments
    this.#commentAt = this.#heardAt
    if (comments >= fewestComments) this.#timer ??= this.#start(this.#limitMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#comments = 0
    this.#longestMs = 0
  }

  get #limitMs(): number {
    return Math.max(leastMs, missingComments * this.#longestMs)
  }

  #start(ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.#look(), ms)
    unref(timer)
    return timer
  }

  #look(): void {
    const leftMs = this.#heardAt + this.#limitMs - clock.now()
    if (leftMs > 0) {
      this.#timer = this.#start(leftMs)
      return
    }
    this.stop()
    this.#onSilent()
  }
}
