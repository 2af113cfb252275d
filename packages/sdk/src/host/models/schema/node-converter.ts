import type { JsonSchema } from '../../../schema/json-schema.ts'
import { define, isObject, type JsonObject, omit } from '../../../util/objects.ts'
import { escapePointer } from '../../../util/schema-walk.ts'
import { stableSuffix } from '../stable-suffix.ts'
import { strings } from './combine.ts'
import type { NoteList } from './notes.ts'
import {
  type ChangedProperty,
  type Converted,
  inOrder,
  restoreAlternatives,
  restoreItems,
  restoreObject,
} from './restore.ts'
import { mergeAllOf } from './root.ts'
import { typesOf } from './subschemas.ts'
import type { TargetFacts } from './targets.ts'

const maxDescriptionChars = 4_000

/** Converts a schema without references, subschema by subschema. */
export class NodeConverter {
  /** Why the strict mode of the target cannot express the schema; undefined if it can. */
  strictProblem: string | undefined
  readonly #target: TargetFacts
  readonly #notes: NoteList
  #properties = 0
  #enumValues = 0

  constructor(target: TargetFacts, notes: NoteList) {
    this.#target = target
    this.#notes = notes
  }

  /** @param depth The number of objects around the subschema. */
  convert(input: unknown, path: string, depth: number): Converted {
    if (!isObject(input)) return this.#anything(input, path)
    if (depth > this.#target.maxDepth) return this.#tooDeep(input, path)
    const plain = this.#toPlain(input, path)
    const kept = this.#removeKeywords(plain, path)
    this.#countEnum(kept, path)
    const keyword = Array.isArray(kept.anyOf) ? 'anyOf' : 'oneOf'
    const branches = kept[keyword]
    if (Array.isArray(branches)) return this.#convertUnion(kept, keyword, branches, path, depth)
    if (this.#target.isStrict && !typesOf(kept)) return { schema: this.#typed(kept, path) }
    return this.#convertMembers(kept, path, depth)
  }

  #convertMembers(schema: JsonSchema, path: string, depth: number): Converted {
    const object = this.#convertObject(schema, path, depth)
    const array = this.#convertArray(object.schema, path, depth)
    return { schema: array.schema, restore: inOrder(object.restore, array.restore) }
  }

  #anything(input: unknown, path: string): Converted {
    this.#cannotBeStrict(path, 'a value of any type is allowed')
    if (input === false) this.#notes.add(path, 'replaced the schema false by one that allows anything')
    return { schema: {} }
  }

  #tooDeep(input: JsonSchema, path: string): Converted {
    const { maxDepth } = this.#target
    this.#cannotBeStrict(path, `objects are nested more than ${maxDepth} levels deep`)
    this.#notes.add(path, `cut: objects are nested more than ${maxDepth} levels deep`)
    const types = typesOf(input)
    return {
      schema: {
        ...(types && { type: input.type }),
        ...(types?.includes('array') && { items: {} }),
        ...(types?.includes('object') && { properties: {} }),
        ...(typeof input.description === 'string' && { description: input.description }),
      },
    }
  }

  /** Replaces keywords that have an equivalent. */
  #toPlain(input: JsonSchema, path: string): JsonSchema {
    const merged = { ...this.#withItems(mergeAllOf(this.#shorten(input, path), path, this.#notes), path) }
    if (!this.#target.isPlain) return merged
    if (Array.isArray(merged.oneOf)) {
      this.#notes.add(path, 'replaced oneOf by anyOf')
      merged.anyOf = Array.isArray(merged.anyOf) ? merged.anyOf : merged.oneOf
    }
    if (Object.hasOwn(merged, 'const')) {
      this.#notes.add(path, 'replaced const by enum')
      merged.enum = [merged.const]
    }
    return omit(merged, ['oneOf', 'const'])
  }

  #shorten(schema: JsonSchema, path: string): JsonSchema {
    const { description } = schema
    if (typeof description !== 'string' || description.length <= maxDescriptionChars) return schema
    this.#notes.add(path, `shortened the description to ${maxDescriptionChars} characters`)
    return { ...schema, description: `${description.slice(0, maxDescriptionChars - 1)}…` }
  }

  /**
   * Gives every array `items`, which OpenAI requires (github.com/digitalocean-labs/mcp-digitalocean/issues/265). The positions
   * of a tuple cannot be expressed, so each item may be any of them.
   */
  #withItems(schema: JsonSchema, path: string): JsonSchema {
    const tuple = Array.isArray(schema.prefixItems) ? schema.prefixItems : schema.items
    if (Array.isArray(tuple)) {
      this.#notes.add(path, 'replaced the tuple by a list whose items may have any of its types')
      const further = tuple === schema.items ? schema.additionalItems : schema.items
      const types = isObject(further) ? [...tuple, further] : tuple
      const items = types.length === 1 ? types[0] : { anyOf: types }
      return { ...omit(schema, ['prefixItems', 'additionalItems']), items: types.length > 0 ? items : {} }
    }
    if (!typesOf(schema)?.includes('array') || schema.items !== undefined) return schema
    this.#notes.add(path, 'added items, which allow anything')
    return { ...schema, items: {} }
  }

  /** Moves keywords that the API does not take to the description, so that the model still knows them. */
  #removeKeywords(schema: JsonSchema, path: string): JsonSchema {
    const removed = Object.keys(schema).filter((keyword) => !this.#takes(keyword, schema[keyword]))
    if (removed.length === 0) return schema
    this.#notes.add(path, `removed ${removed.join(', ').slice(0, 300)}, which ${this.#target.api} does not take`)
    const constraints = removed.flatMap((keyword) => {
      const text = isScalar(schema[keyword]) ? JSON.stringify(schema[keyword]) : ''
      return text !== '' && text.length <= 200 ? [`${keyword}: ${text}`] : []
    })
    const hint = constraints.length > 0 ? `(${constraints.slice(0, 20).join(', ')})` : ''
    const description = [schema.description, hint].filter((text) => typeof text === 'string' && text !== '').join(' ')
    return { ...omit(schema, removed), ...(description !== '' && { description }) }
  }

  #takes(keyword: string, value: unknown): boolean {
    const { keywords, formats, maxMinItems } = this.#target
    if (keywords && !keywords.has(keyword)) return false
    if (keyword === 'format' && formats) return formats.has(String(value))
    if (keyword === 'minItems') return typeof value === 'number' && value <= maxMinItems
    // Patterns that look around are rejected by strict modes.
    return !(keyword === 'pattern' && keywords && /\(\?<?[=!]/.test(String(value)))
  }

  #countEnum(schema: JsonSchema, path: string): void {
    if (!Array.isArray(schema.enum)) return
    this.#enumValues += schema.enum.length
    const { maxEnumValues } = this.#target
    if (this.#enumValues > maxEnumValues) this.#cannotBeStrict(path, `there are more than ${maxEnumValues} enum values`)
  }

  #convertUnion(
    schema: JsonSchema,
    keyword: 'anyOf' | 'oneOf',
    branches: readonly unknown[],
    path: string,
    depth: number,
  ): Converted {
    const converted = branches.map((branch, at) => this.convert(branch, `${path}/${keyword}/${at}`, depth))
    // Each branch has a type of its own in strict modes.
    const beside = omit(schema, this.#target.isStrict ? [keyword, 'type'] : [keyword])
    const others = Object.keys(beside).filter((key) => key !== 'description' && key !== 'title')
    if (others.length > 0) this.#cannotBeStrict(path, `${keyword} is combined with ${others.join(', ').slice(0, 200)}`)
    const members = this.#convertMembers(beside, path, depth)
    const joined = { ...members.schema, [keyword]: converted.map((branch) => branch.schema) }
    return { schema: joined, restore: inOrder(restoreAlternatives(converted), members.restore) }
  }

  #convertArray(schema: JsonSchema, path: string, depth: number): Converted {
    if (!typesOf(schema)?.includes('array')) return { schema }
    const items = this.convert(schema.items, `${path}/items`, depth)
    return { schema: { ...schema, items: items.schema }, restore: restoreItems(items.restore) }
  }

  #convertObject(schema: JsonSchema, path: string, depth: number): Converted {
    if (!typesOf(schema)?.includes('object') && !isObject(schema.properties)) return { schema }
    // OpenAI requires properties, even if there are none (github.com/openai/openai-agents-python/pull/454).
    if (!isObject(schema.properties)) this.#notes.add(path, 'added properties, which are empty')
    const changed = this.#convertProperties(schema, path, depth)
    const properties: JsonObject = {}
    for (const [apiName, { schema: property }] of changed) define(properties, apiName, property)
    const names = new Map([...changed].map(([apiName, { name }]) => [name, apiName]))
    const demanded = this.#target.isAllRequired
      ? [...changed.keys()]
      : strings(schema.required).map((name) => names.get(name) ?? name)
    const hasRequired = demanded.length > 0 || this.#target.isAllRequired
    const rest = this.#convertRest(schema, changed.size, path, depth)
    const object = { ...omit(schema, ['required']), properties, ...(hasRequired && { required: demanded }) }
    return { schema: { ...object, ...rest.schema }, restore: restoreObject(changed, rest.restore) }
  }

  /** Returns the properties by the names that they have for the API. */
  #convertProperties(schema: JsonSchema, path: string, depth: number): ReadonlyMap<string, ChangedProperty> {
    const given = isObject(schema.properties) ? schema.properties : {}
    const required = new Set(strings(schema.required))
    const changed = new Map<string, ChangedProperty>()
    for (const name of Object.keys(given)) {
      const here = `${path}/properties/${escapePointer(name)}`
      const { schema: property, restore } = this.convert(given[name], here, depth + 1)
      const isNullAbsent = this.#target.isAllRequired && !required.has(name) && !isNullable(property)
      if (isNullAbsent) this.#notes.add(here, 'made nullable instead of optional')
      const isTaken = (apiName: string) => Object.hasOwn(given, apiName) || changed.has(apiName)
      changed.set(this.#nameFor(name, isTaken, here), {
        name,
        schema: isNullAbsent ? nullable(property) : property,
        restore,
        isNullAbsent,
      })
    }
    this.#countProperties(changed.size, path)
    return changed
  }

  /** Converts the schema of properties that are not listed. Strict modes do not allow any. */
  #convertRest({ additionalProperties }: JsonSchema, count: number, path: string, depth: number): Converted {
    if (!this.#target.isStrict) {
      if (!isObject(additionalProperties)) return { schema: {} }
      const rest = this.convert(additionalProperties, `${path}/additionalProperties`, depth + 1)
      return { schema: { additionalProperties: rest.schema }, restore: rest.restore }
    }
    const isMap = additionalProperties === true || isObject(additionalProperties)
    const isOpen = count === 0 && additionalProperties === undefined && path !== ''
    if (isMap || isOpen) this.#cannotBeStrict(path, 'the names of properties are not fixed')
    if (additionalProperties !== false) this.#notes.add(path, 'set additionalProperties to false')
    return { schema: { additionalProperties: false } }
  }

  #nameFor(name: string, isTaken: (apiName: string) => boolean, path: string): string {
    const { propertyName } = this.#target
    if (!propertyName || propertyName.test(name)) return name
    const start = name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 48)
    let apiName = `${start}_${stableSuffix(name)}`
    for (let attempt = 1; isTaken(apiName); attempt++) apiName = `${start}_${stableSuffix(`${name} ${attempt}`)}`
    this.#notes.add(path, `renamed to ${apiName}, because ${this.#target.api} does not take the name`)
    return apiName
  }

  #countProperties(count: number, path: string): void {
    this.#properties += count
    const { maxProperties } = this.#target
    if (this.#properties > maxProperties) this.#cannotBeStrict(path, `there are more than ${maxProperties} properties`)
  }

  /** Adds the type that the values of an enum have, which strict modes require. */
  #typed(schema: JsonSchema, path: string): JsonSchema {
    const types = Array.isArray(schema.enum) ? [...new Set(schema.enum.map(typeName))] : []
    if (types.length === 0) this.#cannotBeStrict(path, 'a value of any type is allowed')
    else if (types.some((type) => type === 'object' || type === 'array')) {
      this.#cannotBeStrict(path, 'an enum has objects or arrays')
    } else this.#notes.add(path, 'added the type of the enum values')
    return types.length === 0 ? schema : { ...schema, type: types.length === 1 ? types[0] : types }
  }

  #cannotBeStrict(path: string, problem: string): void {
    if (this.#target.isStrict) this.strictProblem ??= `${problem} at ${path === '' ? 'the root' : path.slice(0, 300)}`
  }
}

function isNullable(schema: JsonSchema): boolean {
  if (typesOf(schema)?.includes('null')) return !Array.isArray(schema.enum) || schema.enum.includes(null)
  return Array.isArray(schema.anyOf) && schema.anyOf.some((branch) => isObject(branch) && isNullable(branch))
}

function nullable(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
  const values = Array.isArray(schema.enum) && !schema.enum.includes(null) ? { enum: [...schema.enum, null] } : {}
  const types = typesOf(schema) ?? []
  return { ...schema, type: types.includes('null') ? types : [...types, 'null'], ...values }
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== 'object'
}
