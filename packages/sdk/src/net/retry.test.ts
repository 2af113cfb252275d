import { describe, expect, it } from 'vitest'
import { HttpError } from '../errors.ts'
import { isTransient, retryAfterMs } from './retry.ts'

describe('isTransient', () => {
  const refusedWith = (status: number) => new HttpError('Refused', { outcome: 'refused', status })

  it.each([408, 429, 500, 502, 503, 504, 507, 529])('is true for HTTP %s, which may pass', (status) => {
    expect(isTransient(refusedWith(status))).toBe(true)
  })

  it.each([400, 401, 403, 404, 405, 501, 505])('is false for HTTP %s, which does not change by waiting', (status) => {
    expect(isTransient(refusedWith(status))).toBe(false)
  })

  it('is true for a request that did not reach the server, or whose response was lost', () => {
    expect(isTransient(new HttpError('Not sent', { outcome: 'not-sent' }))).toBe(true)
    expect(isTransient(new HttpError('Lost', { outcome: 'unknown', status: 200 }))).toBe(true)
  })
})

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
