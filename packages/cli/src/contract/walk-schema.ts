import { isObject, type JsonObject } from 'tenon/internal'
import { listOf, objectOf } from './json.ts'

/** A schema within a schema. */
export interface SchemaNode {
  readonly schema: JsonObject
  /** JSON Pointer into the root. */
  readonly path: string
  /** Levels of objects and lists around it; 0 for the root. */
  readonly depth: number
}

const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const singles = [
  'items',
  'additionalProperties',
  'additionalItems',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
]

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
  const add = (value: unknown, keyword: string, key?: string | number) => {
    const step = key === undefined ? keyword : `${keyword}/${escapePointer(String(key))}`
    if (isObject(value))
      children.push({ schema: value, path: `${path}/${step}`, depth: depth + (nesting.has(keyword) ? 1 : 0) })
  }
  for (const keyword of maps)
    for (const [key, value] of Object.entries(objectOf(schema[keyword]))) add(value, keyword, key)
  for (const keyword of lists)
    for (const [index, value] of listOf(schema[keyword]).entries()) add(value, keyword, index)
  for (const keyword of singles) add(schema[keyword], keyword)
  return children
}

/** Escapes a key for a JSON Pointer. */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Returns what a reference within the same document points to. */
export function resolveLocalRef(root: unknown, ref: string): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let value: unknown = root
  for (const step of ref.slice(2).split('/')) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
