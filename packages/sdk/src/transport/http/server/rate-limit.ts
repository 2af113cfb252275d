import { TokenBuckets } from '../../../util/token-buckets.ts'
import { Refusal, refusedCode } from './call.ts'

/** How many requests a caller may make. */
export interface RateLimitOptions {
  /** Requests per second that one caller can sustain. */
  perSecond: number
  /** Requests that a caller may make at once after a pause. Default: twice `perSecond`. */
  burst?: number | undefined
  /**
   * Requests per second from one address, twice as many at once. Counted before the caller is authenticated, so that a flood of
   * invalid tokens causes no token checks. Node only. Do not use it behind a proxy, because all requests then come from the
   * address of the proxy. Default: no limit.
   */
  addressPerSecond?: number | undefined
}

/** Callers that are remembered; a forgotten one starts with a full bucket. */
const maxCallers = 10_000

/** A token bucket per caller. */
export class RateLimit {
  readonly #buckets: TokenBuckets

  constructor({ perSecond, burst = perSecond * 2 }: Pick<RateLimitOptions, 'perSecond' | 'burst'>) {
    if (!(perSecond > 0) || !(burst >= 1)) {
      throw new TypeError('rateLimit: perSecond and addressPerSecond must be above 0 and burst at least 1')
    }
    this.#buckets = new TokenBuckets(burst, perSecond, maxCallers)
  }

  /** Counts a request; returns the refusal if the caller made too many. */
  check(caller: string, now: number): Refusal | undefined {
    const bucket = this.#buckets.of(caller, now)
    if (bucket.take(now)) return undefined
    const seconds = Math.max(1, Math.ceil(bucket.wait(now) / 1000))
    return new Refusal(429, refusedCode, `Too many requests: try again in ${seconds} s`, undefined, {
      'retry-after': String(seconds),
    })
  }
}
