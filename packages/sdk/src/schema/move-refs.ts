import { define, isObject, type JsonObject } from '../util/objects.ts'

/**
 * Rewrites the references in a schema that becomes a part of another, so that they start from the new root. Data, and parts with
 * an id of their own, are not changed.
 *
 * @param base Where the schema will be: `#/properties/result`.
 */
export function moveRefs(schema: unknown, base: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moveRefs(item, base))
  if (!isObject(schema) || hasOwnBase(schema)) return schema
  return mapMembers(schema, (value, key) => {
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string')
      return /^#(\/|$)/.test(value) ? base + value.slice(1) : value
    if (dataKeywords.has(key)) return value
    // The names of the parts are not keywords.
    return mapKeywords.has(key) && isObject(value)
      ? mapMembers(value, (part) => moveRefs(part, base))
      : moveRefs(value, base)
  })
}

function mapMembers(source: JsonObject, change: (value: unknown, key: string) => unknown): JsonObject {
  const changed: JsonObject = {}
  for (const key of Object.keys(source)) define(changed, key, change(source[key], key))
  return changed
}

/** References in such a part do not point to the schema around it. */
function hasOwnBase({ $id }: JsonObject): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'))
}

const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
