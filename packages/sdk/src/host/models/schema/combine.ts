import type { JsonSchema } from '../../../schema/json-schema.ts'
import { define, isObject, type JsonObject } from '../../../util/objects.ts'
import { typesOf } from './subschemas.ts'

/** Keywords of which the larger value is stricter. */
const lower = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains'])
/** Keywords of which the smaller value is stricter. */
const upper = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains'])

/**
 * Returns one schema for values that match both, as far as that can be said without `allOf`. Where it cannot, the result allows
 * more. Annotations of the first schema win.
 */
export function intersect(first: JsonSchema, second: JsonSchema): JsonSchema {
  const both: JsonSchema = {}
  for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const value = Object.hasOwn(first, key)
      ? Object.hasOwn(second, key)
        ? intersectKeyword(key, first[key], second[key])
        : first[key]
      : second[key]
    if (value !== undefined) define(both, key, value)
  }
  return both
}

function intersectKeyword(key: string, a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') {
    if (lower.has(key)) return Math.max(a, b)
    if (upper.has(key)) return Math.min(a, b)
  }
  if (key === 'type') return intersectTypes(a, b)
  if (key === 'required') return [...new Set([...strings(a), ...strings(b)])]
  if (key === 'enum' && Array.isArray(a) && Array.isArray(b)) return intersectValues(a, b)
  if (key === 'properties' && isObject(a) && isObject(b)) return intersectProperties(a, b)
  // A closed object of one side would refuse the properties of the other, so the result stays open unless both are closed.
  if (key === 'additionalProperties') return a === false && b === false ? false : undefined
  if (key === 'items' && isObject(a) && isObject(b)) return intersect(a, b)
  return a
}

function intersectTypes(a: unknown, b: unknown): unknown {
  const others = typesOf({ type: b }) ?? []
  // An integer is a number.
  const common = (typesOf({ type: a }) ?? []).flatMap((type) =>
    others.includes(type) || (type === 'integer' && others.includes('number'))
      ? [type]
      : type === 'number' && others.includes('integer')
        ? ['integer']
        : [],
  )
  return common.length === 1 ? common[0] : common.length > 1 ? common : a
}

function intersectProperties(a: JsonObject, b: JsonObject): JsonObject {
  const properties: JsonObject = {}
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const [left, right] = [own(a, name), own(b, name)]
    define(properties, name, isObject(left) && isObject(right) ? intersect(left, right) : (left ?? right))
  }
  return properties
}

/**
 * Returns one object schema for values that match any of the branches: it has the properties of all, and requires what all
 * require.
 */
export function unite(branches: readonly JsonSchema[]): JsonSchema {
  const variants = new Map<string, unknown[]>()
  for (const { properties } of branches) {
    for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
      const known = variants.get(name)
      if (known) known.push(property)
      else variants.set(name, [property])
    }
  }
  const united: JsonObject = {}
  for (const [name, properties] of variants) define(united, name, uniteValues(properties))
  const [first = {}, ...others] = branches
  const demands = others.map((branch) => new Set(strings(branch.required)))
  const required = strings(first.required).filter((name) => demands.every((names) => names.has(name)))
  return { type: 'object', properties: united, ...(required.length > 0 && { required }) }
}

/** One schema for the values of a property that differs between branches. Constants, such as those of a tag, become one enum. */
function uniteValues(variants: readonly unknown[]): unknown {
  const different = [...new Map(variants.map((variant) => [JSON.stringify(variant), variant])).values()]
  const [only] = different
  if (different.length === 1) return only
  const constants = different.map((variant) => (isObject(variant) ? constantsOf(variant) : undefined))
  if (constants.every((values) => values !== undefined)) {
    const types = new Set(different.map((variant) => JSON.stringify(isObject(variant) ? variant.type : undefined)))
    const type = isObject(only) && only.type !== undefined && types.size === 1 ? { type: only.type } : {}
    return { ...type, enum: [...new Set(constants.flat())] }
  }
  return { anyOf: different }
}

/** The values that a schema allows, if it lists them. */
function constantsOf(schema: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const]
  return Array.isArray(schema.enum) ? schema.enum : undefined
}

/** The texts in a list; none if it is not a list. */
export function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function intersectValues(a: readonly unknown[], b: readonly unknown[]): readonly unknown[] {
  const texts = new Set(b.map((value) => JSON.stringify(value)))
  return a.filter((value) => texts.has(JSON.stringify(value)))
}

function own(source: JsonObject, name: string): unknown {
  return Object.hasOwn(source, name) ? source[name] : undefined
}
