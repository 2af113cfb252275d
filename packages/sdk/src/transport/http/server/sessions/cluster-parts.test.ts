import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryBus } from '../../../../store/memory/bus.ts'
import { ClusterBus, type ClusterMessage } from './cluster-bus.ts'
import { RecentChanges } from './recent-changes.ts'
import { StreamStatus } from './stream-status.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('ClusterBus', () => {
  function member(bus: ConstructorParameters<typeof ClusterBus>[0]) {
    const received: ClusterMessage[] = []
    const errors: unknown[] = []
    const made = new ClusterBus(
      bus,
      (message) => void received.push(message),
      (error) => void errors.push(error),
    )
    return { made, received, errors }
  }

  it('passes messages to the other processes, not to the sender, and none after it is closed', async () => {
    const bus = new MemoryBus()
    const [one, two] = [member(bus), member(bus)]
    await settled()
    one.made.publish({ saved: 'a' })
    await settled()
    expect([one.received, two.received]).toEqual([[], [expect.objectContaining({ saved: 'a' })]])
    two.made.close()
    one.made.publish({ saved: 'b' })
    await settled()
    expect(two.received).toHaveLength(1)
  })

  it('ignores what other programs publish', async () => {
    const bus = new MemoryBus()
    const { received, errors } = member(bus)
    await settled()
    for (const text of ['no JSON', '7', 'null', '[]']) await bus.publish('tenon', text)
    await settled()
    expect([received, errors]).toEqual([[], []])
  })

  it('ends a subscription that was still being made when it was closed', async () => {
    let subscribed!: (stop: () => void) => void
    const stop = vi.fn()
    const subscription = new Promise<() => void>((resolve) => {
      subscribed = resolve
    })
    const { made } = member({ publish: () => {}, subscribe: () => subscription })
    made.close()
    subscribed(stop)
    await settled()
    expect(stop).toHaveBeenCalledTimes(1)
  })

  it('reports errors of the bus', async () => {
    const fail = async () => {
      throw new Error('the bus is down')
    }
    const { made, errors } = member({ publish: fail, subscribe: fail })
    made.publish({ saved: 'a' })
    await settled()
    expect(errors.map(String)).toEqual(['Error: the bus is down', 'Error: the bus is down'])
  })
})

describe('With a clock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('RecentChanges does not know what a client missed in the first ten seconds', () => {
    const changes = new RecentChanges()
    vi.advanceTimersByTime(9_999)
    expect(changes.missed()).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(changes.missed()).toEqual([])
  })

  it('RecentChanges keeps each change for a minute after it was made last, in order', () => {
    const changes = new RecentChanges()
    vi.advanceTimersByTime(10_000)
    changes.add({ list: 'tools' })
    changes.add({ uris: new Set(['a']) })
    vi.advanceTimersByTime(4_999)
    expect(changes.latest()).toHaveLength(2)
    changes.add({ list: 'tools' })
    vi.advanceTimersByTime(1)
    expect(changes.latest()).toEqual([{ list: 'tools' }])
    expect(changes.missed()).toEqual([{ uris: new Set(['a']) }, { list: 'tools' }])
    changes.add({ uris: new Set(['b']) })
    expect(changes.missed()).toHaveLength(3)
    vi.advanceTimersByTime(59_998)
    expect(changes.missed()).toEqual([{ list: 'tools' }, { uris: new Set(['b']) }])
    vi.advanceTimersByTime(2)
    expect(changes.missed()).toEqual([])
  })

  it('RecentChanges keeps the newest 1,000 changes', () => {
    const changes = new RecentChanges()
    for (let each = 0; each <= 1_000; each++) changes.add({ each })
    expect([changes.latest().length, changes.latest()[0]]).toEqual([1_000, { each: 1 }])
  })

  it('StreamStatus resolves every question about a stream with the answer, and asks again later', async () => {
    const asked: unknown[] = []
    const status = new StreamStatus((name) => void asked.push(name))
    const name = { session: 's', stream: 's/n.1' }
    const questions = [status.isOpen(name), status.isOpen(name), status.isOpen({ session: 's', stream: 's/n.2' })]
    status.answered('s/n.1', true)
    status.answered('s/n.2', false)
    expect(await Promise.all(questions)).toEqual([true, true, false])
    expect([asked[0], asked.length, vi.getTimerCount()]).toEqual([name, 3, 0])
    status.answered('s/n.1', false)
    const again = status.isOpen(name)
    status.answered('s/n.1', false)
    expect(await again).toBe(false)
  })

  it('StreamStatus asks three times, a second each, before it takes the process for gone', async () => {
    let asked = 0
    const status = new StreamStatus(() => void asked++)
    const question = status.isOpen({ session: 's', stream: 's/n.1' })
    let isAnswered = false
    question.then(() => {
      isAnswered = true
    })
    await vi.advanceTimersByTimeAsync(2_999)
    expect([asked, isAnswered]).toEqual([3, false])
    await vi.advanceTimersByTimeAsync(1)
    expect([await question, asked]).toEqual([false, 3])
  })
})
