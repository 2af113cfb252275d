import type { Builder } from './compile.ts'
import type { Check, Run, Seen } from './run.ts'
import { countKeys, has, isObject, type JsonObject } from './values.ts'

/** The checks of the keywords for objects. */
export function objectChecks(builder: Builder): (Check | undefined)[] {
  return [
    membersCheck(builder),
    namesCheck(builder),
    countCheck(builder),
    dependentRequiredCheck(builder),
    dependentSchemasCheck(builder),
  ]
}

/** The check of `unevaluatedProperties`, to be run after all others. */
export function unevaluatedPropertiesCheck(builder: Builder): Check | undefined {
  const schema = builder.get('unevaluatedProperties')
  if (schema === undefined) return undefined
  const check = builder.member('unevaluatedProperties')
  return (value, run, seen) => {
    if (!isObject(value) || seen === undefined || seen.allKeys) return true
    let valid = true
    for (const key in value) {
      if (seen.hasKey(key) || !has(value, key)) continue
      if (schema === false ? run.failAt(key, UNKNOWN_PROPERTY) : run.descend(check, value[key], key)) continue
      if (run.done) return false
      valid = false
    }
    seen.allKeys = true
    return valid
  }
}

const UNKNOWN_PROPERTY = 'is not a known property'

// V8 needs no lookup for this call inside of a for-in loop, unlike for Object.hasOwn.
const ownProperty = Object.prototype.hasOwnProperty

interface Property {
  key: string
  required: boolean
  check: Check | undefined
}

interface Members {
  named: ReadonlyMap<string, Property>
  patterns: { pattern: RegExp; check: Check }[]
  additional: Check | undefined
  /** Whether properties that nothing describes are forbidden. */
  closed: boolean
}

/** `properties`, `required`, `patternProperties` and `additionalProperties`, in one walk over the value. */
function membersCheck(builder: Builder): Check | undefined {
  const members = listMembers(builder)
  const { named, additional } = members
  const inOrder = [...named.values()]
  const required = inOrder.filter((property) => property.required).map(({ key }) => key)
  if (named.size === 0 && members.patterns.length === 0 && additional === undefined) return undefined
  const checkKey = members.patterns.length === 0 ? checkPlainKey : checkPatternedKey
  return (value, run, seen) => {
    if (!isObject(value)) return true
    let missing = required.length
    let next = 0
    let valid = true
    for (const key in value) {
      if (!ownProperty.call(value, key)) continue
      const item = value[key]
      if (item === undefined) continue
      // Most values have their properties in the order of the schema, which saves the lookup.
      const property = inOrder[next]?.key === key ? inOrder[next++] : named.get(key)
      if (property?.required) missing--
      if (checkKey(members, property, key, item, run, seen)) continue
      if (run.done) return false
      valid = false
    }
    if (seen && additional) seen.allKeys = true
    return missing === 0 ? valid : reportMissing(value, required, run)
  }
}

function listMembers(builder: Builder): Members {
  const named = new Map<string, Property>()
  const required = new Set(builder.get<string[]>('required') ?? [])
  for (const key of definedKeys(builder.get<JsonObject>('properties') ?? {})) {
    named.set(key, { key, required: required.delete(key), check: builder.member('properties', key) })
  }
  for (const key of required) named.set(key, { key, required: true, check: undefined })
  const schema = builder.get('additionalProperties')
  return {
    named,
    patterns: definedKeys(builder.get<JsonObject>('patternProperties') ?? {}).map((source) => ({
      pattern: builder.pattern(source, 'patternProperties'),
      check: builder.member('patternProperties', source),
    })),
    additional: schema === undefined ? undefined : builder.member('additionalProperties'),
    closed: schema === false,
  }
}

type KeyCheck = (
  members: Members,
  property: Property | undefined,
  key: string,
  item: unknown,
  run: Run,
  seen: Seen | undefined,
) => boolean

const checkPlainKey: KeyCheck = ({ additional, closed }, property, key, item, run, seen) => {
  if (run.spend(1)) return false
  const check = property?.check
  if (check === undefined) return additional === undefined || checkAdditional(additional, closed, key, item, run)
  seen?.addKey(key)
  return run.descend(check, item, key)
}

const checkPatternedKey: KeyCheck = ({ additional, closed, patterns }, property, key, item, run, seen) => {
  if (run.spend(patterns.length)) return false
  const matching = patterns.filter(({ pattern }) => pattern.test(key)).map(({ check }) => check)
  if (property?.check) matching.push(property.check)
  if (matching.length === 0) return additional === undefined || checkAdditional(additional, closed, key, item, run)
  seen?.addKey(key)
  // Every check has its say, so that every issue is reported.
  return matching.filter((check) => !run.descend(check, item, key)).length === 0
}

function checkAdditional(check: Check, closed: boolean, key: string, item: unknown, run: Run): boolean {
  return closed ? run.failAt(key, UNKNOWN_PROPERTY) : run.descend(check, item, key)
}

function reportMissing(value: JsonObject, required: string[], run: Run): false {
  for (const key of required) {
    if (run.done) return false
    if (!has(value, key)) run.failAt(key, 'is required')
  }
  return false
}

function namesCheck(builder: Builder): Check | undefined {
  if (builder.get('propertyNames') === undefined) return undefined
  const check = builder.member('propertyNames')
  return (value, run) => {
    if (!isObject(value)) return true
    let valid = true
    for (const key in value) {
      if (run.spend(1)) return false
      if (!has(value, key) || run.attempt(check, key, undefined)) continue
      if (run.done) return false
      const reason = run.explain(check, key)[0]?.message ?? 'is not allowed'
      valid = run.failAt(key, `has a name that ${reason}`)
    }
    return valid
  }
}

function countCheck(builder: Builder): Check | undefined {
  const min = builder.get<number>('minProperties') ?? 0
  const max = builder.get<number>('maxProperties') ?? Number.POSITIVE_INFINITY
  if (min === 0 && max === Number.POSITIVE_INFINITY) return undefined
  return (value, run) => {
    if (!isObject(value)) return true
    const count = countKeys(value)
    if (run.spend(count)) return false
    if (count < min) return run.fail(`must have at least ${min} ${min === 1 ? 'property' : 'properties'}`)
    return count <= max || run.fail(`must have at most ${max} ${max === 1 ? 'property' : 'properties'}`)
  }
}

function dependentRequiredCheck(builder: Builder): Check | undefined {
  const lists = Object.entries({
    ...builder.get<JsonObject>('dependencies'),
    ...builder.get<JsonObject>('dependentRequired'),
  }).filter((entry): entry is [string, string[]] => Array.isArray(entry[1]))
  if (lists.length === 0) return undefined
  return (value, run) => {
    if (!isObject(value)) return true
    let valid = true
    for (const [present, keys] of lists) {
      if (!has(value, present)) continue
      if (run.spend(keys.length)) return false
      for (const key of keys) {
        if (!has(value, key)) valid = run.failAt(key, `is required when ${JSON.stringify(present)} is present`)
      }
      if (!valid && run.done) return false
    }
    return valid
  }
}

function dependentSchemasCheck(builder: Builder): Check | undefined {
  const schemas = (['dependencies', 'dependentSchemas'] as const).flatMap((keyword) => {
    const map = builder.get<JsonObject>(keyword) ?? {}
    const keys = definedKeys(map).filter((key) => !Array.isArray(map[key]))
    return keys.map((key) => ({ key, check: builder.inPlace(keyword, key) }))
  })
  if (schemas.length === 0) return undefined
  return (value, run, seen) => {
    if (!isObject(value)) return true
    let valid = true
    for (const { key, check } of schemas) {
      if (!has(value, key) || run.apply(check, value, seen)) continue
      if (run.done) return false
      valid = false
    }
    return valid
  }
}

function definedKeys(map: JsonObject): string[] {
  return Object.keys(map).filter((key) => map[key] !== undefined)
}
