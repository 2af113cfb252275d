import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Account } from '../util/account.ts'
import { MemoryClaims } from './used-states.ts'

const ann: Account = { name: 'ann', isAddress: false }
const bob: Account = { name: 'bob', isAddress: false }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000 })
})

afterEach(() => {
  vi.useRealTimers()
})

describe('the states that a process remembers as used', () => {
  it('are granted once and forgotten when they expire [MRTR-022]', () => {
    const claims = new MemoryClaims()
    expect(claims.claim({ id: 'a', expires: 2_000 }, ann)).toBe('granted')
    expect(claims.claim({ id: 'a', expires: 2_000 }, ann)).toBe('used')
    expect(claims.claim({ id: 'a', expires: 2_000 }, bob)).toBe('used')
    claims.release({ id: 'a', expires: 2_000 })
    expect(claims.claim({ id: 'a', expires: 2_000 }, ann)).toBe('granted')
    vi.setSystemTime(2_000)
    claims.claim({ id: 'b', expires: 3_000 }, ann)
    expect(claims.size).toBe(1)
  })

  it('never block other callers, however many one caller uses, and none is granted twice [MRTR-022]', () => {
    const claims = new MemoryClaims(1_000)
    const mine = Array.from({ length: 5 }, (_, index) => ({ id: `bob ${index}`, expires: 1_001 }))
    for (const state of mine) expect(claims.claim(state, bob)).toBe('granted')
    const flood = Array.from({ length: 10_000 }, (_, index) => ({ id: `ann ${index}`, expires: 5_000 + index }))
    for (const state of flood) {
      expect(claims.claim(state, ann)).toBe('granted')
      expect(claims.size).toBeLessThanOrEqual(1_001)
    }
    for (const state of flood) expect(claims.claim(state, ann)).not.toBe('granted')
    for (const state of mine) expect(claims.claim(state, bob)).toBe('used')
    // States that the others got before the flood are valid to their end.
    expect(claims.claim({ id: 'bob new', expires: 1_002 }, bob)).toBe('granted')
    expect(claims.claim({ id: 'anonymous', expires: 1_002 }, undefined)).toBe('granted')
    expect(claims.claim({ id: 'address', expires: 1_002 }, { name: 'ann', isAddress: true })).toBe('granted')
    // Only the caller with the flood has less time: its older states have expired, and new ones work.
    expect(claims.claim({ id: 'ann early', expires: 5_000 }, ann)).toBe('expired')
    expect(claims.claim({ id: 'ann late', expires: 20_000 }, ann)).toBe('granted')
  })

  it('stay bounded and are never granted twice with any number of callers [MRTR-022]', () => {
    const claims = new MemoryClaims(1_000)
    for (const callers of [150, 5_000]) {
      const states = Array.from({ length: 5_000 }, (_, index) => ({
        id: `${callers} ${index}`,
        expires: 50_000 + index,
      }))
      const accountOf = (index: number) => ({ name: `user ${index % callers}`, isAddress: true })
      const used = states.filter((state, index) => claims.claim(state, accountOf(index)) === 'granted')
      expect(used.length).toBeGreaterThan(0)
      expect(claims.size).toBeLessThanOrEqual(1_100)
      states.forEach((state, index) => {
        if (used.includes(state)) expect(claims.claim(state, accountOf(index))).not.toBe('granted')
      })
    }
  })

  it('stay bounded with many heavy callers, one after another [MRTR-022]', () => {
    const claims = new MemoryClaims(1_000)
    for (let caller = 0; caller < 300; caller++) {
      const account = { name: `user ${caller}`, isAddress: true }
      for (let index = 0; index < 1_000; index++) {
        const state = { id: `${caller} ${index}`, expires: 5_000 + caller * 1_000 + index }
        // One assertion for each of 600,000 claims would take most of the time.
        const outcomes = [claims.claim(state, account), claims.claim(state, account)].join()
        if (outcomes !== 'granted,used') expect.unreachable(`${state.id}: ${outcomes}`)
      }
      expect(claims.size).toBeLessThanOrEqual(1_100)
    }
    expect(claims.claim({ id: '0 0', expires: 5_000 }, { name: 'user 0', isAddress: true })).toBe('expired')
  }, 300_000)

  it('make room by forgetting half of those of the heaviest caller, the first ones [MRTR-022]', () => {
    const claims = new MemoryClaims(1_000)
    for (let index = 0; index < 200; index++) claims.claim({ id: `bob ${index}`, expires: 9_000 }, bob)
    for (let index = 0; index < 800; index++) claims.claim({ id: `ann ${index}`, expires: 5_000 + index }, ann)
    expect(claims.size).toBe(1_000)
    expect(claims.claim({ id: 'one more', expires: 9_000 }, bob)).toBe('granted')
    // Half of 800, 200 of the other, the new one, and the limit for what was forgotten.
    expect(claims.size).toBe(400 + 200 + 1 + 1)
    expect(claims.claim({ id: 'ann 399', expires: 5_399 }, ann)).toBe('expired')
    expect(claims.claim({ id: 'ann 400', expires: 5_400 }, ann)).toBe('used')
    expect(claims.claim({ id: 'ann new', expires: 5_400 }, ann)).toBe('granted')
    expect(claims.claim({ id: 'bob 0', expires: 9_000 }, bob)).toBe('used')
  })

  it('forget the limit of a caller when the last state that it is about has expired', () => {
    const claims = new MemoryClaims(100)
    const fill = (name: string, from: number, expires: number) => {
      for (let index = from; index < from + 100; index++) {
        claims.claim({ id: `${name} ${index}`, expires }, { name, isAddress: false })
      }
    }
    fill('ann', 0, 2_000)
    claims.claim({ id: 'bob', expires: 9_000 }, bob)
    const before = claims.size
    expect(before).toBe(50 + 1 + 1)
    vi.setSystemTime(2_000)
    fill('bob', 1, 9_000)
    // Those of ann are gone with their limit, and half of those of bob with a limit of his.
    expect(claims.size).toBe(50 + 1 + 1)
  })

  it('take no more room after expired floods than without them', () => {
    const [flooded, fresh] = [new MemoryClaims(1_000), new MemoryClaims(1_000)]
    const flood = (claims: MemoryClaims, account: Account, expires: number) => {
      for (let index = 0; index < 2_000; index++) claims.claim({ id: `${account.name} ${index}`, expires }, account)
    }
    for (const name of ['carl', 'dora', 'eve']) flood(flooded, { name, isAddress: false }, 5_000)
    vi.setSystemTime(6_000)
    for (const claims of [flooded, fresh]) flood(claims, ann, 10_000)
    expect(flooded.size).toBe(fresh.size)
  })

  it('block only the caller of a flood, even after floods of more callers than are remembered [MRTR-022]', () => {
    const claims = new MemoryClaims(1_000)
    for (let caller = 0; caller < 150; caller++) {
      const account = { name: `user ${caller}`, isAddress: true }
      for (let index = 0; index < 1_000; index++) {
        claims.claim({ id: `${caller} ${index}`, expires: 5_000 + caller * 1_000 + index }, account)
      }
    }
    for (let index = 0; index < 5_000; index++) claims.claim({ id: `ann ${index}`, expires: 2_000_000 + index }, ann)
    expect(claims.claim({ id: 'ann early', expires: 2_000_000 }, ann)).toBe('expired')
    expect(claims.claim({ id: 'bob', expires: 1_000_000 }, bob)).toBe('granted')
  })
})
