import { describe, expect, it } from 'vitest'
import { backoffMs, defaultBackoff } from './backoff.ts'

describe('backoff', () => {
  it('returns a random delay below a growing maximum, so that clients do not retry together [CACHE-011]', () => {
    const backoff = { ...defaultBackoff, initialDelayMs: 100, growth: 3, maxDelayMs: 500 }
    const waits = (attempt: number) => Array.from({ length: 500 }, () => backoffMs(backoff, attempt))
    for (const [attempt, bound] of [100, 300, 500, 500].entries()) {
      const all = waits(attempt)
      expect(Math.max(...all)).toBeLessThanOrEqual(bound)
      expect(Math.max(...all)).toBeGreaterThan(bound * 0.8)
      expect(Math.min(...all)).toBeLessThan(bound * 0.2)
    }
  })
})
