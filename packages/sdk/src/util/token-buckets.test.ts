import { describe, expect, it } from 'vitest'
import { TokenBucket, TokenBuckets } from './token-bucket.ts'

describe('TokenBuckets', () => {
  it('keeps one bucket per caller', () => {
    const buckets = new TokenBuckets(1, 1, 10)
    expect(buckets.of('a', 0)).toBe(buckets.of('a', 0))
    expect(buckets.of('a', 0)).not.toBe(buckets.of('b', 0))
  })

  it('keeps a bounded number of callers and prefers those that keep calling', () => {
    const buckets = new TokenBuckets(1, 1, 10)
    const regular = buckets.of('regular', 0)
    for (let stranger = 0; stranger < 1_000; stranger++) {
      buckets.of(`stranger ${stranger}`, 0)
      expect(buckets.of('regular', 0)).toBe(regular)
      expect(buckets.size).toBeLessThanOrEqual(10)
    }
  })
})

describe('TokenBucket', () => {
  it('neither refills nor drains when the clock is set back', () => {
    const bucket = new TokenBucket(2, 1, 10_000)
    expect(bucket.take(10_000)).toBe(true)
    expect(bucket.take(0)).toBe(true)
    expect(bucket.take(0)).toBe(false)
    expect(bucket.take(1_000)).toBe(true)
  })
})
