import { describe, expect, test, vi } from 'vitest'
import { compileJsonSchema, type JsonSchema } from '../../src/schema/json-schema.ts'
import { isValid, refusal } from './json-schema-support.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

describe('checking a value against a JSON Schema', () => {
  test('returns undefined for a valid value and the path of each issue otherwise', () => {
    const check = compileJsonSchema({
      type: 'object',
      properties: {
        age: { type: 'number' },
        unit: { enum: ['a', 'b'] },
        tags: { items: { type: ['string', 'null'] } },
      },
      required: ['age'],
      additionalProperties: false,
    })
    expect(check({ age: 1, unit: 'a', tags: ['x', null], 'a/b~c': 0 })).toEqual([
      { path: '/a~1b~0c', message: 'is not a known property' },
    ])
    expect(check({ age: '1', unit: 'c', tags: [1] })).toEqual([
      { path: '/age', message: 'must be a number, got string' },
      { path: '/unit', message: 'must be one of "a", "b"' },
      { path: '/tags/0', message: 'must be a string or null, got number' },
    ])
    expect(compileJsonSchema({ required: ['a/b~c'] })({})).toEqual([{ path: '/a~1b~0c', message: 'is required' }])
    expect(check([])).toEqual([{ path: '', message: 'must be an object, got array' }])
  })

  test.each<[JsonSchema | boolean, unknown, string]>([
    [{ type: 'integer' }, 1.5, 'must be an integer, got 1.5'],
    [{ type: 'number' }, Number.NaN, 'must be a number, got NaN'],
    [{ const: { a: [1] } }, { a: [2] }, 'must be {"a":[1]}'],
    [{ minimum: 1 }, 0, 'must be at least 1'],
    [{ exclusiveMaximum: 1 }, 1, 'must be less than 1'],
    [{ multipleOf: 0.1 }, 0.35, 'must be a multiple of 0.1'],
    [{ minLength: 2 }, '😀', 'must have at least 2 characters, has 1'],
    [{ pattern: '^a$' }, 'b', 'must match the pattern ^a$'],
    [{ maxItems: 1 }, [1, 2], 'must have at most 1 item, has 2'],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'must not have equal items; item 1 repeats an earlier one',
    ],
    [{ contains: { type: 'null' } }, [1], 'must have at least 1 matching item, has 0'],
    [{ minProperties: 1 }, {}, 'must have at least 1 property, has 0'],
    [{ not: { type: 'string' } }, 'x', 'must not match the forbidden shape'],
    [
      { oneOf: [{ type: 'number' }, { minimum: 0 }] },
      1,
      'must match exactly one of the allowed shapes, matches several',
    ],
    [
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      true,
      'matches none of the allowed shapes: must be a string, got boolean, or must be a number, got boolean',
    ],
    [false, 1, 'is not allowed'],
  ])('explains %j for the value %j', (schema, value, message) => {
    expect(compileJsonSchema(schema)(value)).toEqual([{ path: '', message }])
  })

  test('explains the closest branch of a union instead of all of them', () => {
    const check = compileJsonSchema({
      oneOf: [
        { properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind', 'radius'] },
        { properties: { kind: { const: 'box' }, width: { type: 'number' } }, required: ['kind', 'width'] },
      ],
    })
    expect(check({ kind: 'box', width: 'wide' })).toEqual([{ path: '/width', message: 'must be a number, got string' }])
  })

  test('names the wrong property name and the property that another one requires', () => {
    expect(compileJsonSchema({ propertyNames: { maxLength: 2 } })({ abc: 1 })).toEqual([
      { path: '/abc', message: 'has a name that must have at most 2 characters, has 3' },
    ])
    expect(compileJsonSchema({ dependentRequired: { card: ['address'] } })({ card: 1 })).toEqual([
      { path: '/address', message: 'is required when "card" is present' },
    ])
  })

  test('stops collecting after 20 issues', () => {
    expect(compileJsonSchema({ items: { type: 'string' } })(Array(100).fill(1))).toHaveLength(20)
  })

  test('counts decimals exactly and lengths in code points', () => {
    expect(isValid({ multipleOf: 0.01 }, 19.99)).toBe(true)
    expect(isValid({ multipleOf: 1e-8 }, 12391239123)).toBe(true)
    expect(isValid({ multipleOf: 0.123456789 }, 1e308)).toBe(false)
    expect(isValid({ type: 'integer' }, 1.0)).toBe(true)
    expect(isValid({ maxLength: 1 }, '😀')).toBe(true)
  })

  test('reads only own properties of a value', () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')
    expect(isValid({ properties: { admin: { const: false } }, required: ['admin'] }, hostile)).toBe(false)
    expect(isValid({ required: ['toString'] }, {})).toBe(false)
    expect(isValid({ properties: { constructor: { type: 'string' } } }, {})).toBe(true)
    expect(isValid({ properties: { constructor: { type: 'string' } } }, hostile)).toBe(false)
    expect(isValid(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), hostile)).toBe(false)
    expect(isValid({ additionalProperties: false }, hostile)).toBe(false)
  })

  test('treats an undefined property as absent, as JSON does', () => {
    expect(isValid({ properties: { a: { type: 'string' } }, maxProperties: 0 }, { a: undefined })).toBe(true)
    expect(isValid({ required: ['a'] }, { a: undefined })).toBe(false)
  })

  test('can be called recursively from a getter of the value', () => {
    const check = compileJsonSchema({ properties: { a: { type: 'string' } }, required: ['a'] })
    const value = {
      get a() {
        return check({}) === undefined ? 'valid' : 5
      },
    }
    expect(check(value)).toEqual([{ path: '/a', message: 'must be a string, got number' }])
  })
})

describe('JSON Schema references', () => {
  test('resolves $defs, anchors, embedded ids, unknown keywords and the root [JSON-003]', () => {
    const check = compileJsonSchema({
      properties: {
        pointer: { $ref: '#/$defs/a~1b' },
        anchor: { $ref: '#name' },
        id: { $ref: 'urn:example:embedded' },
        elsewhere: { $ref: '#/x-shared/text' },
        self: { $ref: '#' },
      },
      additionalProperties: false,
      'x-shared': { text: { const: 'elsewhere' } },
      $defs: {
        'a/b': { const: 'pointer' },
        b: { $anchor: 'name', const: 'anchor' },
        c: { $id: 'urn:example:embedded', const: 'id' },
      },
    })
    expect(check({ pointer: 'pointer', anchor: 'anchor', id: 'id', elsewhere: 'elsewhere', self: { self: {} } })).toBe(
      undefined,
    )
    expect(check({ pointer: 1, anchor: 1, id: 1, elsewhere: 1, self: { self: { no: 1 } } })).toHaveLength(5)
  })

  test('resolves $dynamicRef to the outermost schema that extends the inner one [JSON-003]', () => {
    const tree = {
      $id: 'https://example.com/tree',
      $dynamicAnchor: 'node',
      properties: { children: { items: { $dynamicRef: '#node' } } },
    }
    const closed = { $dynamicAnchor: 'node', $ref: 'https://example.com/tree', unevaluatedProperties: false }
    const check = compileJsonSchema(closed, { documents: { 'https://example.com/tree': tree } })
    expect(check({ children: [{ children: [] }] })).toBe(undefined)
    expect(check({ children: [{ chidlren: [] }] })).toEqual([
      { path: '/children/0/chidlren', message: 'is not a known property' },
    ])
  })

  test('tracks what subschemas have evaluated [JSON-003]', () => {
    const schema = {
      allOf: [{ properties: { a: true } }],
      if: { required: ['b'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { b: true } },
      unevaluatedProperties: false,
    }
    expect(isValid(schema, { a: 1, b: 2 })).toBe(true)
    expect(isValid(schema, { a: 1, c: 2 })).toBe(false)
    expect(isValid({ prefixItems: [true], contains: { type: 'string' }, unevaluatedItems: false }, [1, 'a'])).toBe(true)
  })

  test('resolves documents that the caller passes, by URI or by an inner $id', () => {
    const name = { $defs: { short: { $id: 'urn:example:short', maxLength: 3 } }, type: 'string', minLength: 1 }
    const documents = { 'https://example.com/name.json': name }
    expect(isValid({ $ref: 'https://example.com/name.json' }, '', { documents })).toBe(false)
    expect(isValid({ $ref: 'https://example.com/name.json#/$defs/short' }, 'long', { documents })).toBe(false)
    expect(isValid({ $ref: 'urn:example:short' }, 'long', { documents })).toBe(false)
  })

  test.each([
    'https://example.com/a.json',
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    'other.json#/a',
    'https://json-schema.org/draft/2020-12/schema',
  ])('refuses references to %s and never fetches them [JSON-009, JSON-011, JSON-013]', ($ref) => {
    const fetch = vi.spyOn(globalThis, 'fetch')
    const error = refusal({ properties: { a: { $ref } } })
    expect(error.message).toContain('network references are never fetched')
    expect(error.message).toContain('documents')
    expect(error.pointer).toBe('/properties/a/$ref')
    expect(fetch).not.toHaveBeenCalled()
    fetch.mockRestore()
  })

  test('refuses dangling references [JSON-013]', () => {
    expect(refusal({ $ref: '#/$defs/missing' }).message).toContain('points to nothing')
    expect(refusal({ $ref: '#missing' }).message).toContain('points to nothing')
    expect(refusal({ $ref: '#/constructor/prototype' }).message).toContain('points to nothing')
    expect(refusal({ $ref: '#/title', title: 'x' }).message).toContain('does not point to a schema')
    expect(refusal({ $ref: '#/%zz' }).message).toContain('not a URI')
  })
})

describe('JSON Schema dialects', () => {
  test('reads a schema without $schema as 2020-12 [JSON-001]', () => {
    expect(isValid({ prefixItems: [{ type: 'string' }] }, [1])).toBe(false)
    expect(isValid({ $ref: '#/$defs/any', type: 'string', $defs: { any: true } }, 1)).toBe(false)
    expect(refusal({ items: [{ type: 'string' }] }).message).toContain('prefixItems')
  })

  test('reads draft-07: tuples in items, siblings of $ref ignored, no prefixItems [JSON-005]', () => {
    const $schema = DRAFT_07
    expect(isValid({ $schema, items: [{ type: 'string' }], additionalItems: false }, ['a', 1])).toBe(false)
    expect(isValid({ $schema, prefixItems: [{ type: 'string' }] }, [1])).toBe(true)
    expect(isValid({ $schema, dependencies: { a: ['b'] } }, { a: 1 })).toBe(false)
    const beside = {
      $schema,
      properties: { a: { $ref: '#/definitions/any', type: 'string' } },
      definitions: { any: true },
    }
    expect(isValid(beside, { a: 1 })).toBe(true)
    expect(isValid({ $schema, unevaluatedProperties: false }, { a: 1 })).toBe(true)
  })

  test('allows an embedded schema of another dialect [JSON-005]', () => {
    const schema = { properties: { old: { $schema: DRAFT_07, items: [{ type: 'string' }] } } }
    expect(isValid(schema, { old: [1] })).toBe(false)
  })

  test.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-06/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://example.com/mine',
    'nonsense',
    '',
  ])('refuses the dialect %j and names the supported ones [JSON-006]', ($schema) => {
    expect(refusal({ $schema }).message).toContain('unsupported dialect. Use 2020-12 or draft-07')
    const documents = { 'https://example.com/mine': {} }
    expect(refusal({ properties: { a: { $schema } } }, { documents }).pointer).toBe('/properties/a')
  })
})

describe('malformed schemas', () => {
  test.each<[unknown, string, string]>([
    [null, '', 'must be an object, true or false, not null'],
    ['string', '', 'must be an object, true or false'],
    [{ type: 'strng' }, '/type', 'one or more of string, number, integer, boolean, null, array, object, not "strng"'],
    [{ type: [] }, '/type', 'object, not []'],
    [{ type: ['null', 'null'] }, '/type', 'not ["null","null"]'],
    [{ required: 'x' }, '/required', 'must be an array of unique property names'],
    [{ required: ['a', 'a'] }, '/required', 'unique property names'],
    [{ properties: [] }, '/properties', 'must be an object'],
    [{ properties: { a: { items: 5 } } }, '/properties/a/items', 'must be an object, true or false, not 5'],
    [{ additionalProperties: null }, '/additionalProperties', 'must be an object, true or false'],
    [{ enum: 'a' }, '/enum', 'must be an array'],
    [{ minLength: -1 }, '/minLength', 'must be an integer of 0 or more'],
    [{ minimum: '1' }, '/minimum', 'must be a number'],
    [{ multipleOf: 0 }, '/multipleOf', 'greater than 0'],
    [{ anyOf: [] }, '/anyOf', 'non-empty array'],
    [{ $defs: { 'a/b': null } }, '/$defs/a~1b', 'must be an object, true or false'],
    [{ pattern: '(' }, '/pattern', 'not a valid regular expression'],
    [{ patternProperties: { '[': {} } }, '/patternProperties', 'not a valid regular expression'],
    [{ $ref: 5 }, '/$ref', 'must be a string'],
    [{ $id: '#a' }, '', 'Use $anchor'],
    [{ $anchor: 'a b' }, '/$anchor', 'must be a name of letters'],
    [
      { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x', type: 'null' } } },
      '/$defs/b',
      'Two different schemas are named "#x"',
    ],
    [
      { $defs: { a: { $id: 'u:x' }, b: { $id: 'u:x', type: 'null' } } },
      '/$defs/b',
      'Two different schemas are named "u:x#"',
    ],
    [{ $schema: DRAFT_07, dependencies: { a: [1] } }, '/dependencies', 'arrays of unique property names'],
    [{ dependentRequired: { a: 'b' } }, '/dependentRequired', 'arrays of unique property names'],
    [{ title: 5 }, '/title', 'must be a string, not 5'],
  ])('refuses %j [JSON-007]', (schema, pointer, message) => {
    const error = refusal(schema as JsonSchema)
    expect(error.message).toContain(message)
    expect(error.pointer).toBe(pointer)
  })

  test('names the document in an error inside another document [JSON-007]', () => {
    const documents = { 'https://example.com/a': { properties: { b: { type: 'x' } } } }
    expect(refusal({ $ref: 'https://example.com/a' }, { documents }).pointer).toBe(
      'https://example.com/a#/properties/b/type',
    )
  })
})
