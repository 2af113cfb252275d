import { TokenBucket } from './token-bucket.ts'

/**
 * A token bucket for each of many callers. The least recently seen callers are forgotten, and start again with a full
 * bucket. A lookup allocates nothing: callers move from the older half to the recent one, which becomes the older when full.
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

  /** How many callers are remembered. */
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
