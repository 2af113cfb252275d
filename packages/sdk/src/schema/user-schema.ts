import { define, isObject, type JsonObject } from '../util/objects.ts'
import { compileCheck } from './compile-check.ts'
import { toStandardIssues } from './issues.ts'
import type { JsonSchema, JsonSchemaCompiler } from './json-schema.ts'
import { isKeyword } from './keywords.ts'
import { moveRefs } from './move-refs.ts'
import { SchemaError } from './schema-error.ts'
import { type Field, readShape, validateShape, type ZodSchema } from './shape.ts'
import {
  isSchemaShape,
  isStandardSchema,
  type SchemaLike,
  type StandardResult,
  type StandardSchema,
} from './standard.ts'
import { escapeToken } from './values.ts'
import { isOptional, zodToJsonSchema } from './zod.ts'

/** A compiled schema: its JSON Schema for the wire, and its check. */
export interface UserSchema {
  readonly json: JsonSchema
  readonly validate: Validate
  /** Returns the schema of one property, if the schema has separate ones. */
  property(name: string): unknown
}

/** Which side of a schema. Input: what callers send. Output: what handlers return. They differ if a schema has defaults or transforms. */
export type Direction = 'input' | 'output'

/** Compiles a schema of any supported kind. Throws a `SchemaError` that describes the problem. */
export function compileSchema(
  schema: SchemaLike,
  direction: Direction,
  compile: JsonSchemaCompiler = (schema) => compileCheck(schema),
): UserSchema {
  if (isStandardSchema(schema)) return fromStandard(schema, direction)
  if (isEffectSchema(schema)) throw new SchemaError(`This Effect schema is not a Standard Schema. ${EFFECT_WAY}`)
  if (!isObject(schema))
    throw new SchemaError(`A schema must be an object, got ${schema === null ? 'null' : typeof schema}`)
  if (isSchemaShape(schema)) return fromShape(schema, direction)
  refuseLookalikes(schema)
  return fromJson(schema, compile)
}

/**
 * Returns the JSON Schema (2020-12) of a Standard Schema, a zod 3 or 4 schema, or a shape of them. A JSON Schema is returned as
 * it is. Throws a `SchemaError` if a part of the schema has no JSON form.
 *
 * @example
 * ```ts
 * toJsonSchema(z.object({ a: z.number() }), 'input') // { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }
 * ```
 */
export function toJsonSchema(schema: SchemaLike, direction: Direction): JsonSchema {
  return compileSchema(schema, direction).json
}

const EFFECT_WAY =
  'With Effect 4, pass Schema.toStandardSchemaV1(Schema.toStandardJSONSchemaV1(schema)). ' +
  'With Effect 3, pass the JSON Schema that JSONSchema.make(schema) returns.'

function isEffectSchema(value: unknown): boolean {
  const isObjectLike = typeof value === 'function' || (typeof value === 'object' && value !== null)
  return isObjectLike && ('~effect/Schema/Schema' in value || Symbol.for('effect/Schema') in value)
}

/** Rejects a JSON Schema that would check nothing, which is usually a mistake. */
function refuseLookalikes(schema: JsonObject): void {
  const effect = Object.entries(schema).find(([, member]) => isEffectSchema(member) && !isStandardSchema(member))
  if (effect) throw new SchemaError(`The Effect schema ${effect[0]} is not a Standard Schema. ${EFFECT_WAY}`)
  const stranger = Object.entries(schema).find(([, member]) => isStandardSchema(member))
  if (stranger) {
    throw new SchemaError(
      `${stranger[0]} is a schema of a library, but other properties are not. Use one kind of schema for all.`,
    )
  }
  if (!Object.keys(schema).some(isKeyword)) {
    throw new SchemaError(
      `The schema has no keyword of JSON Schema, only ${Object.keys(schema).join(', ')}. Put properties into { type: 'object', properties }.`,
    )
  }
}

function fromStandard(schema: StandardSchema, direction: Direction): UserSchema {
  const standard = schema['~standard']
  return {
    json: describe(schema, direction),
    validate: (value) => standard.validate(value),
    property: (name) => {
      const { shape } = schema as { shape?: unknown }
      return isObject(shape) ? shape[name] : undefined
    },
  }
}

function fromJson(schema: JsonSchema, compile: JsonSchemaCompiler): UserSchema {
  return { json: schema, validate: createJsonValidator(schema, compile), property: () => undefined }
}

function fromShape(shape: Record<string, StandardSchema>, direction: Direction): UserSchema {
  const properties: JsonObject = {}
  const required: string[] = []
  const fields = readShape(shape)
  for (const field of fields) {
    define(properties, field.name, moveRefs(describe(field.schema, direction), propertyRef(field.name)))
    if (!mayBeAbsent(field, direction)) required.push(field.name)
  }
  return {
    json: { type: 'object', properties, ...(required.length > 0 && { required }) },
    validate: (value) => validateShape(fields, value),
    property: (name) => (Object.hasOwn(shape, name) ? shape[name] : undefined),
  }
}

/** Whether the published schema allows a property to be absent. */
function mayBeAbsent({ schema, isRequired }: Field, direction: Direction): boolean {
  const { _zod, _def } = schema as ZodSchema
  if (_zod) return _zod[direction === 'input' ? 'optin' : 'optout'] !== undefined
  return _def?.typeName ? isOptional(schema, direction) : !isRequired
}

/** Returns a reference to a property: a JSON Pointer token (RFC 6901) in a URI fragment. encodeURI keeps a `#`. */
function propertyRef(name: string): string {
  return `#/properties/${encodeURI(escapeToken(name)).replaceAll('#', '%23')}`
}

function describe(schema: StandardSchema, direction: Direction): JsonSchema {
  const { jsonSchema, vendor, validate } = schema['~standard']
  if (typeof validate !== 'function') {
    const way = vendor === 'effect' ? EFFECT_WAY : 'Pass the schema itself, not only its description.'
    throw new SchemaError(`This ${vendor} schema describes values but cannot check them. ${way}`)
  }
  if (jsonSchema) return withoutDialect(jsonSchema[direction]({ target: 'draft-2020-12' }))
  const converted = zodToJsonSchema(schema, direction)
  if (converted) return withoutDialect(converted)
  const way = WAYS[vendor] ?? 'Pass a JSON Schema instead.'
  throw new SchemaError(`This ${vendor} schema cannot describe itself as JSON Schema. ${way}`)
}

/** How to make the schemas of a library describe themselves as JSON Schema. */
const WAYS: Record<string, string> = {
  valibot: 'Wrap it with toStandardJsonSchema from @valibot/to-json-schema.',
  effect: EFFECT_WAY,
}

/** 2020-12 is the default dialect (2025-11-25 basic, JSON Schema usage), so naming it only costs bytes. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, '~standard': _standard, ...rest } = schema
  return rest
}

/** Checks a value. Returns the checked value, or the issues; asynchronously only if the schema is asynchronous. */
export type Validate = (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>

/**
 * Creates the check of a Standard Schema, a zod 3 or 4 schema, a shape of them, or a JSON Schema. The schema is compiled once.
 *
 * @example
 * ```ts
 * const validate = createValidator({ a: z.number() })
 * const { value, issues } = await validate({ a: 1 })
 * ```
 */
export function createValidator(schema: SchemaLike): Validate {
  if (isStandardSchema(schema)) return (value) => schema['~standard'].validate(value)
  if (!isObject(schema)) throw new SchemaError('A schema must be an object')
  if (isSchemaShape(schema)) {
    const fields = readShape(schema)
    return (value) => validateShape(fields, value)
  }
  return createJsonValidator(schema)
}

export function createJsonValidator(
  schema: JsonSchema,
  compile: JsonSchemaCompiler = (schema) => compileCheck(schema),
): Validate {
  const check = compile(schema)
  return (value) => {
    const issues = check(value)
    return issues ? { issues: toStandardIssues(issues) } : { value }
  }
}
