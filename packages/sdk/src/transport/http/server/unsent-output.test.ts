import { afterEach, describe, expect, it, vi } from 'vitest'
import { type UnsentOutput, UnsentOutputs } from './unsent-output.ts'

class FakeOutput implements UnsentOutput {
  inFlight = 1
  isCut = false
  unsentBytes: number
  readonly peer: string

  constructor(peer: string, unsentBytes: number) {
    this.peer = peer
    this.unsentBytes = unsentBytes
  }

  destroy(): void {
    this.isCut = true
    this.unsentBytes = 0
  }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('UnsentOutputs', () => {
  it('cuts the oldest connections of the address with the most unsent bytes', () => {
    const outputs = new UnsentOutputs({ maxUnsentBytes: 100 })
    const honest = new FakeOutput('honest', 30)
    outputs.add(honest, 30)
    const greedy = Array.from({ length: 8 }, () => new FakeOutput('greedy', 10))
    for (const output of greedy) outputs.add(output, 10)
    expect(honest.isCut).toBe(false)
    expect(greedy.map(({ isCut }) => isCut)).toEqual([true, true, true, true, false, false, false, false])
    expect(outputs.unsentBytes).toBe(70)
  })

  it('counts the unsent bytes of one IPv6 /64 network together', () => {
    const outputs = new UnsentOutputs({ maxUnsentBytes: 100 })
    const honest = new FakeOutput('2001:db8:1:3::1', 30)
    outputs.add(honest, 30)
    const greedy = Array.from({ length: 8 }, (_, index) => new FakeOutput(`2001:db8:1:2::${index}`, 10))
    for (const output of greedy) outputs.add(output, 10)
    expect(honest.isCut).toBe(false)
    expect(greedy.map(({ isCut }) => isCut)).toEqual([true, true, true, true, false, false, false, false])
  })

  it('cuts no connection while no more than maxUnsentBytes are unsent', () => {
    const outputs = new UnsentOutputs({ maxUnsentBytes: 100 })
    const output = new FakeOutput('reader', 90)
    // The client reads almost as fast as the server writes.
    for (let count = 0; count < 50; count++) outputs.add(output, 90)
    expect(output.isCut).toBe(false)
  })

  it('cuts a client that reads nothing for writeTimeoutMs', () => {
    vi.useFakeTimers()
    const outputs = new UnsentOutputs({ writeTimeoutMs: 5_000 })
    const [stalled, reading, queued] = ['a', 'b', 'c'].map((peer) => new FakeOutput(peer, 10)) as [
      FakeOutput,
      FakeOutput,
      FakeOutput,
    ]
    queued.inFlight = 0
    for (const output of [stalled, reading, queued]) outputs.add(output, 10)
    for (let second = 0; second < 10; second++) {
      reading.inFlight++
      vi.advanceTimersByTime(1_000)
    }
    expect([stalled.isCut, reading.isCut, queued.isCut]).toEqual([true, false, false])
  })

  it('stops its timer when no client is behind', () => {
    vi.useFakeTimers()
    const outputs = new UnsentOutputs({})
    const output = new FakeOutput('a', 10)
    outputs.add(output, 10)
    expect(vi.getTimerCount()).toBe(1)
    output.unsentBytes = 0
    vi.advanceTimersByTime(2_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
