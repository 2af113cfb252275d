import { describe, expect, it } from 'vitest'
import { retryAfterMs } from './retry.ts'

describe('retryAfterMs', () => {
  it('reads Retry-After as seconds or as a date', () => {
    expect(retryAfterMs('2')).toBe(2_000)
    expect(retryAfterMs(' 0 ')).toBe(0)
    expect(retryAfterMs('Thu, 01 Jan 1970 00:00:00 GMT')).toBe(0)
    const soon = retryAfterMs(new Date(Date.now() + 60_000).toUTCString())!
    expect(soon).toBeGreaterThan(50_000)
    expect(soon).toBeLessThanOrEqual(60_000)
    expect(retryAfterMs('later')).toBeUndefined()
    expect(retryAfterMs(undefined)).toBeUndefined()
  })
})
