import { Schema as Effect } from 'effect'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z as z3 } from 'zod/v3'
import { z as z4 } from 'zod/v4'
import { describeIssues } from './issues.ts'
import { compileJsonSchema, type JsonSchema, SchemaError } from './json-schema.ts'
import type { StandardResult, StandardSchema } from './standard.ts'
import { compileSchema } from './user-schema.ts'

describe('JSON Schema given by the user', () => {
  test('passes a JSON Schema through unchanged and names issues by key', async () => {
    const json = { type: 'object', properties: { 'a/b': { properties: { 'c~d': { type: 'string' } } } } }
    const schema = compileSchema(json, 'input')
    expect(schema.json).toBe(json)
    expect(schema.property('a/b')).toBe(undefined)
    expect(await schema.validate({ 'a/b': { 'c~d': 'x' } })).toEqual({ value: { 'a/b': { 'c~d': 'x' } } })
    expect(await schema.validate({ 'a/b': { 'c~d': 1 } })).toEqual({
      issues: [{ message: 'must be a string, got number', path: ['a/b', 'c~d'] }],
    })
  })

  test('unescapes ~ in a JSON Pointer only once', async () => {
    const schema = compileSchema({ additionalProperties: false }, 'input')
    expect(await pathsOf(schema.validate({ '~1': 0, '~0/': 0, '': 0 }))).toEqual([['~1'], ['~0/'], ['']])
    expect(await pathsOf(schema.validate([]))).toEqual([])
    expect(await pathsOf(compileSchema({ type: 'null' }, 'input').validate(1))).toEqual([[]])
  })

  test.each([[null], ['string'], [5], [[]]])('refuses %j as a schema', (schema) => {
    expect(() => compileSchema(schema as never, 'input')).toThrow(SchemaError)
  })
})

describe('shapes given by the user', () => {
  const shape = { a: z4.number(), b: z4.string().optional(), c: z4.number().default(5) }

  test('turns a shape into an object schema whose mandatory keys are required', () => {
    expect(compileSchema(shape, 'input').json).toEqual({
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'string' }, c: { type: 'number', default: 5 } },
      required: ['a'],
    })
    expect(compileSchema({ b: shape.b }, 'input').json).toEqual({
      type: 'object',
      properties: { b: { type: 'string' } },
    })
    expect(compileSchema({}, 'input').json).toEqual({ type: 'object', properties: {} })
  })

  test('checks each key of a shape, fills in defaults and drops unknown keys', async () => {
    const { validate } = compileSchema(shape, 'input')
    expect(await validate({ a: 1, more: true })).toEqual({ value: { a: 1, c: 5 } })
    expect(await pathsOf(validate({ b: 1 }))).toEqual([['a'], ['b']])
    expect(await validate([])).toEqual({ issues: [{ message: 'must be an object' }] })
  })

  test('reads only own properties of the value, and keeps a key named __proto__', async () => {
    const inherited = Object.create({ a: 1 })
    expect(await pathsOf(compileSchema(shape, 'input').validate(inherited))).toEqual([['a']])
    const odd = Object.defineProperty({}, '__proto__', { value: z4.string(), enumerable: true })
    const schema = compileSchema(odd, 'input')
    expect(JSON.stringify(schema.json)).toContain('"__proto__":{"type":"string"}')
    const result = await schema.validate(JSON.parse('{"__proto__":"x"}'))
    expect(JSON.stringify(result)).toBe('{"value":{"__proto__":"x"}}')
  })

  test('returns the schema of a property', () => {
    const schema = compileSchema(shape, 'input')
    expect(schema.property('a')).toBe(shape.a)
    expect(schema.property('toString')).toBe(undefined)
    expect(compileSchema(z4.object(shape), 'input').property('a')).toBe(shape.a)
  })

  test('awaits keys that are checked asynchronously', async () => {
    const even = homemade(
      async (value) => (Number(value) % 2 === 0 ? { value } : { issues: [{ message: 'must be even' }] }),
      {},
    )
    const { json, validate } = compileSchema({ a: z4.string().default('x'), even }, 'input')
    expect(json.required).toEqual(['even'])
    expect(await validate({ even: 2 })).toEqual({ value: { a: 'x', even: 2 } })
    expect(await validate({ a: 1, even: 3 })).toEqual({
      issues: [expect.objectContaining({ path: ['a'] }), { message: 'must be even', path: ['even'] }],
    })
  })
})

describe('references inside a shape', () => {
  const names = ['tree', 'a/b', 'a~b', '~1', 'a b', 'a%20b', 'a#b', 'ä"<>\\^`{|}', '?&=:@!$+,;()*', '']

  test.each(names)('resolves a reference to the property %j', (name) => {
    for (const tree of [treeOf3(), treeOf4(), treeOfJson()]) {
      const { json } = compileSchema({ [name]: tree, other: z4.string().optional() }, 'input')
      const check = compileJsonSchema(json)
      expect(JSON.stringify(json)).toContain('"$ref":"#/properties/')
      expect(check({ [name]: { next: { next: {} } } })).toBe(undefined)
      expect(check({ [name]: { next: { next: { next: 1 } } } })).toHaveLength(1)
    }
  })

  test('writes references as JSON Pointers in a URI fragment', () => {
    const refOf = (name: string) => {
      const { json } = compileSchema({ [name]: treeOfJson() }, 'input')
      const properties = json.properties as Record<string, { properties: { next: { $ref: string } } }>
      return properties[name]?.properties.next.$ref
    }
    expect(refOf('tree')).toBe('#/properties/tree')
    expect(refOf('a/b~c')).toBe('#/properties/a~1b~0c')
    expect(refOf('a b#c%')).toBe('#/properties/a%20b%23c%25')
    expect(refOf("a:@!$&'()*+,;=?-._")).toBe("#/properties/a:@!$&'()*+,;=?-._")
  })

  test('leaves references to other schemas unchanged', () => {
    const foreign = describing({ $defs: { a: { $id: 'urn:example:a' } }, items: { $ref: 'urn:example:a' } })
    expect(compileSchema({ foreign }, 'input').json).toEqual({
      type: 'object',
      properties: { foreign: { $defs: { a: { $id: 'urn:example:a' } }, items: { $ref: 'urn:example:a' } } },
    })
  })
})

describe('Standard Schema libraries', () => {
  test('describes input or output, without naming the default dialect', () => {
    const schema = z4.object({ a: z4.number().default(1) })
    expect(compileSchema(schema, 'input').json).toEqual({
      type: 'object',
      properties: { a: { type: 'number', default: 1 } },
    })
    expect(compileSchema(schema, 'output').json.required).toEqual(['a'])
  })

  test('accepts a schema that checks asynchronously', async () => {
    const schema = compileSchema(z3.string().refine(async (text) => text === 'x', 'must be x') as never, 'input')
    expect(await schema.validate('x')).toEqual({ value: 'x' })
    expect(await schema.validate('y')).toMatchObject({ issues: [{ message: 'must be x' }] })
  })

  test('refuses a bare valibot schema and says how to convert it', () => {
    const message = 'This valibot schema cannot describe itself as JSON Schema. Wrap it with toStandardJsonSchema'
    expect(() => compileSchema(v.object({ a: v.string() }), 'input')).toThrow(message)
    expect(() => compileSchema({ a: v.string() }, 'input')).toThrow(message)
  })

  test('accepts an Effect schema that was converted twice', async () => {
    const text = Effect.Struct({ a: Effect.String })
    const schema = compileSchema(Effect.toStandardSchemaV1(Effect.toStandardJSONSchemaV1(text)), 'input')
    expect(schema.json).toMatchObject({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] })
    expect(await schema.validate({ a: 'x' })).toEqual({ value: { a: 'x' } })
    expect(await pathsOf(schema.validate({ a: 1 }))).toEqual([['a']])
  })

  test.each<[string, () => unknown]>([
    ['without conversion', () => Effect.Struct({ a: Effect.String })],
    ['inside of a shape', () => ({ a: Effect.String })],
    ['that checks only', () => Effect.toStandardSchemaV1(Effect.Struct({ a: Effect.String }))],
    ['that only describes itself', () => Effect.toStandardJSONSchemaV1(Effect.Struct({ a: Effect.String }))],
  ])('refuses an Effect schema %s and names the calls that convert it', (_what, make) => {
    expect(() => compileSchema(make() as never, 'input')).toThrow(
      'Schema.toStandardSchemaV1(Schema.toStandardJSONSchemaV1(schema))',
    )
  })

  test('refuses a schema of an unknown library and suggests a fix', () => {
    const schema: StandardSchema = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }
    expect(() => compileSchema(schema, 'input')).toThrow(
      'own schema cannot describe itself as JSON Schema. Pass a JSON Schema instead',
    )
  })
})

test('formats issues as one line with their paths', () => {
  const issues = [{ message: 'is bad' }, { message: 'is worse', path: ['a', 0, { key: 'b' }] }]
  expect(describeIssues(issues)).toBe('is bad; a.0.b: is worse')
})

function treeOf3(): StandardSchema {
  const tree: z3.ZodTypeAny = z3.object({ next: z3.lazy(() => tree).optional() })
  return tree as unknown as StandardSchema
}

function treeOf4(): StandardSchema {
  const tree: z4.ZodType = z4.object({ next: z4.lazy(() => tree).optional() })
  return tree
}

function treeOfJson(): StandardSchema {
  return describing({ type: 'object', properties: { next: { $ref: '#' } } })
}

/** A schema of an unknown library that accepts everything and describes itself. */
function describing(json: JsonSchema): StandardSchema {
  return homemade((value) => ({ value }), json)
}

function homemade(validate: StandardSchema['~standard']['validate'], json: JsonSchema): StandardSchema {
  return {
    '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: () => json, output: () => json } },
  }
}

async function pathsOf(result: StandardResult<unknown> | Promise<StandardResult<unknown>>): Promise<unknown[]> {
  return ((await result).issues ?? []).map(({ path }) => path)
}
