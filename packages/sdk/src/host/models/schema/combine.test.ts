import { describe, expect, it } from 'vitest'
import { intersect, unite } from './combine.ts'

describe('intersect', () => {
  it.each([
    ['the larger minimum', { minimum: 1, minLength: 5 }, { minimum: 3, minLength: 2 }, { minimum: 3, minLength: 5 }],
    ['the smaller maximum', { maximum: 9, maxItems: 2 }, { maximum: 7, maxItems: 5 }, { maximum: 7, maxItems: 2 }],
    ['all required names', { required: ['a', 'b'] }, { required: ['b', 'c'] }, { required: ['a', 'b', 'c'] }],
    ['common values', { enum: [1, 'a', { b: 1 }] }, { enum: [{ b: 1 }, 'a', 2] }, { enum: ['a', { b: 1 }] }],
    ['common types', { type: ['string', 'null'] }, { type: ['null', 'string'] }, { type: ['string', 'null'] }],
    ['one common type', { type: ['string', 'null'] }, { type: 'null' }, { type: 'null' }],
    ['the integers among numbers', { type: 'number' }, { type: 'integer' }, { type: 'integer' }],
    ['the integers among numbers', { type: 'integer' }, { type: ['number', 'string'] }, { type: 'integer' }],
    ['the first type, if none is common', { type: 'string' }, { type: 'number' }, { type: 'string' }],
    [
      'a closed object, if both are',
      { additionalProperties: false },
      { additionalProperties: false },
      { additionalProperties: false },
    ],
    ['an open object, if one is', { additionalProperties: false }, { additionalProperties: true }, {}],
    ['an open object, if one is', { additionalProperties: { type: 'string' } }, { additionalProperties: false }, {}],
    [
      'both schemas of items',
      { items: { minLength: 1 } },
      { items: { maxLength: 2 } },
      { items: { minLength: 1, maxLength: 2 } },
    ],
    ['the first annotation', { title: 'a' }, { title: 'b', description: 'c' }, { title: 'a', description: 'c' }],
    [
      'the properties of both',
      { properties: { a: { minLength: 1 }, b: true } },
      { properties: { a: { maxLength: 2 }, b: { type: 'null' }, c: {} } },
      { properties: { a: { minLength: 1, maxLength: 2 }, b: true, c: {} } },
    ],
  ])('has %s', (_, first, second, expected) => {
    expect(intersect(first as never, second as never)).toEqual(expected)
  })
})

describe('unite', () => {
  it('has the properties of all branches, and requires what all require', () => {
    const branches = [
      { properties: { kind: { const: 'a' }, x: { type: 'string' } }, required: ['kind', 'x'] },
      { properties: { kind: { const: 'b' }, x: { type: 'string' }, y: { enum: [1] } }, required: ['kind', 'y'] },
      { properties: { kind: { enum: ['a', 'c'] }, y: { type: 'number' } }, required: ['kind'] },
    ]
    expect(unite(branches)).toEqual({
      type: 'object',
      properties: {
        kind: { enum: ['a', 'b', 'c'] },
        x: { type: 'string' },
        y: { anyOf: [{ enum: [1] }, { type: 'number' }] },
      },
      required: ['kind'],
    })
  })

  it('keeps the type of constants if all have the same, and requires nothing that one branch does not', () => {
    const tag = (type: string, value: unknown, required?: string[]) => ({
      properties: { tag: { type, const: value } },
      ...(required && { required }),
    })
    expect(unite([tag('string', 'a', ['tag']), tag('string', 'b')])).toEqual({
      type: 'object',
      properties: { tag: { type: 'string', enum: ['a', 'b'] } },
    })
    expect(unite([tag('string', 'a'), tag('integer', 1)])).toEqual({
      type: 'object',
      properties: { tag: { enum: ['a', 1] } },
    })
    expect(unite([])).toEqual({ type: 'object', properties: {} })
  })
})
