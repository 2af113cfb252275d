import { describe, expect, test } from 'vitest'
import * as z4 from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'
import { readShape, validateShape } from './shape.ts'
import type { StandardSchema } from './standard.ts'
import { compileSchema } from './user-schema.ts'

type Kinds = Record<string, StandardSchema>

const kinds4: Kinds = {
  string: z4.string(),
  number: z4.number(),
  'coerced string': z4.coerce.string(),
  'coerced number': z4.coerce.number(),
  'coerced boolean': z4.coerce.boolean(),
  'coerced date': z4.coerce.date(),
  'optional coerced string': z4.coerce.string().optional(),
  optional: z4.string().optional(),
  'exact optional': z4.exactOptional(z4.string()),
  nullable: z4.string().nullable(),
  nullish: z4.string().nullish(),
  default: z4.string().default('d'),
  'default of undefined': z4
    .string()
    .optional()
    .default(undefined as never),
  'optional default': z4.string().default('d').optional(),
  'default optional': z4.string().optional().default('d'),
  prefault: z4.string().prefault('p'),
  catch: z4.string().catch('c'),
  'optional catch': z4.string().optional().catch('c'),
  'catch of undefined': z4.string().catch(undefined as never),
  preprocess: z4.preprocess((value) => value ?? 'x', z4.string()),
  'preprocess to optional': z4.preprocess((value) => value, z4.string().optional()),
  pipe: z4.string().pipe(z4.string().min(1)),
  'pipe from optional': z4.string().optional().pipe(z4.any()),
  transform: z4.string().transform((text) => text.length),
  'transform of optional': z4
    .string()
    .optional()
    .transform((text) => text ?? 'none'),
  'transform of anything': z4.any().transform(String),
  'transform to undefined': z4.string().transform(() => undefined),
  lazy: z4.lazy(() => z4.string()),
  'lazy optional': z4.lazy(() => z4.string().optional()),
  union: z4.union([z4.string(), z4.number()]),
  'union with undefined': z4.union([z4.string(), z4.undefined()]),
  'union with optional': z4.union([z4.string().optional(), z4.number()]),
  'union with default': z4.union([z4.string().default('d'), z4.number()]),
  intersection: z4.intersection(z4.string(), z4.string()),
  any: z4.any(),
  unknown: z4.unknown(),
  undefined: z4.undefined(),
  void: z4.void(),
  null: z4.null(),
  nan: z4.nan(),
  never: z4.never(),
  literal: z4.literal('x'),
  'literal undefined': z4.literal(undefined),
  enum: z4.enum(['x', 'y']),
  brand: z4.string().brand<'b'>(),
  readonly: z4.string().optional().readonly(),
  nonoptional: z4.nonoptional(z4.string().optional()),
  refine: z4
    .string()
    .optional()
    .refine((text) => text !== undefined, 'must be there'),
  'refined anything': z4.any().refine((value) => value === undefined || value === 'x'),
  custom: z4.custom(() => true),
  object: z4.object({ a: z4.string().default('d') }),
  'optional object': z4.object({ a: z4.coerce.string() }).optional(),
  array: z4.array(z4.string()),
  record: z4.record(z4.string(), z4.string()),
  success: z4.success(z4.string()),
  stringbool: z4.stringbool(),
  codec: z4.codec(z4.string(), z4.number(), { decode: Number, encode: String }),
}

const kinds3 = {
  string: z3.string(),
  'coerced string': z3.coerce.string(),
  'coerced number': z3.coerce.number(),
  'coerced boolean': z3.coerce.boolean(),
  optional: z3.string().optional(),
  nullable: z3.string().nullable(),
  nullish: z3.string().nullish(),
  default: z3.string().default('d'),
  'default of undefined': z3
    .string()
    .optional()
    .default(undefined as never),
  'optional default': z3.string().default('d').optional(),
  catch: z3.string().catch('c'),
  preprocess: z3.preprocess((value) => value ?? 'x', z3.string()),
  pipe: z3.string().pipe(z3.string().min(1)),
  transform: z3.string().transform((text) => text.length),
  'transform of optional': z3
    .string()
    .optional()
    .transform((text) => text ?? 'none'),
  'transform to undefined': z3.string().transform(() => undefined),
  lazy: z3.lazy(() => z3.string()),
  'lazy optional': z3.lazy(() => z3.string().optional()),
  union: z3.union([z3.string(), z3.number()]),
  'union with undefined': z3.union([z3.string(), z3.undefined()]),
  any: z3.any(),
  unknown: z3.unknown(),
  undefined: z3.undefined(),
  void: z3.void(),
  null: z3.null(),
  never: z3.never(),
  literal: z3.literal('x'),
  enum: z3.enum(['x', 'y']),
  brand: z3.string().brand<'b'>(),
  readonly: z3.string().optional().readonly(),
  refine: z3
    .string()
    .optional()
    .refine((text) => text !== undefined, 'must be there'),
  object: z3.object({ a: z3.string().default('d') }),
  array: z3.array(z3.string()),
} as unknown as Kinds

const kindsMini: Kinds = {
  string: mini.string(),
  'coerced string': mini.coerce.string(),
  optional: mini.optional(mini.string()),
  nullable: mini.nullable(mini.string()),
  default: mini._default(mini.string(), 'd'),
  catch: mini.catch(mini.string(), 'c'),
  unknown: mini.unknown(),
  pipe: mini.pipe(
    mini.string(),
    mini.transform((text: string) => text.length),
  ),
}

const inputs: unknown[] = [
  {},
  { a: undefined },
  { a: null },
  ...['x', '', 'true', 1, 0, true, Number.NaN, [], ['x'], {}, { a: 'x' }, { a: undefined }].map((a) => ({ a })),
  { a: 'x', more: 1 },
  [],
  null,
  'x',
]

const libraries: [string, Kinds, (shape: Kinds) => StandardSchema][] = [
  ['zod 4', kinds4, (shape) => z4.object(shape as never)],
  ['zod mini', kindsMini, (shape) => mini.object(shape as never)],
  ['zod 3', kinds3, (shape) => z3.object(shape as never) as never],
]

describe.each(libraries)('a shape of %s accepts and returns the same values as z.object', (_library, kinds, object) => {
  test.each(Object.entries(kinds))('behaves like z.object for %s', async (_kind, schema) => {
    const fields = readShape({ a: schema })
    const whole = object({ a: schema })['~standard']
    for (const input of inputs) {
      expect({ input, ...outcome(await validateShape(fields, input)) }).toStrictEqual({
        input,
        ...outcome(await whole.validate(input)),
      })
    }
  })
})

test('refuses a call without a required key, although its schema would coerce undefined', async () => {
  const { json, validate } = compileSchema({ id: z4.coerce.string(), note: z4.unknown() }, 'input')
  expect(json.required).toEqual(['id', 'note'])
  expect(await validate({})).toEqual({
    issues: [
      { message: 'is required', path: ['id'] },
      { message: 'is required', path: ['note'] },
    ],
  })
  expect(await validate({ id: 5, note: null })).toEqual({ value: { id: '5', note: null } })
})

test.each([
  ['zod 3', z3.any(), z3.coerce.string()],
  ['zod 4', z4.any().optional(), z4.coerce.string()],
] as unknown as [string, StandardSchema, StandardSchema][])(
  'publishes the keys that %s requires as required',
  (_version, optional, required) => {
    expect(compileSchema({ optional, required }, 'input').json.required).toEqual(['required'])
  },
)

test('requires a key that another library requires, also if it checks asynchronously', async () => {
  const later: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: async (value) => ({ value: String(value) }),
      jsonSchema: { input: () => ({}), output: () => ({}) },
    },
  }
  const { json, validate } = compileSchema({ later }, 'input')
  expect(json.required).toEqual(['later'])
  expect(await validate({})).toEqual({ issues: [{ message: 'is required', path: ['later'] }] })
  expect(await validate({ later: 1 })).toEqual({ value: { later: '1' } })
})

function outcome(result: { value?: unknown; issues?: readonly { path?: readonly unknown[] }[] }): object {
  return result.issues ? { paths: result.issues.map(({ path = [] }) => path) } : { value: result.value }
}
