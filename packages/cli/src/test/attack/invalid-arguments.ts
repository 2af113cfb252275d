import type { Tool } from 'tenon'
import type { JsonObject } from 'tenon/internal'
import { compileJsonSchema } from 'tenon/server'
import { listOf, objectOf, stringsOf } from '../../contract/json.ts'

/** Arguments that do not match the schema of a tool, and what is wrong with them. */
export interface InvalidArguments {
  readonly what: string
  readonly args: JsonObject
}

/** Returns a few sets of arguments that the schema of a tool forbids. */
export function invalidArguments({ inputSchema }: Tool, max: number): InvalidArguments[] {
  const isValid = compile(inputSchema)
  if (!isValid) return []
  const properties = Object.entries(objectOf(inputSchema.properties))
  const sample = sampleArguments(inputSchema)
  const candidates = [
    ...stringsOf(inputSchema.required).map((key) => ({ what: `no ${key}`, args: without(sample, key) })),
    ...properties.map(([key, schema]) => ({
      what: `${key} of the wrong type`,
      args: withValue(sample, key, wrongValue(schema)),
    })),
    ...properties.map(([key]) => ({ what: `${key} is null`, args: withValue(sample, key, null) })),
  ]
  return candidates.filter(({ args }) => !isValid(args)).slice(0, max)
}

/** Returns arguments with a plausible value for each required property. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const properties = objectOf(schema.properties)
  return Object.fromEntries(stringsOf(schema.required).map((key) => [key, sampleValue(objectOf(properties[key]), 0)]))
}

function sampleValue(schema: JsonObject, depth: number): unknown {
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  const [first] = listOf(schema.enum)
  if (first !== undefined) return first
  const type = typeof schema.type === 'string' ? schema.type : listOf(schema.type)[0]
  switch (type) {
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? schema.minimum : 1
    case 'boolean':
      return false
    case 'array':
      return []
    case 'object':
      return depth < 5 ? sampleObject(schema, depth) : {}
    default:
      return 'test'
  }
}

function sampleObject(schema: JsonObject, depth: number): JsonObject {
  const properties = objectOf(schema.properties)
  return Object.fromEntries(
    stringsOf(schema.required).map((key) => [key, sampleValue(objectOf(properties[key]), depth + 1)]),
  )
}

/** An object for everything but an object. */
function wrongValue(schema: unknown): unknown {
  const { type } = objectOf(schema)
  return type === 'object' ? 'text' : { unexpected: true }
}

function without(args: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => name !== key))
}

function withValue(args: JsonObject, key: string, value: unknown): JsonObject {
  return Object.fromEntries([...Object.entries(args).filter(([name]) => name !== key), [key, value]])
}

function compile(schema: JsonObject): ((args: JsonObject) => boolean) | undefined {
  try {
    const check = compileJsonSchema(schema, { maxSteps: 100_000 })
    return (args) => check(args) === undefined
  } catch {
    return undefined
  }
}
