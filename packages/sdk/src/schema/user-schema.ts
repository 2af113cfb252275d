import { define, isObject, type JsonObject } from '../util/objects.ts'
import { toStandardIssues } from './issues.ts'
import { compileJsonSchema, type JsonSchema, SchemaError } from './json-schema.ts'
import { isKeyword } from './keywords.ts'
import {
  isStandardSchema,
  type SchemaLike,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
} from './standard.ts'
import { escapeToken } from './values.ts'
import { zodToJsonSchema } from './zod.ts'

/** A schema ready for use: its JSON Schema for the wire, and one check. */
export interface UserSchema {
  readonly json: JsonSchema
  validate(value: unknown): StandardResult<unknown> | Promise<StandardResult<unknown>>
  /** The schema of one property, where the user gave one that can be told apart. */
  property(name: string): unknown
}

/** Input: what callers send. Output: what handlers return. They differ where a schema has defaults or transforms. */
export type Direction = 'input' | 'output'

/** Whatever schema the user gave, compiled once. Throws a `SchemaError` that names what is wrong. */
export function compileSchema(schema: SchemaLike, direction: Direction): UserSchema {
  if (isStandardSchema(schema)) return fromStandard(schema, direction)
  if (!isObject(schema))
    throw new SchemaError(`A schema must be an object, got ${schema === null ? 'null' : typeof schema}`)
  if (isShape(schema)) return fromShape(schema, direction)
  refuseLookalikes(schema)
  return fromJson(schema)
}

/** A JSON Schema that would check nothing is far more often a slip than a wish. */
function refuseLookalikes(schema: JsonObject): void {
  const stranger = Object.entries(schema).find(([, member]) => isStandardSchema(member))
  if (stranger) {
    throw new SchemaError(
      `${stranger[0]} is a schema of a library, and others beside it are not; use one kind for all of them`,
    )
  }
  if (!Object.keys(schema).some(isKeyword)) {
    throw new SchemaError(
      `${Object.keys(schema).join(', ')}: no keyword of JSON Schema is among these; properties go into { type: 'object', properties }`,
    )
  }
}

function fromStandard(schema: StandardSchema, direction: Direction): UserSchema {
  const standard = schema['~standard']
  return {
    json: toJsonSchema(schema, direction),
    validate: (value) => standard.validate(value),
    property: (name) => {
      const { shape } = schema as { shape?: unknown }
      return isObject(shape) ? shape[name] : undefined
    },
  }
}

function fromJson(schema: JsonSchema): UserSchema {
  const check = compileJsonSchema(schema)
  return {
    json: schema,
    validate: (value) => {
      const issues = check(value)
      return issues ? { issues: toStandardIssues(issues) } : { value }
    },
    property: () => undefined,
  }
}

function isShape(value: JsonObject): value is Record<string, StandardSchema> {
  return Object.values(value).every(isStandardSchema)
}

function fromShape(shape: Record<string, StandardSchema>, direction: Direction): UserSchema {
  const fields = Object.entries(shape)
  const properties: JsonObject = {}
  const required: string[] = []
  for (const [name, schema] of fields) {
    define(properties, name, moveRefs(toJsonSchema(schema, direction), propertyRef(name)))
    if (!isOptional(schema, direction)) required.push(name)
  }
  return {
    json: { type: 'object', properties, ...(required.length > 0 && { required }) },
    validate: (value) => validateShape(fields, value),
    property: (name) => (Object.hasOwn(shape, name) ? shape[name] : undefined),
  }
}

/** A reference to a property: a JSON Pointer token (RFC 6901) inside of a URI fragment, where encodeURI keeps a `#`. */
function propertyRef(name: string): string {
  return `#/properties/${encodeURI(escapeToken(name)).replaceAll('#', '%23')}`
}

/** Checks each property by itself; properties that the shape does not name are left out. */
function validateShape(
  fields: readonly [string, StandardSchema][],
  given: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  if (!isObject(given)) return { issues: [{ message: 'must be an object' }] }
  const results = fields.map(([name, schema]) =>
    schema['~standard'].validate(Object.hasOwn(given, name) ? given[name] : undefined),
  )
  return results.some((result) => result instanceof Promise)
    ? Promise.all(results).then((settled) => joinResults(fields, settled))
    : joinResults(fields, results as StandardResult<unknown>[])
}

function joinResults(
  fields: readonly [string, StandardSchema][],
  results: readonly StandardResult<unknown>[],
): StandardResult<unknown> {
  const value: JsonObject = {}
  let issues: StandardIssue[] | undefined
  results.forEach((result, index) => {
    const name = fields[index]![0]
    if (result.issues) issues = [...(issues ?? []), ...under(name, result.issues)]
    else if (result.value !== undefined) define(value, name, result.value)
  })
  return issues ? { issues } : { value }
}

function under(name: string, issues: readonly StandardIssue[]): StandardIssue[] {
  return issues.map(({ message, path = [] }) => ({ message, path: [name, ...path] }))
}

/** Whether a property may be left out. zod is asked: trying it with undefined would run the user's own checks. */
function isOptional(schema: StandardSchema, direction: Direction): boolean {
  const { _zod, _def } = schema as { _zod?: JsonObject; _def?: ZodDefinition }
  if (_zod) return _zod[direction === 'input' ? 'optin' : 'optout'] !== undefined
  return _def?.typeName ? isOptionalZod3(_def, direction) : acceptsUndefined(schema)
}

function isOptionalZod3({ typeName, innerType, schema }: ZodDefinition, direction: Direction): boolean {
  if (typeName === 'ZodOptional') return true
  if (typeName === 'ZodDefault' || typeName === 'ZodCatch') return direction === 'input'
  const inner = innerType ?? schema
  return inner !== undefined && isOptionalZod3(inner._def, direction)
}

function acceptsUndefined(schema: StandardSchema): boolean {
  try {
    const result = schema['~standard'].validate(undefined)
    if (!(result instanceof Promise)) return result.issues === undefined
    // It cannot be told here; a failure is of no interest either.
    result.catch(() => {})
  } catch {
    // A check that cannot take undefined does not accept it.
  }
  return false
}

/** The little we need to know of zod 3: what kind a schema is, and what it wraps. */
interface ZodDefinition {
  typeName?: string
  innerType?: { _def: ZodDefinition }
  schema?: { _def: ZodDefinition }
}

function toJsonSchema(schema: StandardSchema, direction: Direction): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard']
  if (jsonSchema) return withoutDialect(jsonSchema[direction]({ target: 'draft-2020-12' }))
  const converted = zodToJsonSchema(schema, direction)
  if (converted) return withoutDialect(converted)
  const way =
    vendor === 'valibot' ? 'wrap it with toStandardJsonSchema from @valibot/to-json-schema' : 'give a JSON Schema'
  throw new SchemaError(`This ${vendor} schema cannot describe itself as JSON Schema; ${way}`)
}

/** 2020-12 is the default dialect (2025-11-25 basic, JSON Schema usage), so naming it only costs bytes. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, '~standard': _standard, ...rest } = schema
  return rest
}

/** References inside a schema that becomes a part of another must start from the new root. */
function moveRefs(value: unknown, base: string): unknown {
  if (Array.isArray(value)) return value.map((item) => moveRefs(item, base))
  if (!isObject(value)) return value
  const moved: JsonObject = {}
  for (const [key, member] of Object.entries(value)) {
    const isRef = key === '$ref' && typeof member === 'string' && member.startsWith('#')
    define(moved, key, isRef ? base + (member as string).slice(1) : moveRefs(member, base))
  }
  return moved
}
