import { isObject, type JsonObject, resolveLocalRef } from 'tenon/internal'
import { listOf, objectOf, stringsOf } from '../contract/json.ts'
import { docComment, toKey, toStringLiteral } from './code.ts'
import { type NameTable, toPascalCase } from './names.ts'

/** Writes the types of one schema document. Types that it refers to become declarations of their own. */
export class TypeWriter {
  readonly #root: unknown
  readonly #name: string
  readonly #names: NameTable
  readonly #byRef = new Map<string, string>()
  readonly #declarations: string[][] = []

  /**
   * @param name The name of the type of the root.
   * @param names Gives out the names of further types.
   */
  constructor(root: unknown, name: string, names: NameTable) {
    this.#root = root
    this.#name = name
    this.#names = names
    this.#byRef.set('#', name)
  }

  /** Returns the declarations of the root and of everything it refers to. */
  declare(comment: readonly (string | undefined)[]): string[] {
    const own = this.#declaration(this.#name, this.#root, comment)
    return [own, ...this.#declarations].flatMap((lines) => [...lines, ''])
  }

  #declaration(name: string, schema: unknown, comment: readonly (string | undefined)[]): string[] {
    const type = this.#typeOf(schema, 0, '')
    const isInterface = isPlainObject(schema)
    const code = isInterface ? `export interface ${name} ${type}` : `export type ${name} = ${type}`
    return [...docComment(comment), ...code.split('\n')]
  }

  #typeOf(schema: unknown, depth: number, indent: string): string {
    if (schema === false) return 'never'
    if (!isObject(schema) || depth > maxDepth) return 'unknown'
    if (typeof schema.$ref === 'string') return this.#refType(schema.$ref)
    const parts = [
      this.#valueType(schema, depth, indent),
      this.#unionType(schema.anyOf ?? schema.oneOf, depth, indent),
      ...listOf(schema.allOf).map((part) => this.#typeOf(part, depth + 1, indent)),
    ].filter((part) => part !== undefined && part !== 'unknown')
    if (parts.length === 0) return 'unknown'
    return parts.length === 1 ? String(parts[0]) : parts.map((part) => `(${part})`).join(' & ')
  }

  #refType(ref: string): string {
    if (this.#isCircular(ref)) return 'unknown'
    const known = this.#byRef.get(ref)
    if (known !== undefined) return known
    const target = resolveLocalRef(this.#root, ref)
    if (target === undefined) return 'unknown'
    const name = this.#names.take(this.#name + toPascalCase(ref.split('/').at(-1) ?? '', 'Type'))
    this.#byRef.set(ref, name)
    this.#declarations.push(this.#declaration(name, target, [descriptionOf(target)]))
    return name
  }

  /** A type may contain itself as a part, but must not be an alternative of itself. */
  #isCircular(ref: string): boolean {
    const visited = new Set<string>()
    const open = [ref]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const other of directRefs(resolveLocalRef(this.#root, next))) {
        if (other === ref) return true
        if (!visited.has(other)) open.push(other)
        visited.add(other)
      }
    }
    return false
  }

  #unionType(branches: unknown, depth: number, indent: string): string | undefined {
    if (!Array.isArray(branches) || branches.length === 0) return undefined
    const types = branches.map((branch) => this.#typeOf(branch, depth + 1, indent))
    return types.includes('unknown') ? undefined : join(types)
  }

  #valueType(schema: JsonObject, depth: number, indent: string): string | undefined {
    if ('const' in schema) return literalType(schema.const)
    if (Array.isArray(schema.enum)) return join(schema.enum.map(literalType)) || 'never'
    const types = typeof schema.type === 'string' ? [schema.type] : stringsOf(schema.type)
    if (types.length > 0) return join(types.map((type) => this.#typeNamed(type, schema, depth, indent)))
    return isObject(schema.properties) ? this.#objectType(schema, depth, indent) : undefined
  }

  #typeNamed(type: string, schema: JsonObject, depth: number, indent: string): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type
      case 'number':
      case 'integer':
        return 'number'
      case 'array':
        return this.#arrayType(schema, depth, indent)
      case 'object':
        return this.#objectType(schema, depth, indent)
      default:
        return 'unknown'
    }
  }

  #arrayType({ items, prefixItems }: JsonObject, depth: number, indent: string): string {
    const rest = items === false ? undefined : `(${this.#typeOf(items, depth + 1, indent)})[]`
    if (!Array.isArray(prefixItems)) return rest ?? '[]'
    const first = prefixItems.map((item) => `(${this.#typeOf(item, depth + 1, indent)})?`)
    return `[${[...first, ...(rest === undefined ? [] : [`...${rest}`])].join(', ')}]`
  }

  #objectType(schema: JsonObject, depth: number, indent: string): string {
    const { additionalProperties } = schema
    const properties = Object.entries(objectOf(schema.properties))
    const required = stringsOf(schema.required)
    if (properties.length === 0) return this.#recordType(additionalProperties, depth, indent)
    const inner = `${indent}  `
    const lines = properties.flatMap(([key, value]) => [
      ...docComment([descriptionOf(value)], inner),
      `${inner}${toKey(key)}${required.includes(key) ? '' : '?'}: ${this.#typeOf(value, depth + 1, inner)}`,
    ])
    const isOpen = additionalProperties === true || isObject(additionalProperties)
    return ['{', ...lines, ...(isOpen ? [`${inner}[key: string]: unknown`] : []), `${indent}}`].join('\n')
  }

  #recordType(values: unknown, depth: number, indent: string): string {
    if (values === false) return '{ [key: string]: never }'
    return `{ [key: string]: ${isObject(values) ? this.#typeOf(values, depth + 1, indent) : 'unknown'} }`
  }
}

const maxDepth = 24

/** The references of a schema that describe the same value as the schema, and not a part of it. */
function directRefs(schema: unknown): string[] {
  if (!isObject(schema)) return []
  if (typeof schema.$ref === 'string') return [schema.$ref]
  return [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => listOf(list).flatMap(directRefs))
}

/** Whether a schema becomes an interface: an object without alternatives. */
export function isPlainObject(schema: unknown): boolean {
  if (!isObject(schema) || schema.type !== 'object') return false
  return !['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema)
}

function descriptionOf(schema: unknown): string | undefined {
  return isObject(schema) && typeof schema.description === 'string' ? schema.description : undefined
}

function literalType(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalType).join(', ')}]`
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, member]) => `${toKey(key)}: ${literalType(member)}`)
    return `{ ${members.join('; ')} }`
  }
  return toStringLiteral(value as string)
}

function join(types: readonly string[]): string {
  return [...new Set(types)].map((type) => (type.includes(' & ') ? `(${type})` : type)).join(' | ')
}
