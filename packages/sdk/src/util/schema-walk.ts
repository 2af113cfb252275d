import { define, isObject, type JsonObject } from './objects.ts'

/** Keywords of every draft whose value is one schema. `items` was also a list. */
const single: ReadonlySet<string> = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** Keywords whose value is a list of schemas. */
const lists: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])

/** Keywords whose value has schemas by name. A member of `dependencies` can also be a list of names. */
const maps: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
])

/**
 * Returns a copy of a JSON Schema in which each schema directly within it was replaced. Data, such as `enum` and `default`, stays as
 * it is.
 * @param replace Gets a schema, which can be a boolean or invalid, the keyword that contains it, and its JSON Pointer.
 */
export function mapSubschemas(
  schema: JsonObject,
  replace: (subschema: unknown, keyword: string, path: string) => unknown,
): JsonObject {
  return mapValues(schema, (value, keyword) => {
    if (Array.isArray(value) && lists.has(keyword)) {
      return value.map((each, index) => replace(each, keyword, `/${keyword}/${index}`))
    }
    if (maps.has(keyword) && isObject(value)) {
      return mapValues(value, (each, name) =>
        Array.isArray(each) ? each : replace(each, keyword, `/${keyword}/${escapePointer(name)}`),
      )
    }
    return single.has(keyword) ? replace(value, keyword, `/${keyword}`) : value
  })
}

/** Writes a name as a part of a JSON Pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Returns the schema that a reference within the same document means; undefined if there is none. */
export function resolveLocalRef(root: unknown, ref: string): unknown {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  let value: unknown = root
  for (const step of decode(ref).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as JsonObject)[key]
  }
  return isObject(value) || typeof value === 'boolean' ? value : undefined
}

/** Own keys only, so that a `__proto__` member stays data. */
function mapValues(source: JsonObject, replace: (value: unknown, key: string) => unknown): JsonObject {
  const copy: JsonObject = {}
  for (const key of Object.keys(source)) define(copy, key, replace(source[key], key))
  return copy
}

function decode(ref: string): string {
  try {
    return decodeURIComponent(ref)
  } catch {
    return ref
  }
}
