import { describe, expect, it } from 'vitest'
import { inOrder, restoreAlternatives, restoreItems, restoreObject } from './restore.ts'

const mark = (name: string) => (value: unknown) => ({ [name]: value })
const unchanged = { schema: {}, restore: undefined, isNullAbsent: false }

describe('restoreObject', () => {
  it('gives properties their names back, and leaves out null where it means absent', () => {
    const restore = restoreObject(
      new Map([
        ['a_b', { ...unchanged, name: 'a.b' }],
        ['c', { ...unchanged, name: 'c', isNullAbsent: true }],
        ['d', { ...unchanged, name: 'd', restore: mark('d') }],
        ['e', { ...unchanged, name: 'e' }],
      ]),
      mark('rest'),
    )!
    expect(restore({ a_b: 1, c: null, d: 2, e: null, f: 3 })).toEqual({
      'a.b': 1,
      d: { d: 2 },
      e: null,
      f: { rest: 3 },
    })
    expect(restore({ c: 1 })).toEqual({ c: 1 })
    expect([restore('text'), restore(null), restore([1])]).toEqual(['text', null, [1]])
  })

  it('is not needed where nothing changed', () => {
    expect(restoreObject(new Map([['a', { ...unchanged, name: 'a' }]]), undefined)).toBeUndefined()
    expect(restoreObject(new Map(), mark('rest'))!({ a: 1 })).toEqual({ a: { rest: 1 } })
  })
})

describe('restoreAlternatives', () => {
  const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

  it('restores a value by the first alternative that it can belong to', () => {
    const restore = restoreAlternatives([
      { schema: object({ kind: { const: 'a' } }, { required: ['kind'] }), restore: mark('const') },
      { schema: object({ kind: { enum: ['b', 'c'] } }, { required: ['kind', 'x'] }), restore: mark('enum') },
      { schema: object({ y: true }, { additionalProperties: false }), restore: mark('closed') },
      { schema: { type: 'array' }, restore: mark('array') },
    ])!
    expect(restore({ kind: 'a', more: 1 })).toEqual({ const: { kind: 'a', more: 1 } })
    expect(restore({ kind: 'b', x: 1 })).toEqual({ enum: { kind: 'b', x: 1 } })
    expect(restore({ kind: 'b' })).toEqual({ kind: 'b' })
    expect(restore({ kind: 'd', x: 1 })).toEqual({ kind: 'd', x: 1 })
    expect(restore({ y: 1 })).toEqual({ closed: { y: 1 } })
    expect(restore({ y: 1, z: 2 })).toEqual({ y: 1, z: 2 })
    expect(restore([1])).toEqual({ array: [1] })
    expect(restore('text')).toBe('text')
  })

  it('is not needed where no alternative changed', () => {
    expect(restoreAlternatives([{ schema: {} }, { schema: {} }])).toBeUndefined()
    expect(restoreAlternatives([{ schema: {} }, { schema: { type: 'array' }, restore: mark('x') }])!([1])).toEqual({
      x: [1],
    })
  })
})

it('restores the items of a list, and both changes of a value in their order', () => {
  expect(restoreItems(undefined)).toBeUndefined()
  expect(restoreItems(mark('a'))!([1, 2])).toEqual([{ a: 1 }, { a: 2 }])
  expect(restoreItems(mark('a'))!('text')).toBe('text')
  expect(inOrder(mark('a'), mark('b'))!(1)).toEqual({ b: { a: 1 } })
  expect(inOrder(mark('a'), undefined)!(1)).toEqual({ a: 1 })
  expect(inOrder(undefined, mark('b'))!(1)).toEqual({ b: 1 })
})
