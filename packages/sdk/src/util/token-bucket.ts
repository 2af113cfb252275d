/** A token bucket: `burst` at once, then `perSecond`. Time is handed in, so that it needs no timer. */
export class TokenBucket {
  #tokens: number
  #last: number
  readonly #burst: number
  readonly #perSecond: number

  constructor(burst: number, perSecond: number, now: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
    this.#last = now
  }

  /** True when one may pass now. */
  take(now: number): boolean {
    // A clock that was set back refills nothing, and takes nothing away.
    if (now > this.#last) {
      this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#last) / 1000) * this.#perSecond)
    }
    this.#last = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Milliseconds until one may pass. */
  wait(now: number): number {
    const tokens = this.#tokens + ((now - this.#last) / 1000) * this.#perSecond
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / this.#perSecond) * 1000)
  }
}
