// Helpers for schemas of zod 3 and 4. This module loads zod; `shared/zod-reading.ts` has those that need none.

import * as z3 from 'zod/v3'
import * as z4 from 'zod/v4-mini'
import {
  type AnyObjectSchema,
  type AnySchema,
  getObjectShape,
  isZ4Schema,
  isZodSchema,
  type ZodRawShapeCompat,
} from '../shared/zod-reading.ts'

export {
  type AnyObjectSchema,
  type AnySchema,
  getLiteralValue,
  getObjectShape,
  getParseErrorMessage,
  getSchemaDescription,
  isSchemaOptional,
  isZ4Schema,
  type SchemaInput,
  type SchemaOutput,
  type ShapeOutput,
  safeParse,
  safeParseAsync,
  type ZodRawShapeCompat,
  type ZodV3Internal,
  type ZodV4Internal,
} from '../shared/zod-reading.ts'

/** An object schema of these fields, in the version of zod that they have. */
export function objectFromShape(shape: ZodRawShapeCompat): AnyObjectSchema {
  const schemas = Object.values(shape)
  if (schemas.every(isZ4Schema)) return z4.object(shape as Parameters<typeof z4.object>[0])
  if (schemas.some(isZ4Schema)) throw new Error('Mixed Zod versions detected in object shape.')
  return z3.object(shape as unknown as z3.ZodRawShape)
}

/** An object schema from itself or from its fields; undefined if it is neither. */
export function normalizeObjectSchema(schema: AnySchema | ZodRawShapeCompat | undefined): AnyObjectSchema | undefined {
  if (!schema) return undefined
  if (isZodSchema(schema)) return getObjectShape(schema) ? schema : undefined
  const fields = Object.values(schema)
  return fields.length > 0 && fields.every(isZodSchema) ? objectFromShape(schema) : undefined
}
