/** Options of a `RateLimit`. */
export interface RateLimitOptions {
  /** How many may come at once. */
  readonly burst: number
  readonly perSecond: number
}

/** Limits how often something is recorded, and counts what is left out. */
export class RateLimit {
  readonly #options: RateLimitOptions
  #tokens: number
  #filledAt = performance.now()
  #leftOut = 0

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#tokens = options.burst
  }

  /** Returns whether one more is within the limit. Counts it as left out if not. */
  take(): boolean {
    const { burst, perSecond } = this.#options
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1_000) * perSecond)
    this.#filledAt = now
    if (this.#tokens < 1) {
      this.#leftOut++
      return false
    }
    this.#tokens--
    return true
  }

  /** Returns how many were left out since the last call. */
  takeLeftOut(): number {
    const count = this.#leftOut
    this.#leftOut = 0
    return count
  }
}
