import { describe, expect, test } from 'vitest'
import { z as z3 } from 'zod/v3'
import { z as z4 } from 'zod/v4'
import { compileJsonSchema, type JsonSchema, SchemaError } from './json-schema.ts'
import { zodToJsonSchema } from './zod.ts'

/** One schema for each zod version, and values that show its meaning. */
type Case = [name: string, zod3: z3.ZodTypeAny, zod4: z4.ZodType, values: unknown[]]

const cases: Case[] = [
  ['string', z3.string().min(2).max(3), z4.string().min(2).max(3), ['a', 'ab', 'abc', 'abcd', 1]],
  ['string of a length', z3.string().length(2), z4.string().length(2), ['a', 'ab', 'abc']],
  ['email', z3.string().email(), z4.email(), ['a@b.co', 'a']],
  ['url', z3.string().url(), z4.url(), ['https://a.b', 'no url']],
  ['uuid', z3.string().uuid(), z4.uuid(), ['123e4567-e89b-12d3-a456-426614174000', 'a']],
  ['date', z3.string().date(), z4.iso.date(), ['2024-02-29', '2024-02-30']],
  ['date and time', z3.string().datetime(), z4.iso.datetime(), ['2024-02-29T12:00:00Z', '2024-02-29']],
  ['pattern', z3.string().regex(/^a+$/), z4.string().regex(/^a+$/), ['aa', 'b']],
  [
    'several patterns',
    z3.string().startsWith('a.').includes('/').endsWith('c'),
    z4.string().startsWith('a.').includes('/').endsWith('c'),
    ['a./c', 'ab/c', 'a.c', 'a./'],
  ],
  ['number', z3.number().min(1).max(3), z4.number().min(1).max(3), [0, 1, 2.5, 3, 4, '1']],
  ['open range', z3.number().gt(1).lt(3), z4.number().gt(1).lt(3), [1, 2, 3]],
  ['integer', z3.number().int(), z4.int(), [1, 1.5]],
  ['multiple', z3.number().multipleOf(5), z4.number().multipleOf(5), [5, 6]],
  ['boolean', z3.boolean(), z4.boolean(), [true, 'true']],
  ['null', z3.null(), z4.null(), [null, 0]],
  ['literal', z3.literal('a'), z4.literal('a'), ['a', 'b']],
  ['enum', z3.enum(['a', 'b']), z4.enum(['a', 'b']), ['a', 'c']],
  ['native enum', z3.nativeEnum({ A: 0, 0: 'A' }), z4.enum({ A: 0, 0: 'A' }), [0, 'A', 1]],
  [
    'array',
    z3.array(z3.string()).min(1).max(2),
    z4.array(z4.string()).min(1).max(2),
    [[], ['a'], [1], ['a', 'b', 'c']],
  ],
  [
    'object',
    z3.object({ a: z3.string(), b: z3.number().optional(), c: z3.boolean().default(true), d: z3.null().nullable() }),
    z4.object({ a: z4.string(), b: z4.number().optional(), c: z4.boolean().default(true), d: z4.null().nullable() }),
    [{}, { a: 'x', d: null }, { a: 'x', b: 1, c: true, d: null }, { a: 'x', c: true, d: null, more: 1 }, { a: 'x' }],
  ],
  [
    'strict object',
    z3.object({ a: z3.string() }).strict(),
    z4.strictObject({ a: z4.string() }),
    [{ a: '' }, { a: '', b: 1 }],
  ],
  [
    'loose object',
    z3.object({ a: z3.string() }).passthrough(),
    z4.looseObject({ a: z4.string() }),
    [{ a: '', b: 1 }, {}],
  ],
  [
    'object with a catchall',
    z3.object({ a: z3.string() }).catchall(z3.number()),
    z4.object({ a: z4.string() }).catchall(z4.number()),
    [
      { a: '', b: 1 },
      { a: '', b: '' },
    ],
  ],
  ['union', z3.union([z3.string(), z3.number()]), z4.union([z4.string(), z4.number()]), ['a', 1, true]],
  [
    'discriminated union',
    z3.discriminatedUnion('k', [z3.object({ k: z3.literal('a') }), z3.object({ k: z3.literal('b'), x: z3.string() })]),
    z4.discriminatedUnion('k', [z4.object({ k: z4.literal('a') }), z4.object({ k: z4.literal('b'), x: z4.string() })]),
    [{ k: 'a' }, { k: 'b' }, { k: 'b', x: '' }, { k: 'c' }],
  ],
  [
    'intersection',
    z3
      .object({ a: z3.string() })
      .and(z3.object({ b: z3.string() }))
      .and(z3.object({ c: z3.string() })),
    z4
      .object({ a: z4.string() })
      .and(z4.object({ b: z4.string() }))
      .and(z4.object({ c: z4.string() })),
    [
      { a: '', b: '', c: '' },
      { a: '', b: '' },
    ],
  ],
  [
    'tuple',
    z3.tuple([z3.string(), z3.number()]),
    z4.tuple([z4.string(), z4.number()]),
    [['a', 1], ['a'], ['a', 1, 2], [1, 1]],
  ],
  [
    'tuple with a rest',
    z3.tuple([z3.string()]).rest(z3.number()),
    z4.tuple([z4.string()], z4.number()),
    [['a', 1], ['a', 'b'], []],
  ],
  ['empty tuple', z3.tuple([]), z4.tuple([]), [[], [1]]],
  ['record', z3.record(z3.number()), z4.record(z4.string(), z4.number()), [{ a: 1 }, { a: '' }]],
  [
    'record of known keys',
    z3.record(z3.enum(['a']), z3.number()),
    z4.partialRecord(z4.enum(['a']), z4.number()),
    [{ a: 1 }, { b: 1 }, {}],
  ],
  ['readonly', z3.string().readonly(), z4.string().readonly(), ['', 1]],
  ['brand', z3.string().brand<'x'>(), z4.string().brand<'x'>(), ['', 1]],
  ['refinement', z3.string().refine(() => true), z4.string().refine(() => true), ['', 1]],
  ['pipe', z3.string().transform(Number).pipe(z3.number()), z4.string().transform(Number).pipe(z4.number()), ['1', 1]],
  ['preprocess', z3.preprocess((v) => v, z3.string()), z4.preprocess((v) => v, z4.string()), ['a']],
  ['any', z3.any(), z4.any(), [1, 'a']],
  ['unknown', z3.unknown(), z4.unknown(), [1, 'a']],
  ['never', z3.never(), z4.never(), [1]],
]

describe.each(cases)('a zod schema for %s', (_name, zod3, zod4, values) => {
  test.each([
    ['3', zod3],
    ['4', zod4],
  ] as const)(
    'accepts with zod %s exactly what its JSON Schema accepts, and returns what the output schema accepts',
    (_version, schema) => {
      const input = checkOf(schema, 'input')
      const output = checkOf(schema, 'output')
      for (const value of values) {
        const parsed = schema.safeParse(value)
        expect({ value, valid: input(value) === undefined }).toEqual({ value, valid: parsed.success })
        if (parsed.success) expect(output(parsed.data)).toBe(undefined)
      }
    },
  )

  test('matches the conversion of zod 4 itself', () => {
    const own = zod4['~standard'] as unknown as { jsonSchema: Record<'input' | 'output', (o: object) => JsonSchema> }
    for (const io of ['input', 'output'] as const) {
      const theirs = compileJsonSchema(own.jsonSchema[io]({ target: 'draft-2020-12' }), { formats: true })
      const ours = checkOf(zod4, io)
      for (const value of values) expect(ours(value) === undefined).toBe(theirs(value) === undefined)
    }
  })
})

describe('zodToJsonSchema', () => {
  test('returns undefined for a value that is not a zod schema', () => {
    for (const stranger of [undefined, null, 'string', {}, { _def: {} }, { _zod: {} }, () => 1]) {
      expect(zodToJsonSchema(stranger, 'input')).toBe(undefined)
    }
  })

  test.each<[string, object]>([
    ['ZodMap', z3.map(z3.string(), z3.string())],
    ['ZodBigInt', z3.bigint()],
    ['ZodFunction', z3.function()],
    ['ZodDate', z3.date()],
    ['ZodPromise', z3.promise(z3.string())],
    ['bigint literal', z3.literal(1n)],
    ['map', z4.map(z4.string(), z4.string())],
    ['bigint', z4.bigint()],
    ['set', z4.set(z4.string())],
    ['date', z4.date()],
    ['undefined', z4.undefined()],
    ['symbol', z4.symbol()],
  ])('refuses a %s by name', (name, schema) => {
    const wrapped = '_zod' in schema ? z4.array(schema as z4.ZodType) : z3.array(schema as z3.ZodTypeAny)
    expect(() => zodToJsonSchema(wrapped, 'input')).toThrow(SchemaError)
    expect(() => zodToJsonSchema(wrapped, 'input')).toThrow(`zod's ${name} has no JSON form`)
  })

  test('converts descriptions, titles and defaults', () => {
    expect(
      zodToJsonSchema(z3.object({ a: z3.number().describe('the a').default(1) }).describe('top'), 'input'),
    ).toEqual({
      type: 'object',
      properties: { a: { type: 'number', description: 'the a', default: 1 } },
      description: 'top',
    })
    expect(zodToJsonSchema(z4.string().meta({ id: 'x', title: 'T', description: 'D' }).prefault('p'), 'input')).toEqual(
      {
        type: 'string',
        title: 'T',
        description: 'D',
        default: 'p',
      },
    )
  })

  test.each([
    ['3', z3.object({ size: z3.string().transform((text) => text.length), day: z3.string().default('now') })],
    ['4', z4.object({ size: z4.string().transform((text) => text.length), day: z4.string().default('now') })],
  ] as const)('describes both sides of a transform and of a default in zod %s', (_version, schema) => {
    expect(zodToJsonSchema(schema, 'input')).toEqual({
      type: 'object',
      properties: { size: { type: 'string' }, day: { type: 'string', default: 'now' } },
      required: ['size'],
    })
    expect(zodToJsonSchema(schema, 'output')).toEqual({
      type: 'object',
      properties: { size: {}, day: { type: 'string', default: 'now' } },
      required: ['day'],
      additionalProperties: false,
    })
  })

  test('accepts any value where the schema has a custom check', () => {
    expect(
      zodToJsonSchema(
        z3.custom(() => true),
        'input',
      ),
    ).toEqual({})
    expect(
      zodToJsonSchema(
        z4.custom(() => true),
        'output',
      ),
    ).toEqual({})
  })

  test('leaves undefined to the enclosing object and a pattern with flags to zod', () => {
    expect(zodToJsonSchema(z3.object({ a: z3.union([z3.string(), z3.undefined()]) }), 'input')).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
    })
    expect(zodToJsonSchema(z4.string().regex(/^a$/i), 'input')).toEqual({ type: 'string' })
  })

  test('lists the keys of an exhaustive record as required', () => {
    expect(zodToJsonSchema(z4.record(z4.enum(['a', 'b']), z4.number()), 'input')).toEqual({
      type: 'object',
      propertyNames: { enum: ['a', 'b'] },
      additionalProperties: { type: 'number' },
      required: ['a', 'b'],
    })
  })

  test('refers to a recursive schema instead of expanding it', () => {
    type Tree = { value: string; children: Tree[] }
    const three: z3.ZodType<Tree> = z3.object({ value: z3.string(), children: z3.array(z3.lazy(() => three)) })
    const four = z4.object({
      value: z4.string(),
      get children() {
        return z4.array(four)
      },
    })
    for (const tree of [three, four]) {
      expect(zodToJsonSchema(tree, 'input')).toEqual({
        type: 'object',
        properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
        required: ['value', 'children'],
      })
    }
    const pair = zodToJsonSchema(z4.object({ left: four, right: four }), 'input')
    expect(pair?.properties).toEqual({ left: { $ref: '#/$defs/schema1' }, right: { $ref: '#/$defs/schema1' } })
    const check = compileJsonSchema(pair!)
    const leaf = { value: 'a', children: [] }
    expect(check({ left: leaf, right: { value: 'b', children: [leaf] } })).toBe(undefined)
    expect(check({ left: leaf, right: { value: 'b', children: [{}] } })).toHaveLength(2)
  })

  test('refuses a lazy schema that returns a new schema each time', () => {
    const endless = (): z3.ZodTypeAny => z3.array(z3.lazy(endless))
    expect(() => zodToJsonSchema(endless(), 'input')).toThrow('nested deeper than 128 levels')
  })
})

function checkOf(schema: object, io: 'input' | 'output') {
  return compileJsonSchema(zodToJsonSchema(schema, io)!, { formats: true })
}
