import type { JsonSchema } from '../../../schema/json-schema.ts'
import { define, isObject, type JsonObject } from '../../../util/objects.ts'
import { strings } from './combine.ts'

/** Turns a value that matches the changed schema into one for the original schema. */
export type Restore = (value: unknown) => unknown

/** A schema for an API, and how to read values that match it; undefined: as they are. */
export interface Converted {
  readonly schema: JsonSchema
  readonly restore?: Restore | undefined
}

/** How a property of a changed schema relates to the original. */
export interface ChangedProperty {
  /** The original name. */
  readonly name: string
  readonly schema: JsonSchema
  readonly restore: Restore | undefined
  /** The property was made nullable because it is optional: null means that it is absent. */
  readonly isNullAbsent: boolean
}

/**
 * @param properties By their names in the changed schema.
 * @param restoreRest For all other properties.
 */
export function restoreObject(
  properties: ReadonlyMap<string, ChangedProperty>,
  restoreRest: Restore | undefined,
): Restore | undefined {
  const isChanged = [...properties].some(
    ([name, property]) => property.restore || property.isNullAbsent || property.name !== name,
  )
  if (!isChanged && !restoreRest) return undefined
  return (value) => {
    if (!isObject(value)) return value
    const restored: JsonObject = {}
    for (const key of Object.keys(value)) {
      const property = properties.get(key)
      if (property?.isNullAbsent && value[key] === null) continue
      const restore = property ? property.restore : restoreRest
      define(restored, property?.name ?? key, restore ? restore(value[key]) : value[key])
    }
    return restored
  }
}

export function restoreItems(restore: Restore | undefined): Restore | undefined {
  return restore && ((value) => (Array.isArray(value) ? value.map(restore) : value))
}

/** One function for both. */
export function inOrder(first: Restore | undefined, second: Restore | undefined): Restore | undefined {
  return first && second ? (value) => second(first(value)) : (first ?? second)
}

/** Restores a value by the first alternative that it can belong to. */
export function restoreAlternatives(alternatives: readonly Converted[]): Restore | undefined {
  if (alternatives.every(({ restore }) => restore === undefined)) return undefined
  return (value) => {
    const restore = alternatives.find(({ schema }) => fits(schema, value))?.restore
    return restore ? restore(value) : value
  }
}

/** Whether a value can belong to a schema, judged by its type, its members and the constants among them. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === 'array'
  if (!isObject(value) || !isObject(schema.properties)) return false
  const { properties } = schema
  if (!strings(schema.required).every((name) => Object.hasOwn(value, name))) return false
  return Object.keys(value).every((name) => {
    if (!Object.hasOwn(properties, name)) return schema.additionalProperties !== false
    const property = properties[name]
    if (!isObject(property)) return true
    if (property.const !== undefined) return property.const === value[name]
    return !Array.isArray(property.enum) || property.enum.includes(value[name])
  })
}
