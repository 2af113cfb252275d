/** A token bucket: `burst` calls at once, then `perSecond`. The caller passes the time, so it needs no timer. */
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

  /** Takes a token. Returns false if there is none. */
  take(now: number): boolean {
    // If the clock was set back, no tokens are added or removed.
    if (now > this.#last) {
      this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#last) / 1000) * this.#perSecond)
    }
    this.#last = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** Returns the milliseconds until a token is available. */
  wait(now: number): number {
    const tokens = this.#tokens + ((now - this.#last) / 1000) * this.#perSecond
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / this.#perSecond) * 1000)
  }
}

/**
 * A token bucket for each of many callers. The least recently seen callers are evicted, and start again with a full
 * bucket. A lookup allocates nothing: callers move from the older half to the recent one, which becomes the older half
 * when it is full.
 */
export class TokenBuckets {
  readonly #burst: number
  readonly #perSecond: number
  readonly #maxHalf: number
  #recent = new Map<string, TokenBucket>()
  #older = new Map<string, TokenBucket>()

  constructor(burst: number, perSecond: number, maxCallers: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#maxHalf = Math.max(1, maxCallers >> 1)
  }

  of(caller: string, now: number): TokenBucket {
    return this.#recent.get(caller) ?? this.#remember(caller, now)
  }

  /** The number of callers in memory. */
  get size(): number {
    return this.#recent.size + this.#older.size
  }

  #remember(caller: string, now: number): TokenBucket {
    const bucket = this.#older.get(caller) ?? new TokenBucket(this.#burst, this.#perSecond, now)
    if (this.#recent.size >= this.#maxHalf) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#older.delete(caller)
    this.#recent.set(caller, bucket)
    return bucket
  }
}
