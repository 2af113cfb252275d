import { isObject } from 'tenon/internal'
import { createValidator, type JsonSchema, type SchemaLike, toJsonSchema } from 'tenon/server'
import { isStandardSchema, type StandardSchemaV1, type StandardSchemaWithJSON } from '../core/standard-schema.ts'

export type JsonObject = Record<string, unknown>

/** What an argument-less tool says about its input. */
export const emptyInput = { type: 'object' as const, properties: {} }

/** Accepts a shape of fields in place of a schema. */
export function toSchema(schema: unknown): StandardSchemaWithJSON | undefined {
  if (schema === undefined || isStandardSchema(schema)) return schema as StandardSchemaWithJSON | undefined
  if (!isObject(schema) || !Object.values(schema).every(isStandardSchema)) {
    throw new TypeError(
      'inputSchema, outputSchema and argsSchema must be a Standard Schema (for example z.object({...}) or fromJsonSchema({...})), or an object of them',
    )
  }
  const shape = schema as Record<string, StandardSchemaV1>
  const validate = createValidator(shape as SchemaLike)
  const convert = (direction: 'input' | 'output') => () => toJsonSchema(shape as SchemaLike, direction) as JsonObject
  const result = {
    shape,
    '~standard': {
      version: 1 as const,
      vendor: 'tenon',
      validate: validate as StandardSchemaV1.Props['validate'],
      jsonSchema: { input: convert('input'), output: convert('output') },
    },
  }
  return result
}

const converted = { input: new WeakMap<object, JsonObject>(), output: new WeakMap<object, JsonObject>() }

/** The JSON Schema of a schema. Each is converted once. */
export function toJson(schema: StandardSchemaWithJSON, direction: 'input' | 'output'): JsonObject {
  const known = converted[direction].get(schema)
  if (known) return known
  const json = convert(schema, direction)
  converted[direction].set(schema, json)
  return json
}

function convert(schema: StandardSchemaWithJSON, direction: 'input' | 'output'): JsonObject {
  const { jsonSchema, vendor } = schema['~standard']
  const json = jsonSchema
    ? jsonSchema[direction]({ target: 'draft-2020-12' })
    : (toJsonSchema(schema as SchemaLike, direction) as JsonObject)
  if (direction === 'output')
    return json.type === undefined && isObjectShaped(json) ? { type: 'object', ...json } : json
  if (json.type !== undefined && json.type !== 'object') {
    throw new Error(
      `MCP tool and prompt schemas must describe objects (got type: ${JSON.stringify(json.type)} from ${vendor}). Wrap your schema in z.object({...}) or equivalent.`,
    )
  }
  return { type: 'object', ...json }
}

/** Whether every value of a schema without a type is an object. */
function isObjectShaped(json: JsonObject): boolean {
  if (['properties', 'patternProperties', 'additionalProperties', 'required'].some((key) => key in json)) return true
  const members = [json.oneOf, json.anyOf, json.allOf].find((list) => Array.isArray(list) && list.length > 0)
  return (
    Array.isArray(members) &&
    members.every((member) => isObject(member) && (member.type === 'object' || isObjectShaped(member)))
  )
}

/** The JSON Schema of an output schema; undefined if it has none. */
export function toOutputJson(schema: StandardSchemaWithJSON | undefined): JsonObject | undefined {
  if (!schema) return undefined
  try {
    return toJson(schema, 'output')
  } catch {
    return undefined
  }
}

/** The arguments of a prompt, as `prompts/list` describes them. */
export function toArguments(schema: StandardSchemaWithJSON) {
  const { properties = {}, required = [] } = toJson(schema, 'input') as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description }]) => ({
    name,
    ...(description !== undefined && { description }),
    required: required.includes(name),
  }))
}

/** The fields of an object schema, where the library shows them. */
export function fieldsOf(schema: StandardSchemaWithJSON | undefined): Record<string, unknown> {
  const { shape, entries } = (schema ?? {}) as { shape?: unknown; entries?: unknown }
  const fields = typeof shape === 'function' ? shape() : (shape ?? entries)
  return isObject(fields) ? fields : {}
}

export type { JsonSchema }
