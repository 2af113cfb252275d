import { describe, expect, it } from 'vitest'
import { z as z3 } from 'zod/v3'
import * as z4 from 'zod/v4'
import { toJsonSchemaCompat } from '../src/server/zod-json-schema-compat.ts'
import { ShapeSchema } from '../src/shared/shape-schema.ts'
import { AjvJsonSchemaValidator } from '../src/validation/ajv-provider.ts'
import { CfWorkerJsonSchemaValidator } from '../src/validation/cfworker-provider.ts'

const $schema = 'http://json-schema.org/draft-07/schema#'

describe('JSON Schemas of zod schemas', () => {
  it('close the objects of zod 3 and shorten its unions', () => {
    const schema = z3.object({ a: z3.string().nullable(), b: z3.union([z3.literal('x'), z3.literal('y')]).optional() })
    expect(toJsonSchemaCompat(schema)).toEqual({
      type: 'object',
      properties: { a: { type: ['string', 'null'] }, b: { type: 'string', enum: ['x', 'y'] } },
      required: ['a'],
      additionalProperties: false,
      $schema,
    })
  })

  it('are the same for a shape as for the object of zod 4 with these fields', () => {
    const shape = { a: z4.string().default('x'), b: z4.array(z4.number()).describe('numbers') }
    expect(toJsonSchemaCompat(shape)).toEqual(toJsonSchemaCompat(z4.object(shape)))
    const output = { pipeStrategy: 'output' } as const
    expect(toJsonSchemaCompat(shape, output)).toEqual(toJsonSchemaCompat(z4.object(shape), output))
  })
})

describe('a shape', () => {
  it('checks like an object schema', async () => {
    const schema = new ShapeSchema({ a: z4.string(), b: z4.number().default(1), c: z4.string().optional() })
    expect(schema.parse({ a: 'x', other: true })).toEqual({ a: 'x', b: 1 })
    const result = await schema.safeParseAsync({ a: 1 })
    expect(result).toMatchObject({ success: false, error: { issues: [{ path: ['a'] }] } })
  })

  it('cannot mix versions of zod', () => {
    expect(() => new ShapeSchema({ a: z3.string(), b: z4.string() })).toThrow('Mixed Zod versions')
  })
})

describe('JSON Schema validators', () => {
  const schema = { type: 'object', properties: { age: { type: 'integer' } } } as const

  it('need no package', () => {
    const wrong = { valid: false, data: undefined }
    expect(new AjvJsonSchemaValidator().getValidator(schema)({ age: 'x' })).toEqual({
      ...wrong,
      errorMessage: 'data/age must be an integer, got string',
    })
    expect(new CfWorkerJsonSchemaValidator().getValidator(schema)({ age: 'x' })).toEqual({
      ...wrong,
      errorMessage: '#/age: must be an integer, got string',
    })
  })

  it('use the Ajv instance of the program', () => {
    const check = Object.assign(() => false, { errors: [] })
    const ajv = { compile: () => check, getSchema: () => undefined, errorsText: () => 'text of ajv' }
    const validate = new AjvJsonSchemaValidator(ajv).getValidator(schema)
    expect(validate({ age: 1 })).toEqual({ valid: false, data: undefined, errorMessage: 'text of ajv' })
  })
})
