import { describe, expect, test } from 'vitest'
import { compileJsonSchema, type JsonSchema, type JsonSchemaCheck, SchemaError } from './json-schema.ts'

const UNKNOWN = { $ref: 'https://example.com/unknown.json' }

describe('schemas with unsupported parts', () => {
  test.each<[part: string, schema: JsonSchema, pointer: string]>([
    ['a keyword with a wrong value', { properties: { a: { minimum: 'x' } } }, '/properties/a/minimum'],
    ['a reference to an unknown schema', { properties: { a: UNKNOWN } }, '/properties/a/$ref'],
    ['a reference that leads nowhere', { properties: { a: { $ref: '#/$defs/a' } } }, '/properties/a/$ref'],
    ['a pattern that is not valid', { properties: { a: { pattern: '(' } } }, '/properties/a/pattern'],
    ['a pattern with a backreference', { properties: { a: { pattern: '(a)\\1' } } }, '/properties/a/pattern'],
    ['an unsupported dialect', { properties: { a: { $schema: 'https://example.com/own' } } }, '/properties/a'],
    ['a value that is not a schema', { properties: { a: 5 } }, '/properties/a'],
    ['a malformed $id', { properties: { a: { $id: 'http://[' } } }, '/properties/a'],
    ['a keyword of draft-04', { required: true }, '/required'],
  ])('checks a value without %s', (_part, schema, pointer) => {
    expect(() => compileJsonSchema(schema)).toThrow(SchemaError)
    const { properties, ...rest } = schema
    const whole = { ...rest, properties: { ...(properties as JsonSchema), b: { type: 'string' } } }
    const { check, skipped } = compilePartially(whole)
    expect(skipped.map((reason) => reason.pointer)).toEqual([pointer])
    expect(check({ a: 'x', b: 'x' })).toBe(undefined)
    expect(check({ a: 'x', b: 1 })).toEqual([{ path: '/b', message: 'must be a string, got number' }])
  })

  test.each<[JsonSchema, valid: unknown, invalid: unknown]>([
    [{ type: 'string', not: { pattern: '(' } }, 'x', 1],
    [{ oneOf: [{ type: 'string' }, { type: 'string', pattern: '(' }, { type: 'null' }] }, 'x', 1],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    [{ if: { pattern: '(' }, then: { const: 'y' }, type: 'string' }, 'x', 1],
    [{ contains: { pattern: '(' }, maxContains: 1 }, ['x', 'y'], []],
    [{ contains: { type: 'string' }, minContains: -1, type: 'array' }, [], 1],
    [{ patternProperties: { '(': true }, additionalProperties: false, required: ['a'] }, { a: 1 }, {}],
    [{ properties: [], additionalProperties: false, required: ['a'] }, { a: 1 }, {}],
    [{ additionalProperties: false, properties: [], required: ['a'] }, { a: 1 }, {}],
    [{ prefixItems: {}, items: false, type: 'array' }, [1], 1],
    [{ ...UNKNOWN, unevaluatedProperties: false, type: 'object' }, { a: 1 }, 1],
    [{ allOf: [UNKNOWN, { type: 'object' }], unevaluatedProperties: false }, { a: 1 }, 1],
    [
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        items: { ...UNKNOWN, type: 'string' },
        type: 'array',
      },
      [1],
      1,
    ],
  ])('%j accepts %j, which may be valid, and refuses %j', (schema, valid, invalid) => {
    const { check, skipped } = compilePartially(schema)
    expect(skipped.length).toBeGreaterThan(0)
    expect(check(valid)).toBe(undefined)
    expect(check(invalid)).not.toBe(undefined)
  })

  test('never refuses a value that could be valid under some meaning of the unsupported part', () => {
    const random = createRandom(42)
    let refused = 0
    for (let round = 0; round < 5_000; round++) {
      const schema = randomSchema(random, 3)
      const { check } = compilePartially(schema)
      const meanings = [true, false, { additionalProperties: true, items: true }].map((meaning) =>
        compileJsonSchema(schema, { documents: { [UNKNOWN.$ref]: meaning } }),
      )
      for (const value of VALUES) {
        if (check(value) === undefined) continue
        refused++
        const accepting = meanings.filter((meaning) => meaning(value) === undefined)
        if (accepting.length > 0) expect.fail(`${JSON.stringify(schema)} must not refuse ${JSON.stringify(value)}`)
      }
    }
    expect(refused).toBeGreaterThan(5_000)
  })

  test('refuses a schema that is too large', () => {
    const onSkip = () => {}
    expect(() => compileJsonSchema({ allOf: Array(10_001).fill(true) }, { onSkip })).toThrow('10000 subschemas')
    let deep: JsonSchema = {}
    for (let level = 0; level < 200; level++) deep = { not: deep }
    expect(() => compileJsonSchema(deep, { onSkip })).toThrow('deeper than 128 levels')
  })
})

function compilePartially(schema: JsonSchema): { check: JsonSchemaCheck; skipped: SchemaError[] } {
  const skipped: SchemaError[] = []
  return { check: compileJsonSchema(schema, { onSkip: (reason) => skipped.push(reason) }), skipped }
}

const VALUES = [1, 'x', null, [], ['x'], ['x', 1], [1, 1], {}, { a: 1 }, { a: 'x', b: 1 }, { b: [1] }]

type Random = () => number

function createRandom(seed: number): Random {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function randomSchema(random: Random, depth: number): JsonSchema {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  if (depth === 0 || random() < 0.2) {
    return pick([UNKNOWN, UNKNOWN, { type: 'string' }, { type: 'number' }, { const: 1 }, {}, { required: ['a'] }])
  }
  const inner = () => randomSchema(random, depth - 1)
  return pick<() => JsonSchema>([
    () => ({ not: inner() }),
    () => ({ anyOf: [inner(), inner()] }),
    () => ({ oneOf: [inner(), inner()] }),
    () => ({ allOf: [inner(), inner()] }),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    () => ({ if: inner(), then: inner(), else: inner() }),
    () => ({ contains: inner(), maxContains: 1 }),
    () => ({ items: inner(), prefixItems: [inner()] }),
    () => ({ properties: { a: inner() }, additionalProperties: random() < 0.5 && inner() }),
    () => ({ ...inner(), unevaluatedProperties: false }),
    () => ({ ...inner(), unevaluatedItems: inner() }),
    () => ({ dependentSchemas: { a: inner() } }),
  ])()
}
