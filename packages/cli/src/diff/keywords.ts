import type { JsonObject } from 'tenon/internal'
import { listOf, stringsOf, toStableJson } from '../contract/json.ts'
import { type Direction, type SchemaChange, show } from './schema-change.ts'

const allTypes = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

/** Compares the types that two schemas accept. An integer is also a number. */
export function compareTypes(before: JsonObject, after: JsonObject, path: string): SchemaChange[] {
  const old = typesOf(before)
  const now = typesOf(after)
  const removed = [...old].filter((type) => !now.has(type))
  const added = [...now].filter((type) => !old.has(type))
  const direction = directionOf(removed.length > 0, added.length > 0)
  if (direction === undefined) return []
  return [{ direction, path: `${path}/type`, message: `type: ${showType(before)} -> ${showType(after)}` }]
}

function typesOf({ type }: JsonObject): Set<string> {
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? stringsOf(type) : allTypes
  return new Set(types.includes('number') ? [...types, 'integer'] : types)
}

function showType({ type }: JsonObject): string {
  return type === undefined ? 'any' : listOf(type).length > 0 ? listOf(type).join(' or ') : String(type)
}

/** Compares `enum` and `const`. */
export function compareValues(before: JsonObject, after: JsonObject, path: string): SchemaChange[] {
  const old = valuesOf(before)
  const now = valuesOf(after)
  if (!old && !now) return []
  if (!old || !now) {
    const message = now ? `only these values: ${showAll(now)}` : `no longer limited to ${showAll(old ?? [])}`
    return [{ direction: now ? 'narrower' : 'wider', path: `${path}/enum`, message }]
  }
  const removed = old.filter((value) => !now.includes(value))
  const added = now.filter((value) => !old.includes(value))
  return [
    ...(removed.length > 0
      ? [{ direction: 'narrower' as const, path: `${path}/enum`, message: `values removed: ${showAll(removed)}` }]
      : []),
    ...(added.length > 0
      ? [{ direction: 'wider' as const, path: `${path}/enum`, message: `values added: ${showAll(added)}` }]
      : []),
  ]
}

function valuesOf(schema: JsonObject): string[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map(toStableJson)
  return 'const' in schema ? [toStableJson(schema.const)] : undefined
}

function showAll(values: readonly string[]): string {
  return values.slice(0, 10).join(', ') + (values.length > 10 ? ' ...' : '')
}

/** Keywords with a number, and whether a larger number accepts more. */
const bounds: Readonly<Record<string, boolean>> = {
  minimum: false,
  exclusiveMinimum: false,
  minLength: false,
  minItems: false,
  minProperties: false,
  minContains: false,
  maximum: true,
  exclusiveMaximum: true,
  maxLength: true,
  maxItems: true,
  maxProperties: true,
  maxContains: true,
}

/** Compares minimums and maximums. */
export function compareBounds(before: JsonObject, after: JsonObject, path: string): SchemaChange[] {
  return Object.entries(bounds).flatMap(([keyword, isUpper]) => {
    const none = isUpper ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
    const old = numberOf(before[keyword], none)
    const now = numberOf(after[keyword], none)
    if (old === now) return []
    const direction = now > old === isUpper ? 'wider' : 'narrower'
    return [{ direction, path: `${path}/${keyword}`, message: `${keyword}: ${showBound(old)} -> ${showBound(now)}` }]
  })
}

/** Some libraries write the largest safe integer for "none". */
function numberOf(value: unknown, none: number): number {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : none
}

function showBound(value: number): string {
  return Number.isFinite(value) ? String(value) : 'none'
}

/** Keywords that restrict a value, and of which two cannot be compared. */
const restrictions = [
  'pattern',
  'format',
  'multipleOf',
  'contentEncoding',
  'contentMediaType',
  'uniqueItems',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
  'unevaluatedItems',
]

/** Compares keywords that only restrict: to add one accepts less, to remove one accepts more, and to change one may do both. */
export function compareRestrictions(before: JsonObject, after: JsonObject, path: string): SchemaChange[] {
  return restrictions.flatMap((keyword) => {
    const old = activeValue(keyword, before[keyword])
    const now = activeValue(keyword, after[keyword])
    if (toStableJson(old) === toStableJson(now)) return []
    const direction = restrictionChange(keyword, old, now)
    return [{ direction, path: `${path}/${keyword}`, message: `${keyword}: ${show(old)} -> ${show(now)}` }]
  })
}

/** `uniqueItems: false` and `unevaluatedProperties: true` restrict nothing. */
function activeValue(keyword: string, value: unknown): unknown {
  return value === (keyword !== 'uniqueItems') ? undefined : value
}

function restrictionChange(keyword: string, old: unknown, now: unknown): Direction {
  if (old === undefined) return 'narrower'
  if (now === undefined) return 'wider'
  if (keyword !== 'multipleOf' || typeof old !== 'number' || typeof now !== 'number') return 'other'
  return now % old === 0 ? 'narrower' : old % now === 0 ? 'wider' : 'other'
}

/** Compares titles, descriptions and other texts. A default is not a text, but changes nothing about what is accepted. */
export function compareTexts(before: JsonObject, after: JsonObject, path: string): SchemaChange[] {
  const texts = ['title', 'description', 'examples', 'deprecated', '$comment'].filter(
    (keyword) => toStableJson(before[keyword]) !== toStableJson(after[keyword]),
  )
  const changes: SchemaChange[] = texts.map((keyword) => ({
    direction: 'text',
    path: `${path}/${keyword}`,
    message: `${keyword}: ${show(before[keyword])} -> ${show(after[keyword])}`,
  }))
  if (toStableJson(before.default) === toStableJson(after.default)) return changes
  const message = `default: ${show(before.default)} -> ${show(after.default)}`
  return [...changes, { direction: 'addition', path: `${path}/default`, message }]
}

/** The direction of a change that removed values, added values, or both. */
export function directionOf(hasRemoved: boolean, hasAdded: boolean): Direction | undefined {
  if (hasRemoved) return hasAdded ? 'other' : 'narrower'
  return hasAdded ? 'wider' : undefined
}
