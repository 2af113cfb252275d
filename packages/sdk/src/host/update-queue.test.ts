import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { clock } from '../util/clock.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import { UpdateQueue } from './update-queue.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function queue({ tokens = 100_000, perDelivery = 1, subscribed = [] as string[] } = {}) {
  const delivered: string[] = []
  const counts = { floods: 0 }
  const budget = new TokenBucket(tokens, 1, clock.monotonic())
  const updates = new UpdateQueue({
    budget,
    deliver: (uri) => {
      delivered.push(uri)
      return perDelivery
    },
    subscribed: () => new Map(subscribed.map((uri) => [uri, true])),
    onFlood: () => void counts.floods++,
  })
  const add = (count: number, name = (at: number) => `x://${at}`) => {
    for (let at = 0; at < count; at++) updates.add(name(at))
  }
  return { updates, delivered, counts, add, budget }
}

it('passes 100 updates on at once, and each further resource once per batch [HOST-025]', async () => {
  const { add, delivered } = queue()
  add(100)
  expect(delivered).toHaveLength(100)
  add(50, () => 'x://same')
  add(1, () => 'x://other')
  expect(delivered).toHaveLength(100)
  await vi.advanceTimersByTimeAsync(99)
  expect(delivered).toHaveLength(100)
  await vi.advanceTimersByTimeAsync(1)
  expect(delivered.slice(100)).toEqual(['x://same', 'x://other'])
  expect(vi.getTimerCount()).toBe(0)
})

it('passes a backlog on in batches of 10, or of a twentieth if it is longer [HOST-025]', async () => {
  const { add, delivered } = queue()
  add(100)
  add(25, (at) => `y://${at}`)
  await vi.advanceTimersByTimeAsync(100)
  expect(delivered).toHaveLength(110)
  await vi.advanceTimersByTimeAsync(200)
  expect(delivered).toHaveLength(125)
  const large = queue()
  large.add(100)
  large.add(1_000, (at) => `y://${at}`)
  await vi.advanceTimersByTimeAsync(100)
  expect(large.delivered).toHaveLength(150)
})

it('passes on all that are subscribed if it is not known any more which have changed [HOST-025]', async () => {
  const { add, delivered } = queue({ subscribed: ['y://1', 'z://1'] })
  add(100)
  add(1_001, (at) => `y://${at}`)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(delivered.slice(100)).toEqual(['y://1', 'z://1'])
  // Long addresses count by their characters.
  const long = queue({ subscribed: ['z://1'] })
  long.add(100)
  long.add(3, (at) => `y://${at}${'x'.repeat(500_000)}`)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(long.delivered.slice(100)).toEqual(['z://1'])
})

it('reports a flood once for 1,000 updates that were saved, and again after the backlog is empty [HOST-025]', async () => {
  const { add, counts } = queue()
  add(100)
  add(1_000, () => 'x://same')
  expect(counts.floods).toBe(0)
  add(1_500, () => 'x://same')
  expect(counts.floods).toBe(1)
  await vi.advanceTimersByTimeAsync(100)
  for (let again = 0; again < 2; again++) add(1_100, () => 'x://same')
  expect(counts.floods).toBe(2)
})

it('waits while the budget of the server is used up, and counts every notification [HOST-025]', async () => {
  const { add, delivered } = queue({ tokens: 6, perDelivery: 3 })
  add(5)
  expect(delivered).toEqual(['x://0', 'x://1'])
  await vi.advanceTimersByTimeAsync(500)
  expect(delivered).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(delivered).toHaveLength(5)
  expect(vi.getTimerCount()).toBe(0)
})
