import { describe, expect, it } from 'vitest'
import { diffSchemas } from '../src/diff/schema-diff.ts'

const string = { type: 'string' }
const number = { type: 'number' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

/** The directions of all changes, without repetition. */
function directions(before: unknown, after: unknown): string[] {
  return [...new Set(diffSchemas(before, after).map(({ direction }) => direction))]
}

const opposite: Record<string, string> = { narrower: 'wider', wider: 'narrower' }

describe('the comparison of two schemas', () => {
  it.each<[string, unknown, unknown]>([
    ['no maximum and the largest safe integer', {}, { maximum: Number.MAX_SAFE_INTEGER }],
    ['the order of keys', { type: 'string', minLength: 1 }, { minLength: 1, type: 'string' }],
    ['a type that is a list of one', { type: ['string'] }, string],
    ['a reference and what it refers to', { $ref: '#/$defs/a', $defs: { a: string } }, string],
    ['schemas that refer to themselves', object({ next: { $ref: '#' } }), object({ next: { $ref: '#' } })],
    ['uniqueItems: false and no uniqueItems', { type: 'array', uniqueItems: false }, { type: 'array' }],
    ['additionalProperties: true and none', object({}, { additionalProperties: true }), object({})],
    ['a const and an enum of one value', { const: 1 }, { enum: [1] }],
    ['the order of an enum', { enum: [1, 2] }, { enum: [2, 1] }],
    ['the order of alternatives', { anyOf: [string, number] }, { anyOf: [number, string] }],
    ['the order of required', object({}, { required: ['a', 'b'] }), object({}, { required: ['b', 'a'] })],
  ])('sees no difference between %s', (_, before, after) => {
    expect(diffSchemas(before, after)).toEqual([])
  })

  it.each<[string, unknown, unknown]>([
    ['number to integer', number, { type: 'integer' }],
    ['several types to one', { type: ['string', 'null'] }, string],
    ['any type to one', {}, string],
    ['everything to nothing', {}, false],
    ['fewer enum values', { enum: ['a', 'b'] }, { enum: ['a'] }],
    ['any string to an enum', string, { type: 'string', enum: ['a'] }],
    ['a higher minimum', { minimum: 1 }, { minimum: 2 }],
    ['a new maximum', {}, { maximum: 2 }],
    ['a lower maxLength', { maxLength: 9 }, { maxLength: 8 }],
    ['a new pattern', string, { type: 'string', pattern: '^a' }],
    ['a new format', string, { type: 'string', format: 'uri' }],
    ['a multiple of a multiple', { multipleOf: 2 }, { multipleOf: 4 }],
    ['unique items', { type: 'array' }, { type: 'array', uniqueItems: true }],
    ['narrower items', { type: 'array', items: number }, { type: 'array', items: { type: 'integer' } }],
    ['typed additional properties', object({}), object({}, { additionalProperties: string })],
    ['a required property', object({ a: string }), object({ a: string }, { required: ['a'] })],
    ['a nested property', object({ a: object({ b: {} }) }), object({ a: object({ b: string }) })],
    ['fewer alternatives', { anyOf: [string, number] }, { anyOf: [string] }],
    ['one of the alternatives', { anyOf: [string, { type: 'null' }] }, string],
    ['a narrower alternative', { oneOf: [string, number] }, { oneOf: [string, { type: 'integer' }] }],
    ['another condition', { allOf: [string] }, { allOf: [string, { minLength: 1 }] }],
    ['a narrower definition', { $ref: '#/$defs/a', $defs: { a: {} } }, { $ref: '#/$defs/a', $defs: { a: string } }],
  ])('sees that the second accepts less: %s', (_, before, after) => {
    expect(directions(before, after)).toEqual(['narrower'])
    expect(directions(after, before)).toEqual([opposite.narrower])
  })

  it.each<[string, unknown, unknown]>([
    ['another type', string, number],
    ['another pattern', { pattern: 'a' }, { pattern: 'b' }],
    ['a removed property', object({ a: string }), object({})],
    ['another condition', { not: string }, { not: number }],
    ['alternatives beside a type', string, { anyOf: [number, { type: 'null' }] }],
  ])('sees that values are lost in both directions: %s', (_, before, after) => {
    expect(directions(before, after)).toEqual(expect.arrayContaining([expect.stringMatching(/other|narrower/)]))
  })

  it('reports a renamed property, an optional one, a default and texts', () => {
    const before = object({ a: string, c: { type: 'string', description: 'Old', default: 'x' } })
    const after = object({ b: string, c: { type: 'string', description: 'New', default: 'y' }, __proto__: number })
    expect(diffSchemas(before, after)).toEqual([
      { direction: 'other', path: '/properties/a', message: 'renamed: a -> b' },
      { direction: 'text', path: '/properties/c/description', message: 'description: "Old" -> "New"' },
      { direction: 'addition', path: '/properties/c/default', message: 'default: "x" -> "y"' },
      { direction: 'addition', path: '/properties/b', message: 'added: b' },
    ])
  })

  it('counts a schema that closes as narrower, and one that opens as an addition', () => {
    const open = object({})
    const closed = object({}, { additionalProperties: false })
    expect(directions(open, closed)).toEqual(['narrower'])
    expect(directions(closed, open)).toEqual(['addition'])
  })

  it('compares properties named like members of every object', () => {
    const parse = (text: string) => JSON.parse(text) as unknown
    const before = parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
    )
    const after = parse('{"type":"object","properties":{"__proto__":{"type":"number"}}}')
    expect(diffSchemas(before, after).map(({ path }) => path)).toEqual([
      '/properties/__proto__/type',
      '/properties/constructor',
    ])
  })

  it('ends for small schemas that stand for huge ones', () => {
    const level = (at: number) => {
      const $ref = `#/$defs/a${at + 1}`
      return object({ a: { $ref }, b: { $ref }, c: { anyOf: [{ $ref }, { type: 'null' }] } })
    }
    const huge = (end: object) => ({
      $ref: '#/$defs/a0',
      $defs: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`a${at}`, at === 29 ? end : level(at)])),
    })
    expect(directions(huge(string), huge(number))).toEqual(['other'])
  })

  it('ends for very deep schemas', () => {
    const deep = (levels: number, end: object): object => (levels === 0 ? end : object({ a: deep(levels - 1, end) }))
    expect(directions(deep(500, string), deep(500, number))).toEqual(['other'])
  })
})
