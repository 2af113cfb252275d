import { isObject, type JsonObject, mapSubschemas } from 'tenon/internal'

/** A schema within a schema. */
export interface SchemaNode {
  readonly schema: JsonObject
  /** JSON Pointer into the root. */
  readonly path: string
  /** Levels of objects and lists around it; 0 for the root. */
  readonly depth: number
}

/** Keywords whose schemas describe a part of the value instead of the value itself. */
const nesting = new Set(['properties', 'patternProperties', 'items', 'prefixItems', 'additionalProperties', 'contains'])

/** A hostile schema could have any size. The rest is not visited. */
const maxNodes = 20_000

/** Lists a schema and all schemas within it, outer ones first. */
export function listSchemas(root: unknown): readonly SchemaNode[] {
  if (!isObject(root)) return []
  const found: SchemaNode[] = [{ schema: root, path: '', depth: 0 }]
  for (let index = 0; index < found.length && found.length < maxNodes; index++) found.push(...childrenOf(found[index]!))
  return found
}

function childrenOf({ schema, path, depth }: SchemaNode): SchemaNode[] {
  const children: SchemaNode[] = []
  mapSubschemas(schema, (child, keyword, step) => {
    if (isObject(child))
      children.push({ schema: child, path: path + step, depth: depth + (nesting.has(keyword) ? 1 : 0) })
    return child
  })
  return children
}
