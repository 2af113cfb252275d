import { describe, expect, test } from 'vitest'
import { compileJsonSchema, type JsonSchema } from '../../src/schema/json-schema.ts'
import { isValid, refusal } from './json-schema-support.ts'

describe('JSON Schema limits', () => {
  test('refuses a schema that refers to itself endlessly [JSON-014]', () => {
    const endless = 'refers to itself endlessly'
    expect(refusal({ $ref: '#' }).message).toContain(endless)
    expect(refusal({ anyOf: [{ type: 'string' }, { $ref: '#' }] }).message).toContain(endless)
    const ring = { $ref: '#/$defs/a', $defs: { a: { not: { $ref: '#/$defs/b' } }, b: { $ref: '#/$defs/a' } } }
    expect(refusal(ring).message).toContain(endless)
    const dynamic = compileJsonSchema({ $dynamicAnchor: 'a', $dynamicRef: '#a' })
    expect(dynamic(1)).toEqual([{ path: '', message: 'is nested too deep to check' }])
  })

  test('reports a value that is nested too deeply, even below `not` [JSON-014]', () => {
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

  test('reports a long chain of references instead of overflowing the stack [JSON-014]', () => {
    const $defs: JsonSchema = { end: true }
    for (let index = 0; index < 5_000; index++) {
      $defs[`a${index}`] = { $ref: index === 4_999 ? '#/$defs/end' : `#/$defs/a${index + 1}` }
    }
    const check = compileJsonSchema({ $ref: '#/$defs/a0', $defs })
    expect(check(1)).toEqual([{ path: '', message: 'is nested too deep to check' }])
  })

  test('runs out of steps instead of exponential time, even below `not` [JSON-014]', () => {
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

  test('refuses schemas that are too deep or too large [JSON-014]', () => {
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

describe('the steps of one check', () => {
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
  ])('limits the steps of %s [JSON-014]', (_name, schema, value) => {
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

  test('counts the length of a string whose characters are counted [JSON-014]', () => {
    const anyOf = each(100, (index) => ({ maxLength: 10 + index }))
    expect(compileJsonSchema({ anyOf }, { maxSteps: 1_000_000 })('😀'.repeat(50_000))).toContainEqual(tooManySteps)
    expect(compileJsonSchema({ minLength: 1, maxLength: 200_000 }, { maxSteps: 10_000 })('😀'.repeat(50_000))).toBe(
      undefined,
    )
  })

  test('counts the issues that explain why no branch matches [JSON-014]', () => {
    const branch = { items: { type: ['string', 'null'] } }
    const check = compileJsonSchema({ anyOf: Array(1_000).fill(branch) }, { maxSteps: 200_000 })
    expect(check(Array(20).fill(1))).toContainEqual(tooManySteps)
  })

  test('counts the items that are kept to find duplicates [JSON-014]', () => {
    const allOf = each(20, () => ({ uniqueItems: true }))
    const value = each(20_000, (index) => index)
    expect(compileJsonSchema({ allOf }, { maxSteps: 1_000_000 })(value)).toContainEqual(tooManySteps)
    expect(compileJsonSchema({ uniqueItems: true }, { maxSteps: 300_000 })(value)).toBe(undefined)
  })

  test('counts patterns that are compiled again because there are too many to cache [JSON-014]', () => {
    const patternProperties = Object.fromEntries(each(2_000, (index) => [`^zz${index}`, true]))
    const { value, reads } = countReads(1_000)
    expect(compileJsonSchema({ patternProperties })(value)).toContainEqual(tooManySteps)
    expect(reads()).toBeLessThan(50)
  })

  test('takes few steps for many small objects', () => {
    const properties = { id: { type: 'integer' }, name: { type: 'string' }, done: { type: 'boolean' } }
    const items = { type: 'object', properties, additionalProperties: false }
    const value = each(50_000, (id) => ({ id, name: 'x', done: true }))
    expect(compileJsonSchema({ items }, { maxSteps: 400_000 })(value)).toBe(undefined)
  })

  test('takes few steps for long strings and common patterns', () => {
    const check = (pattern: string, value: unknown) => compileJsonSchema({ pattern }, { maxSteps: 1_200_000 })(value)
    const text = 'a'.repeat(1_000_000)
    expect(check('^[a-z]+$', text)).toBe(undefined)
    expect(check('^[A-Za-z0-9+/]*={0,2}$', text)).toBe(undefined)
    expect(check('^(?!\\.)(?!.*\\.\\.)[a-z.]+$', text.slice(0, 500_000))).toBe(undefined)
    expect(check('^a', text.repeat(10))).toBe(undefined)
    expect(check('\\d+$', text)).toEqual([{ path: '', message: 'must match the pattern \\d+$' }])
  })
})

describe('JSON Schema numbers', () => {
  test('refuses numbers that are too large for JSON', () => {
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

describe('JSON Schema formats', () => {
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

  test.each(Object.entries(samples))('checks the format %s on request only', (format, [valid, invalid]) => {
    const check = compileJsonSchema({ format }, { formats: true })
    expect(valid.filter((text) => check(text) !== undefined)).toEqual([])
    expect(invalid.filter((text) => check(text) === undefined)).toEqual([])
    expect(invalid.every((text) => isValid({ format }, text))).toBe(true)
  })

  test('checks formats in linear time', () => {
    // With quadratic checks this test would exceed its timeout.
    for (const format of Object.keys(samples)) {
      for (const part of ['a', '1.', ':', 'a.', '@', '%20', '"']) {
        expect(() => compileJsonSchema({ format }, { formats: true })(`http://${part.repeat(100_000)}`)).not.toThrow()
      }
    }
  })
})

/** An object with many properties. */
function wide(properties: number): JsonSchema {
  return Object.fromEntries(Array.from({ length: properties }, (_, index) => [`key${index}`, index]))
}

/** A string of a and b without a period. */
function disorder(length: number): string {
  return Array.from({ length }, (_, index) => 'ab'[(Math.imul(index ^ (index >>> 3), 0x9e3779b1) >>> 17) & 1]).join('')
}

/** A check that iterates over all properties of an object. */
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

/** A chain of references to schemas with their own URIs, and a dynamic reference at its end. */
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
