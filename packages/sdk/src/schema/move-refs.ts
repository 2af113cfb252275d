import { isObject, type JsonObject } from '../util/objects.ts'
import { mapSubschemas } from '../util/schema-walk.ts'

/**
 * Rewrites the references in a schema that becomes a part of another, so that they start from the new root. Data, and parts with
 * an id of their own, are not changed.
 *
 * @param base Where the schema will be: `#/properties/result`.
 */
export function moveRefs(schema: unknown, base: string): unknown {
  if (!isObject(schema) || hasOwnBase(schema)) return schema
  const moved = mapSubschemas(schema, (part) => moveRefs(part, base))
  for (const key of ['$ref', '$dynamicRef']) {
    const ref = moved[key]
    if (typeof ref === 'string' && /^#(\/|$)/.test(ref)) moved[key] = base + ref.slice(1)
  }
  return moved
}

/** References in such a part do not point to the schema around it. */
function hasOwnBase({ $id }: JsonObject): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'))
}
