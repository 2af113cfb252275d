import { describe, expect, it } from 'vitest'
import { alignMessages, compareJson } from '../src/store/compare.ts'
import type { EventOf } from '../src/store/view-model.ts'
import { eventsOf, message } from './events.ts'

type Message = EventOf<'message'>
const messages = (...pairs: ['sent' | 'received', object][]) =>
  eventsOf(pairs.map(([direction, content]) => message(direction, { jsonrpc: '2.0', ...content }))) as Message[]

describe('the comparison of revisions', () => {
  it('puts messages with the same direction and method side by side', () => {
    const left = messages(
      ['sent', { id: 0, method: 'initialize' }],
      ['received', { id: 0, result: {} }],
      ['sent', { id: 1, method: 'tools/call' }],
      ['received', { id: 9, method: 'elicitation/create' }],
      ['sent', { id: 9, result: {} }],
      ['received', { id: 1, result: {} }],
    )
    const right = messages(
      ['sent', { id: 5, method: 'tools/call' }],
      ['received', { id: 5, result: { resultType: 'input_required' } }],
      ['sent', { id: 6, method: 'tools/call' }],
      ['received', { id: 6, result: {} }],
    )
    expect(alignMessages(left, right).map((pair) => [pair.left?.title, pair.right?.title])).toEqual([
      ['initialize', undefined],
      ['initialize result', undefined],
      ['tools/call', 'tools/call'],
      ['elicitation/create', 'tools/call input_required'],
      ['elicitation/create result', 'tools/call'],
      ['tools/call result', 'tools/call result'],
    ])
  })

  it('marks the lines that differ', () => {
    const lines = compareJson({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3], c: true })
    expect(lines.filter(({ isSame }) => isSame).map(({ left }) => left?.trim())).toEqual([
      '{',
      '"a": 1,',
      '"b": [',
      '1,',
      '}',
    ])
    expect(lines.filter(({ isSame }) => !isSame).map(({ left, right }) => [left?.trim(), right?.trim()])).toEqual([
      ['2', '3'],
      [']', '],'],
      [undefined, '"c": true'],
    ])
  })

  it('compares very long messages from both ends', () => {
    const list = (middle: string) => [...Array(2_000).keys(), middle, ...Array(2_000).keys()]
    const changed = compareJson(list('x'), list('y')).filter(({ isSame }) => !isSame)
    expect(changed.map(({ left, right }) => [left?.trim(), right?.trim()])).toEqual([['"x",', '"y",']])
  })
})
