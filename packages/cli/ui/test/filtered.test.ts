import { describe, expect, it } from 'vitest'
import { BoundedList } from '../src/store/bounded-list.ts'
import { Filtered } from '../src/store/filtered.ts'
import { toLogTest } from '../src/store/logs.ts'
import { toTest } from '../src/store/wire-filter.ts'
import { added, message, storeOf } from './events.ts'

const isEven = (value: number) => value % 2 === 0

describe('a bounded list', () => {
  it('forgets its oldest items and keeps their positions', () => {
    const list = new BoundedList<number>(10)
    for (let value = 0; value < 25; value++) list.push(value)
    expect(list.items.length).toBeLessThanOrEqual(10)
    expect([list.end, list.at(24), list.at(0)]).toEqual([25, 24, undefined])
    expect(list.items[0]).toBe(list.dropped)
  })
})

describe('a filtered list', () => {
  it('looks at new items only', () => {
    const list = new BoundedList<number>(1_000)
    const seen: number[] = []
    const filtered = new Filtered(list, (value) => seen.push(value) > 0 && isEven(value))
    for (const value of [1, 2, 3]) list.push(value)
    filtered.advance(Number.POSITIVE_INFINITY)
    list.push(4)
    filtered.advance(Number.POSITIVE_INFINITY)
    expect(seen).toEqual([1, 2, 3, 4])
    expect([filtered.length, filtered.at(1), filtered.indexOf(4)]).toEqual([2, 4, 1])
  })

  it('stops when its time is up and goes on later', () => {
    const list = new BoundedList<number>(10_000)
    for (let value = 0; value < 1_000; value++) list.push(value)
    const filtered = new Filtered(list, isEven)
    filtered.advance(0)
    expect(filtered.isComplete).toBe(false)
    while (!filtered.isComplete) filtered.advance(0)
    expect(filtered.length).toBe(500)
  })

  it('drops the items that the list dropped', () => {
    const list = new BoundedList<number>(10)
    const filtered = new Filtered(list, isEven)
    for (let value = 0; value < 10; value++) list.push(value)
    filtered.advance(Number.POSITIVE_INFINITY)
    for (let value = 10; value < 15; value++) list.push(value)
    filtered.advance(Number.POSITIVE_INFINITY)
    expect(filtered.at(0)).toBe(list.dropped)
  })
})

describe('filters', () => {
  const { wire, logs } = storeOf(
    added,
    message('sent', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'Deploy' } }),
    message('received', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } }),
    message('received', '{"jsonrpc":"2.0","method":"x","params":{"text":"needle'),
    { kind: 'log', server: 's', level: 'debug', logger: 'clock', data: 'tick' },
    { kind: 'log', server: 's', level: 'strange', data: { text: 'Tock' } },
    { kind: 'left-out', server: 's', count: 5 },
  )

  it.each([
    [{ text: 'deploy' }, [0]],
    [{ text: 'NEEDLE' }, [2]],
    [{ text: 'tools/call' }, [0, 1]],
    [{ text: '', kind: 'error' as const }, [1]],
    [{ text: '', direction: 'received' as const }, [1, 2]],
    [{ text: '', server: 'other' }, []],
  ])('of the wire find messages for %j', (filter, expected) => {
    const rows = wire.rows.items
    expect(rows.filter(toTest(filter)).map((row) => rows.indexOf(row))).toEqual(expected)
  })

  it.each([
    [{ level: 'debug', text: '' }, 3],
    [{ level: 'info', text: '' }, 2],
    [{ level: 'warning', text: '' }, 1],
    [{ level: 'debug', text: 'TOCK' }, 1],
    [{ level: 'debug', text: 'clock' }, 1],
  ])('of logs find lines for %j', (filter, expected) => {
    expect(logs.lines.items.filter(toLogTest({ server: 's', ...filter }))).toHaveLength(expected)
  })
})
