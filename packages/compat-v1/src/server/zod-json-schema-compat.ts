// Describes zod schemas as JSON Schema, without importing zod.

import { type SchemaLike, toJsonSchema } from 'tenon/server'
import { DRAFT_07, toDraft07, withDraft07Tuples } from '../shared/draft-07.ts'
import { isShape, ShapeSchema } from '../shared/shape-schema.ts'
import {
  type AnyObjectSchema,
  type AnySchema,
  isZ4Schema,
  methodOf,
  safeParse,
  type ZodRawShapeCompat,
} from '../shared/zod-reading.ts'

type JsonSchema = Record<string, unknown>

/** How to describe a schema. */
export type ToJsonSchemaOptions = {
  /** Has no effect. */
  strictUnions?: boolean | undefined
  /** Describes what the schema accepts or what it returns. Default: `input`. */
  pipeStrategy?: 'input' | 'output' | undefined
  /** The dialect. Default: draft-07. */
  target?: 'jsonSchema7' | 'draft-7' | 'jsonSchema2019-09' | 'draft-2020-12' | undefined
}

/** The JSON Schema of an object schema, or of the fields of one, of zod 3 or 4. */
export function toJsonSchemaCompat(
  schema: AnyObjectSchema | ZodRawShapeCompat | ShapeSchema,
  { pipeStrategy = 'input', target = 'draft-7' }: ToJsonSchemaOptions = {},
): JsonSchema {
  const isDraft07 = target === 'draft-7' || target === 'jsonSchema7'
  const shape = schema instanceof ShapeSchema ? schema.shape : isShape(schema) ? schema : undefined
  if (shape) return ofShape(shape, pipeStrategy, isDraft07)
  return ofSchema(schema as AnySchema, pipeStrategy, isDraft07)
}

/** The method of a request or notification schema. Throws if it has none. */
export function getMethodLiteral(schema: AnyObjectSchema): string {
  return methodOf(schema)
}

/** Parses a value. Throws the error of zod if it does not fit. */
export function parseWithCompat(schema: AnySchema, data: unknown): unknown {
  const result = safeParse(schema, data)
  if (!result.success) throw result.error
  return result.data
}

type Direction = 'input' | 'output'

/** Since version 4.2, schemas of zod describe themselves. */
interface SelfDescribing {
  '~standard'?: { jsonSchema?: Record<Direction, (options: { target: string }) => JsonSchema> }
}

function ofSchema(schema: AnySchema, direction: Direction, isDraft07: boolean): JsonSchema {
  const own = (schema as SelfDescribing)['~standard']?.jsonSchema
  if (own) {
    const { '~standard': _standard, ...json } = own[direction]({ target: isDraft07 ? 'draft-07' : 'draft-2020-12' })
    return json
  }
  return inDialect(toJsonSchema(schema as unknown as SchemaLike, direction), isZ4Schema(schema), isDraft07)
}

function ofShape(shape: ZodRawShapeCompat, direction: Direction, isDraft07: boolean): JsonSchema {
  const json = toJsonSchema(shape as unknown as SchemaLike, direction)
  const closed = direction === 'output' ? { ...json, additionalProperties: false } : json
  return inDialect(closed, Object.values(shape).every(isZ4Schema), isDraft07)
}

/** What the converters of the two versions of zod would return, from what Tenon does. */
function inDialect(json: JsonSchema, isZod4: boolean, isDraft07: boolean): JsonSchema {
  if (!isDraft07) return { $schema: DRAFT_2020_12, ...json }
  return isZod4 ? { $schema: DRAFT_07, ...withDraft07Tuples(json) } : toDraft07(json)
}

const DRAFT_2020_12 = 'https://json-schema.org/draft/2020-12/schema'
