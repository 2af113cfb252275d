import { describe, expect, it, vi } from 'vitest'
import type { EventStream } from './event-stream.ts'
import { OpenStreams } from './open-streams.ts'

const user = { name: 'alice', isAddress: false }
const address = { name: 'alice', isAddress: true }

function stream() {
  return { keepAlive: vi.fn(), end: vi.fn() } as unknown as EventStream & { keepAlive: () => void; end: () => void }
}

describe('OpenStreams', () => {
  it('has room below the limit of all streams, of which optional ones may use half', () => {
    const streams = new OpenStreams({ maxStreams: 4 })
    const fill = (count: number) => {
      for (let each = 0; each < count; each++) streams.add(stream(), undefined)
      return [streams.hasRoom(undefined), streams.hasRoom(undefined, true)]
    }
    expect(fill(1)).toEqual([true, true])
    expect(fill(1)).toEqual([true, false])
    expect(fill(1)).toEqual([true, false])
    expect(fill(1)).toEqual([false, false])
    expect(streams.size).toBe(4)
  })

  it('counts users and addresses of the same name separately, each with its own limit', () => {
    const streams = new OpenStreams({ maxStreamsPerPrincipal: 1, maxStreamsPerAddress: 2 })
    streams.add(stream(), user)
    expect([streams.hasRoom(user), streams.hasRoom(address)]).toEqual([false, true])
    streams.add(stream(), address)
    expect([streams.hasRoom(address), streams.hasRoom(address, true)]).toEqual([true, false])
    streams.add(stream(), address)
    expect(streams.hasRoom(address)).toBe(false)
  })

  it('counts a stream once, however often it is added or deleted', () => {
    const streams = new OpenStreams({ maxStreamsPerPrincipal: 2 })
    const one = stream()
    streams.add(one, user)
    streams.add(one, user)
    expect([streams.size, streams.hasRoom(user)]).toEqual([1, true])
    const two = stream()
    streams.add(two, user)
    streams.delete(one)
    streams.delete(one)
    streams.delete(stream())
    streams.add(one, user)
    expect([streams.size, streams.hasRoom(user)]).toEqual([2, false])
  })

  it('keeps its streams alive with one timer, which stops with the last of them', () => {
    vi.useFakeTimers()
    try {
      const streams = new OpenStreams({ keepAliveMs: 1_000 })
      const [one, two] = [stream(), stream()]
      streams.add(one, user)
      streams.add(two, user)
      expect(vi.getTimerCount()).toBe(1)
      vi.advanceTimersByTime(1_000)
      expect([one.keepAlive, two.keepAlive].map((each) => vi.mocked(each).mock.calls.length)).toEqual([1, 1])
      streams.delete(one)
      expect(vi.getTimerCount()).toBe(1)
      streams.delete(two)
      expect(vi.getTimerCount()).toBe(0)
      streams.add(one, user)
      vi.advanceTimersByTime(1_000)
      expect(one.keepAlive).toHaveBeenCalledTimes(2)
      streams.delete(one)
    } finally {
      vi.useRealTimers()
    }
  })

  it('ends all streams', () => {
    const streams = new OpenStreams({})
    const each = [stream(), stream()]
    for (const one of each) streams.add(one, user)
    streams.endAll()
    expect(each.map(({ end }) => vi.mocked(end).mock.calls.length)).toEqual([1, 1])
    for (const one of each) streams.delete(one)
  })
})
