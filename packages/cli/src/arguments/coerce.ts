import { isObject } from 'tenon/internal'
/** The part of a JSON Schema that says which types arguments have. */
export interface ArgumentSchema {
  readonly properties?: unknown
}

/** A JSON Schema, or a part of one. Servers send it, so nothing in it is certain. */
export type NodeSchema = Readonly<Record<string, unknown>>

/** The schema of a property; undefined if the schema does not know it. */
export function propertyOf(schema: NodeSchema | undefined, name: string, root: NodeSchema): NodeSchema | undefined {
  for (const variant of variantsOf(schema, root)) {
    const { properties } = variant
    if (isObject(properties) && Object.hasOwn(properties, name)) {
      const found = properties[name]
      return isObject(found) ? resolveSchema(found, root) : {}
    }
  }
  return undefined
}

/** The schema of the items of a list. */
export function itemsOf(schema: NodeSchema | undefined, root: NodeSchema): NodeSchema | undefined {
  const items = variantsOf(schema, root).find((variant) => isObject(variant.items))?.items
  return isObject(items) ? resolveSchema(items, root) : undefined
}

/** All types that a schema allows, in any of its variants. */
export function typesOf(schema: NodeSchema | undefined, root: NodeSchema): ReadonlySet<unknown> {
  const types = variantsOf(schema, root).flatMap(({ type, enum: values, const: only, items, properties }) => {
    if (type !== undefined) return Array.isArray(type) ? type : [type]
    const known = Array.isArray(values) ? values : only === undefined ? [] : [only]
    if (known.length > 0) return known.map((value) => (value === null ? 'null' : typeof value))
    return isObject(items) ? ['array'] : isObject(properties) ? ['object'] : []
  })
  return new Set(types)
}

/** Converts a text. One that does not fit stays a text, so that the check of the arguments can say what is wrong. */
export function toType(text: string, schema: NodeSchema | undefined, root: NodeSchema): unknown {
  const values = variantsOf(schema, root).flatMap(({ enum: list, const: only }) => {
    return [...(Array.isArray(list) ? list : []), ...(only === undefined ? [] : [only])]
  })
  const named = values.find((value) => (typeof value === 'string' ? value : JSON.stringify(value)) === text)
  if (named !== undefined) return named
  const types = typesOf(schema, root)
  if (types.has('string')) return text
  const isNumber = types.has('number') || types.has('integer')
  if (isNumber && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (types.has('null') && text === 'null') return null
  return types.has('object') || types.has('array') ? parsed(text) : text
}

/** Follows `$ref` within the document. */
export function resolveSchema(schema: NodeSchema, root: NodeSchema, depth = 0): NodeSchema {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith('#') || depth > maxDepth) return schema
  let target: unknown = root
  for (const part of $ref.slice(1).split('/').filter(Boolean)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined
  }
  return isObject(target) ? resolveSchema(target, root, depth + 1) : schema
}

const maxDepth = 20

/** The schema itself and the members of `anyOf`, `oneOf` and `allOf`. */
function variantsOf(schema: NodeSchema | undefined, root: NodeSchema, depth = 0): NodeSchema[] {
  if (!schema || depth > maxDepth) return []
  const resolved = resolveSchema(schema, root)
  const inner = [resolved.anyOf, resolved.oneOf, resolved.allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return [resolved, ...inner.filter(isObject).flatMap((each) => variantsOf(each, root, depth + 1))]
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : text
  } catch {
    return text
  }
}
