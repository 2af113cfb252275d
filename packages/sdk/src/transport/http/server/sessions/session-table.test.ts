import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Account } from '../../../../util/account.ts'
import type { HttpSession } from './session.ts'
import { type SessionLimits, SessionTable } from './session-table.ts'

const alice: Account = { name: 'alice', isAddress: false }
const bob: Account = { name: 'bob', isAddress: false }
const address: Account = { name: 'alice', isAddress: true }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A table whose sessions leave it when they are closed, as real ones do. */
function table(limits: SessionLimits) {
  const sessions = new SessionTable(limits)
  let next = 0
  const add = (account: Account | undefined, state: Partial<HttpSession> = {}) => {
    const session = {
      sessionId: `${next++}`,
      account,
      createdAt: Date.now(),
      lastSeen: Date.now(),
      idle: true,
      close: async () => sessions.delete(session as HttpSession),
      ...state,
    } as HttpSession
    sessions.makeRoom(account)
    sessions.add(session)
    return session
  }
  const ids = () => sessions.all().map(({ sessionId }) => sessionId)
  return { sessions, add, ids }
}

const refusal = (status: number) => expect.objectContaining({ status, headers: { 'retry-after': '60' } })

/** What `run` throws. */
function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

describe('SessionTable', () => {
  it('refuses a session above the limit of its user with 429, and counts that', () => {
    const { sessions, add } = table({ maxSessionsPerPrincipal: 2, maxSessionsPerAddress: 1 })
    add(alice)
    add(alice)
    expect(thrownBy(() => add(alice))).toEqual(refusal(429))
    add(bob)
    add(address)
    expect(thrownBy(() => add(address))).toEqual(refusal(429))
    expect(sessions.metrics).toEqual({ open: 4, opened: 4, expired: 0, refused: 2 })
  })

  it('refuses a session above the limit of all users with 503', () => {
    const { sessions, add } = table({ maxSessions: 2 })
    add(alice)
    add(undefined)
    expect(thrownBy(() => add(bob))).toEqual(refusal(503))
    expect(sessions.metrics.refused).toBe(1)
  })

  it('evicts the least recently used session that was idle for a minute, of the same user only', () => {
    const { sessions, add, ids } = table({ maxSessionsPerPrincipal: 2 })
    add(bob)
    const older = add(alice)
    vi.advanceTimersByTime(1)
    add(alice)
    vi.advanceTimersByTime(59_998)
    expect(thrownBy(() => add(alice))).toEqual(refusal(429))
    vi.advanceTimersByTime(1)
    add(alice)
    expect(ids()).not.toContain(older.sessionId)
    expect(ids()).toContain('0')
    expect(sessions.metrics).toEqual({ open: 3, opened: 4, expired: 1, refused: 1 })
  })

  it('never evicts a session that is in use', () => {
    const { add, ids } = table({ maxSessions: 2 })
    add(alice, { idle: false } as Partial<HttpSession>)
    vi.advanceTimersByTime(1)
    add(bob)
    vi.advanceTimersByTime(60_000)
    add(bob)
    expect(ids()).toEqual(['0', '2'])
  })

  it('ends sessions that were unused for sessionIdleMs, and those in use later', () => {
    const { sessions, add, ids } = table({ sessionIdleMs: 1_000 })
    add(alice)
    const used = add(alice, { idle: false } as Partial<HttpSession>)
    sessions.sweep(Date.now() + 999)
    expect(ids()).toEqual(['0', '1'])
    sessions.sweep(Date.now() + 1_000)
    expect(ids()).toEqual(['1'])
    ;(used as { idle: boolean }).idle = true
    vi.advanceTimersByTime(1_000)
    expect([ids(), sessions.metrics.expired]).toEqual([[], 2])
  })

  it('ends sessions older than sessionMaxMs although they are in use, and marks them', () => {
    const { sessions, add, ids } = table({ sessionMaxMs: 1_000 })
    const session = add(alice, { idle: false } as Partial<HttpSession>)
    sessions.sweep(Date.now() + 999)
    expect([ids(), session.isTooOld]).toEqual([['0'], false])
    sessions.sweep(Date.now() + 1_000)
    expect([ids(), session.isTooOld]).toEqual([[], true])
  })

  it('looks for unused sessions only while there are any', () => {
    const { sessions, add } = table({})
    const [one, two] = [add(alice), add(alice)]
    expect(vi.getTimerCount()).toBe(1)
    sessions.delete(one)
    sessions.delete(one)
    expect([vi.getTimerCount(), sessions.metrics.open]).toEqual([1, 1])
    sessions.delete(two)
    expect(vi.getTimerCount()).toBe(0)
    const third = add(alice)
    expect(vi.getTimerCount()).toBe(1)
    sessions.delete(third)
  })

  it('counts a session that is deleted twice once', () => {
    const { sessions, add } = table({ maxSessionsPerPrincipal: 2 })
    const one = add(alice)
    add(alice)
    sessions.delete(one)
    sessions.delete(one)
    add(alice)
    expect(thrownBy(() => add(alice))).toEqual(refusal(429))
  })

  it('has defaults: 100 sessions of a user, 1,000 of an address', () => {
    const { add } = table({})
    for (let each = 0; each < 100; each++) add(alice)
    expect(thrownBy(() => add(alice))).toEqual(refusal(429))
    for (let each = 0; each < 1_000; each++) add(address)
    expect(thrownBy(() => add(address))).toEqual(refusal(429))
  })
})
