import { createValidator, type SchemaLike, type StandardResult, type Validate } from 'tenon/server'
import { ShapeSchema } from '../shared/shape-schema.ts'
import {
  type AnySchema,
  getObjectShape,
  getParseErrorMessage,
  isZ4Schema,
  isZodSchema,
  safeParseAsync,
  type ZodRawShapeCompat,
} from '../shared/zod-reading.ts'
import { toJsonSchemaCompat } from './zod-json-schema-compat.ts'

type Direction = 'input' | 'output'

/** Computed once for each schema object: conversion is slow, and the schemas of a program do not change. */
const validators = new WeakMap<object, Validate>()
const shapeSchemas = new WeakMap<object, ShapeSchema>()
const described = { input: new WeakMap<object, object>(), output: new WeakMap<object, object>() }

/** The schema of a tool or prompt: an object schema as it is, fields as one object. Throws if it is neither. */
export function toSchema(schema: ZodRawShapeCompat | AnySchema | undefined): AnySchema | undefined {
  if (!schema) return undefined
  if (isRawShape(schema)) return fromShape(schema)
  if (isZodSchema(schema)) return schema as AnySchema
  throw new Error('inputSchema must be a Zod schema or raw shape, received an unrecognized object')
}

/** An object schema of fields. Servers that a program creates for each request share it. */
export function fromShape(shape: ZodRawShapeCompat): AnySchema {
  let schema = shapeSchemas.get(shape)
  if (!schema?.isCurrent()) {
    schema = new ShapeSchema(shape)
    shapeSchemas.set(shape, schema)
  }
  return schema as unknown as AnySchema
}

/** Whether an object has fields that are schemas, and is not a schema itself. An empty object counts. */
export function isRawShape(value: unknown): value is ZodRawShapeCompat {
  if (typeof value !== 'object' || value === null || isZodSchema(value) || value instanceof ShapeSchema) return false
  const fields = Object.values(value)
  return fields.length === 0 || fields.some(isParser)
}

/** Checks a value; asynchronously only if the schema is. */
export function validate(
  schema: AnySchema,
  value: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const known = validators.get(schema)
  if (known) return known(value)
  const created = createCheck(schema)
  validators.set(schema, created)
  return created(value)
}

/** What the issues of a failed check say. */
export function describeIssues(issues: object): string {
  return getParseErrorMessage({ issues })
}

/** The JSON Schema of an object schema; undefined for other schemas, which a tool cannot declare. */
export function describeSchema(schema: AnySchema, direction: Direction): object | undefined {
  const known = described[direction].get(schema)
  if (known) return known
  if (!fieldsOf(schema)) return undefined
  const json = toJsonSchemaCompat(schema, { strictUnions: true, pipeStrategy: direction })
  described[direction].set(schema, json)
  return json
}

/** The fields of an object schema. */
export function fieldsOf(schema: AnySchema): ZodRawShapeCompat | undefined {
  return schema instanceof ShapeSchema ? schema.shape : getObjectShape(schema)
}

function createCheck(schema: AnySchema): Validate {
  if (schema instanceof ShapeSchema) return createShapeCheck(schema.shape)
  if ('~standard' in schema) return createValidator(schema as unknown as SchemaLike)
  return async (value) => {
    const parsed = await safeParseAsync(schema, value)
    return parsed.success ? { value: parsed.data } : { issues: issuesOf(parsed.error) }
  }
}

/**
 * Checks fields as one object of zod, so that the error map of a program sees the whole path of a value. The first call loads
 * zod, which the program has loaded for the fields.
 */
function createShapeCheck(shape: ZodRawShapeCompat): Validate {
  if (Object.keys(shape).length === 0) return createValidator(shape as unknown as SchemaLike)
  const load = Object.values(shape).every(isZ4Schema) ? loadObject4 : loadObject3
  let check: Validate | undefined
  const validate = (toObject: ToObject, value: unknown) => {
    check ??= createValidator(toObject(shape) as SchemaLike)
    return check(value)
  }
  return (value) => {
    const toObject = load()
    return typeof toObject === 'function'
      ? validate(toObject, value)
      : toObject.then((loaded) => validate(loaded, value))
  }
}

/** Creates an object schema of fields. */
type ToObject = (shape: ZodRawShapeCompat) => unknown

const loadObject4 = once(async () => (await import('zod/v4-mini')).object as ToObject)
const loadObject3 = once(async () => (await import('zod/v3')).object as ToObject)

/**
 * Loads something, and returns it at once from then on. Programs create servers for each request, and every `import()` of a
 * program with loader hooks asks another thread.
 */
function once<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined
  const keep = (value: T) => {
    loaded = value
    return value
  }
  return () => loaded ?? load().then(keep)
}

function issuesOf(error: unknown): { message: string }[] {
  const { issues } = error as { issues?: { message: string }[] }
  return Array.isArray(issues) && issues.length > 0 ? issues : [{ message: getParseErrorMessage(error) }]
}

function isParser(value: unknown): boolean {
  const { parse, safeParse } = (value ?? {}) as { parse?: unknown; safeParse?: unknown }
  return typeof value === 'object' && typeof parse === 'function' && typeof safeParse === 'function'
}
