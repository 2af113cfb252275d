import { describe, expect, test, vi } from 'vitest'
import { type CompileOptions, compileJsonSchema, type JsonSchema, SchemaError } from './json-schema.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'

describe('a check of a value', () => {
  test('answers undefined for a valid value and names the path of each issue in an invalid one', () => {
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
    [{ contains: { type: 'null' } }, [1], 'must have at least 1 item of the wanted kind, has 0'],
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
  ])('explains %j to whoever sent %j', (schema, value, message) => {
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

  test('says which property name is wrong and which property another one asks for', () => {
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

  test('takes only own properties of a value for its properties', () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')
    expect(isValid({ properties: { admin: { const: false } }, required: ['admin'] }, hostile)).toBe(false)
    expect(isValid({ required: ['toString'] }, {})).toBe(false)
    expect(isValid({ properties: { constructor: { type: 'string' } } }, {})).toBe(true)
    expect(isValid({ properties: { constructor: { type: 'string' } } }, hostile)).toBe(false)
    expect(isValid(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), hostile)).toBe(false)
    expect(isValid({ additionalProperties: false }, hostile)).toBe(false)
  })

  test('takes a property that is undefined for absent, as JSON does', () => {
    expect(isValid({ properties: { a: { type: 'string' } }, maxProperties: 0 }, { a: undefined })).toBe(true)
    expect(isValid({ required: ['a'] }, { a: undefined })).toBe(false)
  })

  test('can be called again from inside of a value', () => {
    const check = compileJsonSchema({ properties: { a: { type: 'string' } }, required: ['a'] })
    const value = {
      get a() {
        return check({}) === undefined ? 'valid' : 5
      },
    }
    expect(check(value)).toEqual([{ path: '/a', message: 'must be a string, got number' }])
  })
})

describe('references', () => {
  test('lead to $defs, anchors, embedded ids, unknown places and back to the root [JSON-003]', () => {
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

  test('follow $dynamicRef to the outermost schema that extends the inner one [JSON-003]', () => {
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

  test('know what subschemas have evaluated [JSON-003]', () => {
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

  test('reach documents that the caller hands in, by their URI or by an $id inside of them', () => {
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
  ])('to %s are refused and never fetched [JSON-009, JSON-011, JSON-013]', ($ref) => {
    const fetch = vi.spyOn(globalThis, 'fetch')
    const error = refusal({ properties: { a: { $ref } } })
    expect(error.message).toContain('network references are never fetched')
    expect(error.message).toContain('documents')
    expect(error.pointer).toBe('/properties/a/$ref')
    expect(fetch).not.toHaveBeenCalled()
    fetch.mockRestore()
  })

  test('that lead nowhere are refused [JSON-013]', () => {
    expect(refusal({ $ref: '#/$defs/missing' }).message).toContain('points at nothing')
    expect(refusal({ $ref: '#missing' }).message).toContain('points at nothing')
    expect(refusal({ $ref: '#/constructor/prototype' }).message).toContain('points at nothing')
    expect(refusal({ $ref: '#/title', title: 'x' }).message).toContain('leads to no schema')
    expect(refusal({ $ref: '#/%zz' }).message).toContain('no URI')
  })
})

describe('dialects', () => {
  test('a schema without $schema is read as 2020-12 [JSON-001]', () => {
    expect(isValid({ prefixItems: [{ type: 'string' }] }, [1])).toBe(false)
    expect(isValid({ $ref: '#/$defs/any', type: 'string', $defs: { any: true } }, 1)).toBe(false)
    expect(refusal({ items: [{ type: 'string' }] }).message).toContain('prefixItems')
  })

  test('draft-07 has tuples in items, ignores what is beside a $ref and knows no prefixItems [JSON-005]', () => {
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

  test('an embedded schema may be of another dialect [JSON-005]', () => {
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
  ])('the dialect %j is refused by an error that names the supported ones [JSON-006]', ($schema) => {
    expect(refusal({ $schema }).message).toContain('unsupported dialect; use 2020-12 or draft-07')
    const documents = { 'https://example.com/mine': {} }
    expect(refusal({ properties: { a: { $schema } } }, { documents }).pointer).toBe('/properties/a')
  })
})

describe('malformed schemas', () => {
  test.each<[unknown, string, string]>([
    [null, '', 'must be an object, true or false, not null'],
    ['string', '', 'must be an object, true or false'],
    [
      { type: 'strng' },
      '/type',
      'one or several of string, number, integer, boolean, null, array, object, not "strng"',
    ],
    [{ type: [] }, '/type', 'object, not []'],
    [{ type: ['null', 'null'] }, '/type', 'not ["null","null"]'],
    [{ required: 'x' }, '/required', 'must be an array of property names'],
    [{ required: ['a', 'a'] }, '/required', 'each of them once'],
    [{ properties: [] }, '/properties', 'must be an object'],
    [{ properties: { a: { items: 5 } } }, '/properties/a/items', 'must be an object, true or false, not 5'],
    [{ additionalProperties: null }, '/additionalProperties', 'must be an object, true or false'],
    [{ enum: 'a' }, '/enum', 'must be an array'],
    [{ minLength: -1 }, '/minLength', 'must be a whole number'],
    [{ minimum: '1' }, '/minimum', 'must be a number'],
    [{ multipleOf: 0 }, '/multipleOf', 'above 0'],
    [{ anyOf: [] }, '/anyOf', 'non-empty array'],
    [{ $defs: { 'a/b': null } }, '/$defs/a~1b', 'must be an object, true or false'],
    [{ pattern: '(' }, '/pattern', 'not a valid regular expression'],
    [{ patternProperties: { '[': {} } }, '/patternProperties', 'not a valid regular expression'],
    [{ $ref: 5 }, '/$ref', 'must be a string'],
    [{ $id: '#a' }, '', 'use $anchor'],
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
    [{ $schema: DRAFT_07, dependencies: { a: [1] } }, '/dependencies', 'arrays of property names'],
    [{ dependentRequired: { a: 'b' } }, '/dependentRequired', 'arrays of property names'],
    [{ title: 5 }, '/title', 'must be a string, not 5'],
  ])('%j is refused [JSON-007]', (schema, pointer, message) => {
    const error = refusal(schema as JsonSchema)
    expect(error.message).toContain(message)
    expect(error.pointer).toBe(pointer)
  })

  test('an error inside of another document names that document [JSON-007]', () => {
    const documents = { 'https://example.com/a': { properties: { b: { type: 'x' } } } }
    expect(refusal({ $ref: 'https://example.com/a' }, { documents }).pointer).toBe(
      'https://example.com/a#/properties/b/type',
    )
  })
})

describe('bounds', () => {
  test('a schema that refers to itself without end is refused [JSON-014]', () => {
    const endless = 'refers to itself without end'
    expect(refusal({ $ref: '#' }).message).toContain(endless)
    expect(refusal({ anyOf: [{ type: 'string' }, { $ref: '#' }] }).message).toContain(endless)
    const ring = { $ref: '#/$defs/a', $defs: { a: { not: { $ref: '#/$defs/b' } }, b: { $ref: '#/$defs/a' } } }
    expect(refusal(ring).message).toContain(endless)
    const dynamic = compileJsonSchema({ $dynamicAnchor: 'a', $dynamicRef: '#a' })
    expect(dynamic(1)).toEqual([{ path: '', message: 'is nested too deep to check' }])
  })

  test('a value nested too deep is an issue, even where not would swallow it [JSON-014]', () => {
    const tooDeep = [expect.objectContaining({ message: 'is nested too deep to check' })]
    const list = { type: 'array', items: { $ref: '#' } }
    expect(compileJsonSchema(list)(nested(255))).toBe(undefined)
    expect(compileJsonSchema(list)(nested(100_000))).toEqual(tooDeep)
    expect(compileJsonSchema({ not: { items: { $ref: '#' } } })(nested(100_000))).toEqual(tooDeep)
    expect(compileJsonSchema({ uniqueItems: true })([nested(100_000), nested(100_000)])).toEqual(tooDeep)
    expect(compileJsonSchema(list, { maxDepth: 3 })(nested(5))).toEqual(tooDeep)
    const cyclic: unknown[] = []
    cyclic.push(cyclic, cyclic)
    expect(compileJsonSchema({ uniqueItems: true })(cyclic)).toEqual(tooDeep)
  })

  test('a long chain of references ends in an issue, not in a stack overflow [JSON-014]', () => {
    const $defs: JsonSchema = { end: true }
    for (let index = 0; index < 5_000; index++) {
      $defs[`a${index}`] = { $ref: index === 4_999 ? '#/$defs/end' : `#/$defs/a${index + 1}` }
    }
    const check = compileJsonSchema({ $ref: '#/$defs/a0', $defs })
    expect(check(1)).toEqual([{ path: '', message: 'is nested too deep to check' }])
  })

  test('a check that would take exponential time runs out of steps, even below not [JSON-014]', () => {
    const $defs: JsonSchema = { a40: { type: 'string' } }
    for (let index = 0; index < 40; index++) {
      $defs[`a${index}`] = { allOf: [{ $ref: `#/$defs/a${index + 1}` }, { $ref: `#/$defs/a${index + 1}` }] }
    }
    const outOfSteps = [{ path: '', message: 'takes too many steps to check' }]
    expect(compileJsonSchema({ $ref: '#/$defs/a0', $defs }, { maxSteps: 1e5 })('x')).toEqual(outOfSteps)
    expect(compileJsonSchema({ not: { $ref: '#/$defs/a0' }, $defs }, { maxSteps: 1e5 })('x')).toEqual(outOfSteps)
    const check = compileJsonSchema({ items: { type: 'number' } }, { maxSteps: 100 })
    expect(check(Array(1_000).fill(1))).toEqual(outOfSteps)
    expect(check([1])).toBe(undefined)
  })

  test('schemas that are too deep or too large are refused [JSON-014]', () => {
    let deep: JsonSchema = {}
    for (let level = 0; level < 100_000; level++) deep = { not: deep }
    expect(refusal(deep).message).toContain('deeper than 128 levels')
    const cyclic: JsonSchema = {}
    cyclic.not = cyclic
    expect(refusal(cyclic).message).toContain('deeper than 128 levels')
    expect(refusal({ allOf: Array(10_001).fill(true) }).message).toContain('more than 10000 subschemas')
    expect(refusal({ const: nested(100_000) }).message).toContain('deeper than 128 levels')
    expect(refusal({ items: nested(100_000) as JsonSchema }).pointer).toBe('/items')
    expect(refusal({ pattern: 'a'.repeat(1_001) }).message).toContain('more than 1000 characters')
    const many = Array.from({ length: 30 }, (_, index) => ({ pattern: `^a{9999}${index}$` }))
    expect(refusal({ allOf: many }).message).toContain('is too large when its repetitions are written out')
  })
})

describe('the work of one check', () => {
  const tooManySteps = expect.objectContaining({ message: 'takes too many steps to check' })

  test.each<[name: string, schema: JsonSchema, value: unknown]>([
    ['a pattern', { pattern: '(?:a|b)*a(?:a|b){200}c' }, disorder(50_000)],
    ['a pattern with lookarounds', { pattern: '^(?:(?!.*c)[^])*$' }, 'ab'.repeat(50_000)],
    ['patternProperties', { patternProperties: { '\\d+(?=.*x)$': true } }, { ['1'.repeat(300_000)]: 1 }],
    ['propertyNames', { propertyNames: { pattern: '\\d+(?=.*x)$' } }, { ['1'.repeat(300_000)]: 1 }],
    ['uniqueItems of long strings', { items: { uniqueItems: true } }, Array(50).fill(['x'.repeat(300_000)])],
    ['uniqueItems with long keys', { items: { uniqueItems: true } }, Array(50).fill([{ ['x'.repeat(300_000)]: 1 }])],
    ['an enum of objects', { items: { enum: [{ a: 1 }, { b: 1 }] } }, Array(50).fill(wide(50_000))],
    ['a constant object', { items: { const: { a: 1 } } }, Array(50).fill(wide(50_000))],
    ['contains', { contains: { const: 1 } }, Array(1_000_000).fill(2)],
    ['a format', { items: { format: 'uri' } }, Array(50).fill(`a:${'b'.repeat(300_000)}`)],
    ['decimal multiples', { items: { multipleOf: 0.01 } }, Array(100_000).fill(1e300)],
    [
      'types that do not fit',
      { items: { anyOf: [...Array(99).fill({ type: 'string' }), true] } },
      Array(50_000).fill(1),
    ],
    ['dependencies that do not apply', { items: { dependentRequired: names(200) } }, Array(50_000).fill({})],
    ['members evaluated in nested branches', { ...branches(100), unevaluatedProperties: false }, wide(50_000)],
    ['issues with long paths', { additionalProperties: { anyOf: unions(6) } }, { ['x'.repeat(300_000)]: 1 }],
    ['dynamic references', { items: { $ref: '#/$defs/a0' }, $defs: chain(300) }, Array(10_000).fill(1)],
  ])('is bounded for %s [JSON-014]', (_name, schema, value) => {
    expect(compileJsonSchema(schema, { formats: true, maxSteps: 1_000_000 })(value)).toContainEqual(tooManySteps)
  })

  test('stops at the key that uses up the steps of patternProperties [JSON-014]', () => {
    const patterns = Array.from({ length: 200 }, (_, index) => [`^zz${index}`, true])
    const { value, reads } = countReads(10_000)
    const check = compileJsonSchema({ patternProperties: Object.fromEntries(patterns) }, { maxSteps: 100_000 })
    expect(check(value)).toContainEqual(tooManySteps)
    expect(reads()).toBeLessThan(1_000)
  })

  test.each<[name: string, schema: JsonSchema]>([
    ['minProperties', { anyOf: each(500, (index) => ({ minProperties: 100_000 + index })) }],
    ['properties', { allOf: each(500, (index) => ({ properties: { [`a${index}`]: true } })) }],
    ['additionalProperties that refuse the first key', { anyOf: each(500, () => ({ additionalProperties: false })) }],
    ['propertyNames', { allOf: each(500, () => ({ propertyNames: true })) }],
    ['propertyNames that refuse the first key', { anyOf: each(500, () => ({ propertyNames: { maxLength: 1 } })) }],
    ['dependentSchemas', { dependentSchemas: Object.fromEntries(each(500, (index) => [`key${index}`, COUNTED])) }],
    ['unevaluatedProperties', { allOf: each(500, () => ({ unevaluatedProperties: true })) }],
    ['members evaluated in branches', { anyOf: each(500, () => COUNTED), unevaluatedProperties: false }],
    ['an enum of objects', { anyOf: each(500, (index) => ({ enum: [{ index }] })) }],
  ])('lists the keys of a large object a few times at most for %s [JSON-014]', (_name, schema) => {
    const { value, walks } = countReads(20_000)
    expect(compileJsonSchema(schema, { maxSteps: 1_000_000 })(value)).toContainEqual(tooManySteps)
    expect(walks()).toBeLessThan(15)
  })

  test('grows with the length of a text whose characters are counted [JSON-014]', () => {
    const anyOf = each(100, (index) => ({ maxLength: 10 + index }))
    expect(compileJsonSchema({ anyOf }, { maxSteps: 1_000_000 })('😀'.repeat(50_000))).toContainEqual(tooManySteps)
    expect(compileJsonSchema({ minLength: 1, maxLength: 200_000 }, { maxSteps: 10_000 })('😀'.repeat(50_000))).toBe(
      undefined,
    )
  })

  test('grows with the issues that are written to explain why no branch matches [JSON-014]', () => {
    const branch = { items: { type: ['string', 'null'] } }
    const check = compileJsonSchema({ anyOf: Array(1_000).fill(branch) }, { maxSteps: 200_000 })
    expect(check(Array(20).fill(1))).toContainEqual(tooManySteps)
  })

  test('grows with the items that are kept to find equal ones [JSON-014]', () => {
    const allOf = each(20, () => ({ uniqueItems: true }))
    const value = each(20_000, (index) => index)
    expect(compileJsonSchema({ allOf }, { maxSteps: 1_000_000 })(value)).toContainEqual(tooManySteps)
    expect(compileJsonSchema({ uniqueItems: true }, { maxSteps: 300_000 })(value)).toBe(undefined)
  })

  test('grows with the patterns that have to be prepared again because there are too many to remember [JSON-014]', () => {
    const patternProperties = Object.fromEntries(each(2_000, (index) => [`^zz${index}`, true]))
    const { value, reads } = countReads(1_000)
    expect(compileJsonSchema({ patternProperties })(value)).toContainEqual(tooManySteps)
    expect(reads()).toBeLessThan(50)
  })

  test('is small for many small objects', () => {
    const properties = { id: { type: 'integer' }, name: { type: 'string' }, done: { type: 'boolean' } }
    const items = { type: 'object', properties, additionalProperties: false }
    const value = each(50_000, (id) => ({ id, name: 'x', done: true }))
    expect(compileJsonSchema({ items }, { maxSteps: 400_000 })(value)).toBe(undefined)
  })

  test('is small for long texts and common patterns', () => {
    const check = (pattern: string, value: unknown) => compileJsonSchema({ pattern }, { maxSteps: 1_200_000 })(value)
    const text = 'a'.repeat(1_000_000)
    expect(check('^[a-z]+$', text)).toBe(undefined)
    expect(check('^[A-Za-z0-9+/]*={0,2}$', text)).toBe(undefined)
    expect(check('^(?!\\.)(?!.*\\.\\.)[a-z.]+$', text.slice(0, 500_000))).toBe(undefined)
    expect(check('^a', text.repeat(10))).toBe(undefined)
    expect(check('\\d+$', text)).toEqual([{ path: '', message: 'must match the pattern \\d+$' }])
  })
})

describe('numbers', () => {
  test('that are too large for JSON fit no schema', () => {
    const { huge } = JSON.parse('{"huge":1e400}')
    expect(compileJsonSchema({ maximum: 5 })(huge)).toEqual([
      { path: '', message: 'must be a JSON value, got Infinity' },
    ])
    expect(compileJsonSchema({ properties: { a: true } })({ a: -huge })).toEqual([
      { path: '/a', message: 'must be a JSON value, got -Infinity' },
    ])
    expect(isValid({ enum: [1] }, huge)).toBe(false)
    expect(isValid({ const: { a: null } }, { a: huge })).toBe(false)
    expect(isValid({ not: { type: 'string' } }, huge)).toBe(false)
    expect(isValid({ anyOf: [{ type: 'string' }, {}] }, [huge])).toBe(true)
  })
})

describe('formats', () => {
  const samples: Record<string, [valid: string[], invalid: string[]]> = {
    email: [
      ['ada@example.com', '"a b"@example.com', 'a@[127.0.0.1]'],
      ['ada', '@example.com', 'a..b@c.de', 'a@-b.c'],
    ],
    uri: [
      ['https://a.b/c?d=%20#e', 'urn:a:b', 'http://[::1]:80/'],
      ['/a', 'https://a b', 'http://[x]/', 'a:%zz'],
    ],
    date: [['2024-02-29'], ['2023-02-29', '2024-13-01', '2024-1-1']],
    time: [
      ['12:00:00Z', '23:59:60Z'],
      ['24:00:00Z', '12:00:00', '12:00:60Z'],
    ],
    'date-time': [['2024-02-29T12:00:00.5+01:00'], ['2024-02-29 12:00:00Z', '2024-02-30T12:00:00Z']],
    uuid: [['123e4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000']],
    ipv4: [['127.0.0.1'], ['127.0.0.01', '256.0.0.1', '1.2.3']],
    ipv6: [
      ['::', '::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4'],
      [':::', '1:2:3:4:5:6:7', '12345::', '1::2::3', '::1.2.3'],
    ],
  }

  test.each(Object.entries(samples))('%s is checked on request only', (format, [valid, invalid]) => {
    const check = compileJsonSchema({ format }, { formats: true })
    expect(valid.filter((text) => check(text) !== undefined)).toEqual([])
    expect(invalid.filter((text) => check(text) === undefined)).toEqual([])
    expect(invalid.every((text) => isValid({ format }, text))).toBe(true)
  })

  test('are checked in linear time', () => {
    // With quadratic checks this would take longer than a test may.
    for (const format of Object.keys(samples)) {
      for (const part of ['a', '1.', ':', 'a.', '@', '%20', '"']) {
        expect(() => compileJsonSchema({ format }, { formats: true })(`http://${part.repeat(100_000)}`)).not.toThrow()
      }
    }
  })
})

function isValid(schema: JsonSchema | boolean, value: unknown, options?: CompileOptions): boolean {
  return compileJsonSchema(schema, options)(value) === undefined
}

function refusal(schema: JsonSchema, options?: CompileOptions): SchemaError {
  try {
    compileJsonSchema(schema, options)
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
  throw new Error('The schema was accepted')
}

/** An object with many properties. */
function wide(properties: number): JsonSchema {
  return Object.fromEntries(Array.from({ length: properties }, (_, index) => [`key${index}`, index]))
}

/** A text of a and b without a period. */
function disorder(length: number): string {
  return Array.from({ length }, (_, index) => 'ab'[(Math.imul(index ^ (index >>> 3), 0x9e3779b1) >>> 17) & 1]).join('')
}

/** A check that walks over all properties of an object. */
const COUNTED = { additionalProperties: true, minProperties: 1 }

function each<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** An object that counts how often its properties are read, and how often all of its keys are listed. */
function countReads(properties: number): { value: object; reads(): number; walks(): number } {
  let reads = 0
  let walks = 0
  const value = new Proxy(wide(properties), {
    get(target, key) {
      reads++
      return Reflect.get(target, key)
    },
    ownKeys(target) {
      walks++
      return Reflect.ownKeys(target)
    },
  })
  return { value, reads: () => reads, walks: () => walks }
}

function names(count: number): JsonSchema {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, ['other']]))
}

function branches(depth: number): JsonSchema {
  return depth === 0 ? { additionalProperties: true } : { anyOf: [branches(depth - 1)] }
}

function unions(depth: number): JsonSchema[] {
  return depth === 0 ? [{ type: 'string' }] : [{ anyOf: unions(depth - 1) }, { anyOf: unions(depth - 1) }]
}

/** A chain of references to schemas with URIs of their own, and a dynamic reference at its end. */
function chain(length: number): JsonSchema {
  const schemas: JsonSchema = { end: { $id: 'urn:end', $dynamicAnchor: 'x', type: 'number' } }
  for (let index = 0; index < length; index++) {
    const last = index === length - 1
    schemas[`a${index}`] = {
      $id: `urn:a${index}`,
      ...(last ? { $dynamicRef: 'urn:end#x' } : { $ref: `urn:a${index + 1}` }),
    }
  }
  return schemas
}

function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}
