import { choicesOf, isRequired, kindOf, propertiesOf, resolve, type Schema, variantsOf } from './schema.ts'

/** Recursive schemas that require themselves end here. */
const maxDepth = 6

/** The value that a field starts with once it is filled in: its default, or an empty value of its type. */
export function initialValue(schema: unknown, root: Schema, depth = 0): unknown {
  const resolved = resolve(schema, root)
  if ('default' in resolved) return resolved.default
  if (depth > maxDepth) return undefined
  switch (kindOf(resolved, root)) {
    case 'const':
      return resolved.const
    case 'choice':
      return choicesOf(resolved, root)?.[0]?.value
    case 'union':
      return initialValue(variantsOf(resolved)?.[0], root, depth + 1)
    case 'object':
      return initialObject(resolved, root, depth)
    case 'array':
    case 'choices':
      return []
    case 'tuple':
      return tupleItems(resolved).map((item) => initialValue(item, root, depth + 1))
    case 'string':
    case 'file':
      return ''
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return undefined
  }
}

/** The arguments that a form starts with: required fields that have a value, and defaults. */
export function initialObject(schema: Schema, root: Schema, depth = 0): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const initial =
      isRequired(schema, name) || 'default' in resolve(property, root)
        ? initialValue(property, root, depth + 1)
        : undefined
    if (initial !== undefined) value[name] = initial
  }
  return value
}

/** The schemas of a tuple. */
export function tupleItems(schema: Schema): readonly unknown[] {
  return Array.isArray(schema.prefixItems) ? schema.prefixItems : []
}
