import type { JsonSchema } from '../../../schema/json-schema.ts'
import { define, isObject, type JsonObject } from '../../../util/objects.ts'

/** Keywords whose value is one schema. `items` can also be a list, in draft-07. */
const single = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** Keywords whose value is a list of schemas. */
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])

/** Keywords whose value has schemas by name. */
const maps = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'])

/** Returns a copy of a schema in which each subschema was replaced. Data, such as `enum` and `default`, stays as it is. */
export function mapSubschemas(schema: JsonSchema, replace: (subschema: unknown, path: string) => unknown): JsonSchema {
  return mapValues(schema, (value, keyword) => {
    const isList = Array.isArray(value) && (lists.has(keyword) || keyword === 'items')
    if (isList) return value.map((each, index) => replace(each, `/${keyword}/${index}`))
    if (maps.has(keyword) && isObject(value)) {
      return mapValues(value, (each, name) => replace(each, `/${keyword}/${escapePointer(name)}`))
    }
    return single.has(keyword) ? replace(value, `/${keyword}`) : value
  })
}

/** Returns a copy of an object with other values. Own keys only, so that a `__proto__` member stays data. */
export function mapValues(source: JsonObject, replace: (value: unknown, key: string) => unknown): JsonObject {
  const copy: JsonObject = {}
  for (const key of Object.keys(source)) define(copy, key, replace(source[key], key))
  return copy
}

/** Writes a name as a part of a JSON Pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The types that a schema allows, as a list; undefined if it allows every type. */
export function typesOf({ type }: JsonSchema): readonly string[] | undefined {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : undefined
}
