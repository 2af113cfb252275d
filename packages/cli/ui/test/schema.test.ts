import { describe, expect, it } from 'vitest'
import { initialObject, initialValue } from '../src/schema-form/initial-value.ts'
import { missingFields } from '../src/schema-form/problems.ts'
import { choicesOf, kindOf, resolve, variantFor, variantName, variantsOf } from '../src/schema-form/schema.ts'

describe('the form of a schema', () => {
  it.each([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: 'string', contentEncoding: 'base64' }, 'file'],
    [{ enum: ['a'] }, 'choice'],
    [{ oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] }, 'choice'],
    [{ const: 3 }, 'const'],
    [{ type: ['string', 'null'] }, 'union'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'union'],
    [{ type: 'array', items: { enum: ['a'] } }, 'choices'],
    [{ type: 'array', items: { type: 'string' } }, 'array'],
    [{ prefixItems: [{ type: 'string' }] }, 'tuple'],
    [{ properties: {} }, 'object'],
    [{}, 'any'],
    [{ type: 5, oneOf: [] }, 'any'],
  ])('has for %j a field of the kind %s', (schema, kind) => {
    expect(kindOf(resolve(schema, {}), {})).toBe(kind)
  })

  it('follows references within the document only, and ends when they go in circles', () => {
    const root = {
      $defs: { 'a/b': { type: 'string' }, loop: { $ref: '#/$defs/loop' }, named: { $anchor: 'x', type: 'null' } },
    }
    expect(resolve({ $ref: '#/$defs/a~1b', title: 'T' }, root)).toEqual({ type: 'string', title: 'T' })
    expect(resolve({ $ref: '#x' }, root)).toMatchObject({ type: 'null' })
    expect(resolve({ $ref: '#/$defs/loop' }, root)).toEqual({})
    expect(resolve({ $ref: 'https://example.com/schema' }, root)).toEqual({})
    expect(resolve({ $ref: '#/constructor' }, root)).toEqual({})
    expect(resolve({ $ref: '#/%E0%A4%A' }, root)).toEqual({})
  })

  it('merges allOf', () => {
    const merged = resolve(
      {
        allOf: [
          { properties: { a: {} }, required: ['a'] },
          { properties: { b: {} }, required: ['b'] },
        ],
      },
      {},
    )
    expect(merged).toEqual({ properties: { a: {}, b: {} }, required: ['a', 'b'] })
  })

  it('starts with defaults and required fields, and ends in recursive ones', () => {
    const node = {
      type: 'object',
      properties: { name: { type: 'string' }, next: { $ref: '#' } },
      required: ['name', 'next'],
    }
    expect(JSON.stringify(initialValue(node, node)).length).toBeLessThan(1_000)
    const schema = {
      properties: { a: { type: 'number' }, b: { default: [1] }, c: { type: 'string' }, d: { type: 'boolean' } },
      required: ['a', 'c', 'd'],
    }
    expect(initialObject(schema, schema)).toEqual({ b: [1], c: '', d: false })
    expect(missingFields({ c: '' }, schema, schema)).toEqual(['a', 'd'])
  })

  it('finds the variant of a value by its type and its constants', () => {
    const circle = { type: 'object', properties: { kind: { const: 'circle' }, r: {} }, required: ['kind'] }
    const square = { type: 'object', properties: { kind: { const: 'square' }, r: {} }, required: ['kind'] }
    const variants = variantsOf({ oneOf: [{ type: 'string' }, circle, square] }) ?? []
    expect(variantFor({ kind: 'square' }, variants, {})).toBe(2)
    expect(variantFor('text', variants, {})).toBe(0)
    expect(variants.map((variant, index) => variantName(variant, {}, index))).toEqual(['string', 'circle', 'square'])
  })

  it('names choices by their titles', () => {
    expect(choicesOf({ enum: ['a', 2], enumNames: ['First'] }, {})).toEqual([
      { value: 'a', label: 'First' },
      { value: 2, label: '2' },
    ])
  })
})
