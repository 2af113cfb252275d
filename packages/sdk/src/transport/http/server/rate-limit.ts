import { TokenBuckets } from '../../../util/token-buckets.ts'
import { Refusal, refusedCode } from './call.ts'

export interface RateLimitOptions {
  /** Requests that one caller may make in a second, for long. */
  perSecond: number
  /** Requests at once, after a pause. Default: twice `perSecond`. */
  burst?: number | undefined
  /**
   * Requests that one address may make in a second, twice as many at once. They are counted before it is known who calls, so
   * that a flood of bad tokens costs no checks. Not for servers behind a proxy, whose address all requests come from; and only
   * on Node, where the address is known. Default: no limit.
   */
  addressPerSecond?: number | undefined
}

/** Callers remembered; one that is forgotten starts with a full bucket. */
const maxCallers = 10_000

/** A token bucket for each caller. */
export class RateLimit {
  readonly #buckets: TokenBuckets

  constructor({ perSecond, burst = perSecond * 2 }: Pick<RateLimitOptions, 'perSecond' | 'burst'>) {
    if (!(perSecond > 0) || !(burst >= 1)) {
      throw new TypeError('rateLimit: perSecond and addressPerSecond must be above 0 and burst at least 1')
    }
    this.#buckets = new TokenBuckets(burst, perSecond, maxCallers)
  }

  check(caller: string, now: number): Refusal | undefined {
    const bucket = this.#buckets.of(caller, now)
    if (bucket.take(now)) return undefined
    const seconds = Math.max(1, Math.ceil(bucket.wait(now) / 1000))
    return new Refusal(429, refusedCode, `Too many requests: try again in ${seconds} s`, undefined, {
      'retry-after': String(seconds),
    })
  }
}
