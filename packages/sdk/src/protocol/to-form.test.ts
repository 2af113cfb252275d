import { type } from 'arktype'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { officialSchema } from '../../test/kit/official-schemas.ts'
import { SchemaError } from '../schema/json-schema.ts'
import type { SchemaLike } from '../schema/standard.ts'
import { compileSchema } from '../schema/user-schema.ts'
import { toForm } from './to-form.ts'

const formOf = (schema: SchemaLike) => toForm(compileSchema(schema, 'input').json)
/** Converts a schema with one property to a form and returns its field. */
const fieldOf = (json: unknown) => toForm({ type: 'object', properties: { field: json } }).properties.field
const faultOf = (schema: SchemaLike): SchemaError => {
  try {
    formOf(schema)
  } catch (error) {
    if (error instanceof SchemaError) return error
  }
  throw new Error('The schema was taken')
}

const choices = {
  single: { type: 'string', enum: ['a', 'b'], default: 'b' },
  titled: {
    oneOf: [
      { const: 'a', title: 'A' },
      { const: 'b', title: 'B' },
    ],
    default: 'b',
  },
  several: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1, maxItems: 2, default: ['a'] },
  severalTitled: {
    type: 'array',
    items: { anyOf: [{ const: 'a', title: 'A' }, { const: 'b' }] },
    uniqueItems: true,
    default: ['b'],
  },
  legacy: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
} as const

describe('converting a schema to a form', () => {
  it('converts a zod 4 schema to the keywords that forms support [ELIC-011] [ELIC-012]', () => {
    const name = z.string().min(1).max(50).meta({ id: 'Name', title: 'Name' })
    const form = formOf(
      z.object({
        first: name,
        last: name.optional(),
        mail: z.email().describe('Where to write to'),
        page: z.url(),
        day: z.iso.date(),
        time: z.iso.datetime(),
        count: z.int().default(3),
        positive: z.int().positive(),
        share: z.number().min(0).max(1),
        agreed: z.boolean().default(false),
        color: z.enum(['red', 'blue']).default('red'),
        size: z.union([z.literal('s').meta({ title: 'Small' }), z.literal('l').meta({ title: 'Large' })]),
        extras: z
          .array(z.enum(['hat', 'bag']))
          .min(1)
          .max(2)
          .default(['hat']),
      }),
    )
    expect(form).toEqual({
      type: 'object',
      properties: {
        first: { type: 'string', title: 'Name', minLength: 1, maxLength: 50 },
        last: { type: 'string', title: 'Name', minLength: 1, maxLength: 50 },
        mail: { type: 'string', format: 'email', description: 'Where to write to' },
        page: { type: 'string', format: 'uri' },
        day: { type: 'string', format: 'date' },
        time: { type: 'string', format: 'date-time' },
        count: { type: 'integer', default: 3 },
        positive: { type: 'integer', minimum: 1 },
        share: { type: 'number', minimum: 0, maximum: 1 },
        agreed: { type: 'boolean', default: false },
        color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
        size: {
          type: 'string',
          oneOf: [
            { const: 's', title: 'Small' },
            { const: 'l', title: 'Large' },
          ],
        },
        extras: {
          type: 'array',
          items: { type: 'string', enum: ['hat', 'bag'] },
          minItems: 1,
          maxItems: 2,
          default: ['hat'],
        },
      },
      required: ['first', 'mail', 'page', 'day', 'time', 'positive', 'share', 'size'],
    })
  })

  it('converts a zod 3 schema', () => {
    const form = formOf(
      z3.object({
        mail: z3.string().email().describe('Where to write to'),
        count: z3.number().int().positive(),
        agreed: z3.boolean().default(false),
        color: z3.enum(['red', 'blue']).optional(),
        size: z3.union([z3.literal('s'), z3.literal('l')]),
        extras: z3.array(z3.enum(['hat', 'bag'])).min(1),
      }),
    )
    expect(form).toEqual({
      type: 'object',
      properties: {
        mail: { type: 'string', format: 'email', description: 'Where to write to' },
        count: { type: 'integer', minimum: 1 },
        agreed: { type: 'boolean', default: false },
        color: { type: 'string', enum: ['red', 'blue'] },
        size: { type: 'string', enum: ['s', 'l'] },
        extras: { type: 'array', items: { type: 'string', enum: ['hat', 'bag'] }, minItems: 1 },
      },
      required: ['mail', 'count', 'size', 'extras'],
    })
  })

  it('converts an arktype schema', () => {
    const form = formOf(type({ mail: 'string.email', 'color?': "'red' | 'blue'", count: 'number.integer > 1' }))
    expect(form.properties).toEqual({
      mail: { type: 'string', format: 'email' },
      color: { type: 'string', enum: expect.arrayContaining(['red', 'blue']) },
      count: { type: 'integer', minimum: 2 },
    })
    expect([...form.required!].sort()).toEqual(['count', 'mail'])
  })

  it('converts a shape of schemas, including references inside them', () => {
    const name = z.string().meta({ id: 'Name' })
    expect(formOf({ name, more: z.union([z.literal('a'), z.literal('b')]).optional() })).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, more: { type: 'string', enum: ['a', 'b'] } },
      required: ['name'],
    })
  })

  it('drops keywords of other JSON Schema dialects that forms do not support', () => {
    const form = formOf({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'Order',
      description: 'What to send',
      properties: { name: { $ref: '#/definitions/name', description: 'Yours' }, more: { type: ['string'] } },
      additionalProperties: false,
      definitions: { name: { type: 'string', title: 'Name', $comment: 'for people', examples: ['Jo'], 'x-order': 1 } },
    })
    expect(form).toEqual({
      type: 'object',
      properties: { name: { type: 'string', title: 'Name', description: 'Yours' }, more: { type: 'string' } },
    })
  })

  it('accepts a form without fields, which asks only yes or no', () => {
    expect(formOf(z.object({}))).toEqual({ type: 'object', properties: {} })
  })

  it('keeps a field that is named like an Object member', () => {
    const properties = JSON.parse('{ "__proto__": { "type": "boolean" }, "constructor": { "type": "string" } }')
    const form = toForm({ type: 'object', properties, required: ['__proto__'] })
    expect(Object.keys(form.properties)).toEqual(['__proto__', 'constructor'])
    expect(form.required).toEqual(['__proto__'])
  })

  it('converts single and multiple choices, with and without titles [ELIC-014]', () => {
    expect(toForm({ type: 'object', properties: choices }).properties).toEqual({
      single: { type: 'string', enum: ['a', 'b'], default: 'b' },
      titled: {
        type: 'string',
        oneOf: [
          { const: 'a', title: 'A' },
          { const: 'b', title: 'B' },
        ],
        default: 'b',
      },
      several: {
        type: 'array',
        items: { type: 'string', enum: ['a', 'b'] },
        minItems: 1,
        maxItems: 2,
        default: ['a'],
      },
      severalTitled: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'a', title: 'A' },
            { const: 'b', title: 'b' },
          ],
        },
        default: ['b'],
      },
      legacy: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
    })
  })

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'matches the official schema of %s [ELIC-011] [ELIC-014] [ELIC-015]',
    (revision) => {
      const requestedSchema = toForm({
        type: 'object',
        properties: {
          ...choices,
          text: { type: 'string', minLength: 1, format: 'email', default: 'a@b.co' },
          number: { type: 'number', minimum: 0, default: 1.5 },
          agreed: { type: 'boolean', default: true },
        },
        required: ['text'],
      })
      const params = { mode: 'form', message: 'Please', requestedSchema }
      const official = officialSchema(revision)
      expect(official?.problem({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params })).toBe(undefined)
    },
  )

  it.each([
    ['a bare enum', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['a constant', { const: 'a', title: 'T' }, { type: 'string', title: 'T', enum: ['a'] }],
    [
      'constants without titles',
      { anyOf: [{ const: 'a' }, { type: 'string', enum: ['b'] }] },
      { type: 'string', enum: ['a', 'b'] },
    ],
    ['an integer with an exclusive maximum', { type: 'integer', exclusiveMaximum: 5 }, { type: 'integer', maximum: 4 }],
    [
      'an integer with inclusive and exclusive limits',
      { type: 'integer', exclusiveMinimum: 0.5, minimum: -3, exclusiveMaximum: 4.5, maximum: 9 },
      { type: 'integer', minimum: 1, maximum: 4 },
    ],
    ['a multiple of one', { type: 'number', multipleOf: 1 }, { type: 'integer' }],
    [
      'an integer limited to safe integers',
      { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      { type: 'integer' },
    ],
  ])('converts %s', (_, json, field) => {
    expect(fieldOf(json)).toEqual(field)
  })
})

describe('schemas that cannot become a form', () => {
  const refinement = 'check it with a refinement, which runs on the answer.'

  it.each([
    [
      'a pattern',
      z.string().regex(/^a/),
      `A form does not support pattern. Mention it in the description and ${refinement}`,
    ],
    ['several patterns', z.string().startsWith('a').endsWith('b'), 'A form does not support'],
    ['a format and a pattern', z.email().regex(/x/), 'A form does not support allOf'],
    ['another format', z.uuid(), 'A form does not support the format "uuid"'],
    ['an encoding', z.base64(), 'A form does not support the format "base64"'],
    ['an open range', z.number().gt(1), 'A form does not support exclusiveMinimum'],
    ['a step', z.number().multipleOf(5), 'A form does not support multipleOf'],
    ['a boolean that has to be true', z.literal(true), 'A form supports only choices of strings'],
    ['a choice of numbers', z.literal([1, 2]), 'A form supports only choices of strings'],
    ['null', z.string().nullable(), 'A form does not support null. Make the field optional instead of nullable.'],
    ['a choice or null', z.enum(['a']).nullable(), 'A form does not support null'],
    ['an object', z.object({ a: z.string() }), 'A form cannot contain nested objects'],
    ['a record', z.record(z.string(), z.string()), 'A form cannot contain nested objects'],
    [
      'a list of strings',
      z.array(z.string()),
      'A form supports arrays only as a multiple choice. Make items an enum of strings.',
    ],
    ['a list of objects', z.array(z.object({})), 'A form supports arrays only as a multiple choice'],
    ['a tuple', z.tuple([z.enum(['a'])]), 'A form supports arrays only as a multiple choice'],
    ['a union', z.union([z.string().min(2), z.number()]), 'A form supports only choices of strings'],
    ['anything', z.any(), 'A form needs exactly one type per field'],
  ])('names the field when it refuses %s [ELIC-012]', (_, schema, message) => {
    const fault = faultOf(z.object({ fine: z.string(), 'odd/one': schema }))
    expect(fault.message).toContain(`Field "odd/one": ${message}`)
    expect(fault.pointer).toMatch(/^\/properties\/odd~1one/)
  })

  it.each([
    ['null in an enum', { enum: ['a', null] }, 'does not support null'],
    ['two types', { type: ['string', 'number'] }, 'needs exactly one type'],
    ['nothing', {}, 'needs exactly one type'],
    ['a length beside a choice', { enum: ['a'], minLength: 1 }, 'does not support minLength'],
    ['an enum beside a union', { enum: ['a'], oneOf: [{ const: 'a' }] }, 'does not support oneOf'],
    ['a condition', { type: 'string', if: {} }, 'does not support if'],
    ['an encoding', { type: 'string', contentEncoding: 'base64' }, 'does not support contentEncoding'],
    ['an empty choice', { enum: [] }, 'supports only choices of strings'],
    ['too few enumNames', { enum: ['a', 'b'], enumNames: ['A'] }, 'needs one name per value of enum'],
    ['an unknown reference', { $ref: '#/$defs/none' }, 'cannot resolve the reference "#/$defs/none"'],
    ['a remote reference', { $ref: 'https://a.b/c' }, 'cannot resolve the reference "https://a.b/c"'],
    ['a reference to itself', { $ref: '#/properties/field' }, 'cannot resolve the reference'],
    ['a reference to the form', { $ref: '#' }, 'cannot contain nested objects'],
    ['a reference that is not a URI', { $ref: '#/%' }, 'cannot resolve the reference'],
    ['a default of another type', { type: 'string', default: 1 }, 'The default must be a string'],
    ['a default that is not a choice', { enum: ['a'], default: 'b' }, 'The default must be one of ["a"]'],
    ['a default out of range', { type: 'integer', minimum: 2, default: 1 }, 'The default must be 2 or more'],
  ])('refuses %s', (_, json, message) => {
    expect(() => fieldOf(json)).toThrow(SchemaError)
    expect(() => fieldOf(json)).toThrow(message)
  })

  it.each([
    ['a bare string', z.string(), 'A form must be one object'],
    ['one of two objects', z.union([z.object({ a: z.string() }), z.object({})]), 'A form must be one object'],
    ['a record', z.record(z.string(), z.string()), 'A form cannot have additional properties'],
    ['a number of properties', { type: 'object', minProperties: 1 }, 'A form does not support minProperties'],
    [
      'a required field without a schema',
      { type: 'object', required: ['a'] },
      'Field "a": A form must describe every required field',
    ],
  ])('refuses %s as a whole form [ELIC-011]', (_, schema, message) => {
    expect(faultOf(schema as SchemaLike).message).toContain(message)
  })

  it('refuses a form with too many fields', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { type: 'string' }]))
    expect(Object.keys(toForm({ type: 'object', properties: many(100) }).properties)).toHaveLength(100)
    expect(() => toForm({ type: 'object', properties: many(101) })).toThrow('A form has at most 100 fields, not 101')
  })
})
