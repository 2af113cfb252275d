import { isObject } from 'tenon/internal'

/** A JSON Schema that is an object. `true`, `false` and nonsense become an empty one. */
export type Schema = Readonly<Record<string, unknown>>

/** One way to fill in a field. */
export type FieldKind =
  | 'any'
  | 'array'
  | 'boolean'
  | 'choice'
  | 'choices'
  | 'const'
  | 'file'
  | 'null'
  | 'number'
  | 'object'
  | 'string'
  | 'tuple'
  | 'union'

/** A value to choose, and the text that stands for it. */
export interface Choice {
  readonly value: unknown
  readonly label: string
}

/** References that lead to references are followed this far. */
const maxHops = 32

/** Follows `$ref` into the same document and merges `allOf`. Other documents are never fetched. */
export function resolve(schema: unknown, root: Schema): Schema {
  let found: unknown = schema
  for (let hops = 0; hops < maxHops; hops++) {
    if (!isObject(found)) return {}
    if (typeof found.$ref === 'string') {
      const { $ref, ...rest } = found
      const target = lookUp(found.$ref, root)
      found = isObject(target) ? { ...target, ...rest } : rest
    } else if (Array.isArray(found.allOf)) {
      const { allOf, ...rest } = found
      found = [...found.allOf.map((part) => (isObject(part) ? part : {})), rest].reduce(merge, {})
    } else return found
  }
  return {}
}

/** The kind of field for a resolved schema. */
export function kindOf(schema: Schema, root: Schema): FieldKind {
  if ('const' in schema) return 'const'
  if (choicesOf(schema, root) !== undefined) return 'choice'
  if (variantsOf(schema) !== undefined) return 'union'
  const type = typeOf(schema)
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string') return isFile(schema) ? 'file' : 'string'
  if (type === 'array') return kindOfArray(schema, root)
  if (type === 'object' || type === 'boolean' || type === 'null') return type
  return 'any'
}

/** The values of an enum, or of a union of constants. */
export function choicesOf(schema: Schema, root: Schema): Choice[] | undefined {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : []
    return schema.enum.map((value, index) => ({ value, label: labelOf(names[index], value) }))
  }
  const options = variantsOf(schema)?.map((option) => resolve(option, root))
  if (!options?.every((option) => 'const' in option)) return undefined
  return options.map((option) => ({ value: option.const, label: labelOf(option.title, option.const) }))
}

/** The schemas of a union: `oneOf`, `anyOf` or several types. */
export function variantsOf(schema: Schema): Schema[] | undefined {
  for (const key of ['oneOf', 'anyOf']) {
    const options = schema[key]
    if (!Array.isArray(options) || options.length === 0) continue
    const { [key]: _options, title: _title, description: _description, default: _default, ...common } = schema
    return options.map((option) => merge(common, isObject(option) ? option : {}))
  }
  if (!Array.isArray(schema.type) || schema.type.length < 2) return undefined
  const { title: _title, description: _description, default: _default, ...rest } = schema
  return schema.type.map((type) => ({ ...rest, type }))
}

/** The name of a variant in a list of them. */
export function variantName(variant: Schema, root: Schema, index: number): string {
  const schema = resolve(variant, root)
  if (typeof schema.title === 'string') return schema.title
  if ('const' in schema) return JSON.stringify(schema.const) ?? 'undefined'
  const tag = Object.entries(propertiesOf(schema))
    .map(([, property]) => resolve(property, root).const)
    .find((value) => typeof value === 'string')
  return String(tag ?? typeOf(schema) ?? `variant ${index + 1}`)
}

/** The variant that fits a value best: by type, then by constants of its properties. */
export function variantFor(value: unknown, variants: readonly Schema[], root: Schema): number {
  const scores = variants.map((variant) => scoreOf(value, resolve(variant, root), root))
  return scores.indexOf(Math.max(...scores))
}

export function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return isObject(schema.properties) ? schema.properties : {}
}

export function isRequired(schema: Schema, property: string): boolean {
  return Array.isArray(schema.required) && schema.required.includes(property)
}

/** The only type of a schema, as far as it can be told. */
export function typeOf(schema: Schema): string | undefined {
  if (typeof schema.type === 'string') return schema.type
  if (Array.isArray(schema.type)) return typeof schema.type[0] === 'string' ? schema.type[0] : undefined
  if (isObject(schema.properties)) return 'object'
  return 'items' in schema || 'prefixItems' in schema ? 'array' : undefined
}

function kindOfArray(schema: Schema, root: Schema): FieldKind {
  if (Array.isArray(schema.prefixItems)) return 'tuple'
  return choicesOf(resolve(schema.items, root), root) === undefined ? 'array' : 'choices'
}

function isFile({ contentEncoding, format }: Schema): boolean {
  return contentEncoding === 'base64' || format === 'byte' || format === 'binary'
}

function lookUp(pointer: string, root: Schema): unknown {
  if (!pointer.startsWith('#')) return undefined
  if (!pointer.startsWith('#/') && pointer !== '#') return byAnchor(pointer.slice(1), root)
  let found: unknown = root
  for (const part of pointer.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else if (isObject(found) && Object.hasOwn(found, key)) found = found[key]
    else return undefined
  }
  return found
}

/** A pointer that is not encoded correctly leads nowhere. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function byAnchor(anchor: string, root: Schema): unknown {
  const definitions = isObject(root.$defs) ? Object.values(root.$defs) : []
  return definitions.find((definition) => isObject(definition) && definition.$anchor === anchor)
}

function merge(first: Schema, second: Schema): Schema {
  const merged: Record<string, unknown> = { ...first, ...second }
  if (isObject(first.properties) && isObject(second.properties)) {
    merged.properties = { ...first.properties, ...second.properties }
  }
  if (Array.isArray(first.required) && Array.isArray(second.required)) {
    merged.required = [...first.required, ...second.required]
  }
  return merged
}

function labelOf(title: unknown, value: unknown): string {
  if (typeof title === 'string') return title
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

function scoreOf(value: unknown, schema: Schema, root: Schema): number {
  if ('const' in schema) return JSON.stringify(schema.const) === JSON.stringify(value) ? 10 : -1
  const type = typeOf(schema)
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (type !== undefined && type !== actual && !(type === 'integer' && actual === 'number')) return -1
  if (!isObject(value)) return type === undefined ? 0 : 1
  let score = 1
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const { const: constant } = resolve(property, root)
    if (constant !== undefined) score += constant === value[name] ? 5 : -5
    else if (Object.hasOwn(value, name)) score += 1
    else if (isRequired(schema, name)) score -= 1
  }
  return score
}
