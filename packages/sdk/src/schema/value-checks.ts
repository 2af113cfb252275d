import type { JsonObject } from '../util/objects.ts'
import type { Builder } from './compile.ts'
import { type Check, FEW_KEYS, MORE_KEY_COST, type Run, type Shape, testMember } from './run.ts'
import { has, isMultiple, keysOf, show, toCanonical } from './values.ts'

type ObjectCheck = Check<JsonObject>

/** Builds the checks of the keywords for objects. */
export function objectChecks(builder: Builder): ObjectCheck[] {
  return [
    ...membersChecks(builder),
    ...namesChecks(builder),
    ...sizeChecks<JsonObject>(builder, 'Properties', ['property', 'properties'], countKeys),
    ...dependentChecks(builder),
  ]
}

/** Checks a member that no other subschema describes. */
export function testRest(shape: Shape, item: unknown, key: string | number, run: Run): boolean {
  if (shape.types === 0 && typeof key === 'string') return run.failAt(key, 'is not a known property')
  return testMember(shape, item, key, run)
}

// Inside a for-in loop V8 needs no lookup for this call, unlike for Object.hasOwn.
const ownProperty = Object.prototype.hasOwnProperty

interface Property {
  key: string
  required: boolean
  shape: Shape | undefined
}

/** Checks `properties`, `required`, `patternProperties` and `additionalProperties` in one pass over the value. */
function membersChecks(builder: Builder): ObjectCheck[] {
  const required = builder.get<string[]>('required') ?? []
  const isRequired = new Set(required)
  const shapes = new Map<string, Shape | undefined>(builder.many('properties'))
  for (const key of required) if (!shapes.has(key)) shapes.set(key, undefined)
  const inOrder = [...shapes].map(([key, shape]): Property => ({ key, shape, required: isRequired.has(key) }))
  const named = new Map(inOrder.map((property) => [property.key, property]))
  const sources = builder.many('patternProperties')
  const patterns = sources.flatMap(([source, shape]) => {
    const pattern = builder.pattern(source, 'patternProperties')
    return pattern ? [{ pattern, shape }] : []
  })
  // A key that no pattern matches may match a skipped pattern.
  const rest = patterns.length < sources.length ? undefined : builder.one('additionalProperties')
  if (named.size === 0 && patterns.length === 0 && !rest) return []
  return [
    (value, run, seen) => {
      let missing = required.length
      let next = 0
      let count = 0
      let valid = true
      for (const key in value) {
        if (!ownProperty.call(value, key)) continue
        const item = value[key]
        if (item === undefined) continue
        if (run.spend(1 + patterns.length + (++count > FEW_KEYS ? MORE_KEY_COST : 0))) return false
        // Most values have their properties in the order of the schema, which saves the lookup.
        const property = inOrder[next]?.key === key ? inOrder[next++] : named.get(key)
        if (property?.required) missing--
        const shape = property?.shape
        let known = shape !== undefined
        let fits = shape === undefined || testMember(shape, item, key, run)
        for (let index = 0; index < patterns.length; index++) {
          const { pattern, shape } = patterns[index]!
          if (!pattern.test(key, run)) {
            if (run.isHalted) return false
            continue
          }
          known = true
          fits = testMember(shape, item, key, run) && fits
        }
        if (!known && rest) fits = testRest(rest, item, key, run)
        if (known || rest) seen?.add(key)
        if (fits) continue
        if (run.done) return leaveEarly(value, run)
        valid = false
      }
      if (missing === 0) return valid
      for (const key of required) {
        if (run.done || run.spend(1)) return false
        if (!has(value, key)) run.failAt(key, 'is required')
      }
      return false
    },
  ]
}

/** All keys are listed before the first one is checked, so they cost the same if the iteration ends early. */
function leaveEarly(value: JsonObject, run: Run): false {
  if (!run.isHalted) run.spendKeys(Object.keys(value).length)
  return false
}

function namesChecks(builder: Builder): ObjectCheck[] {
  const shape = builder.one('propertyNames')
  if (!shape) return []
  return [
    (value, run) => {
      const keys = keysOf(value)
      if (run.spendKeys(keys.length)) return false
      let valid = true
      for (const key of keys) {
        if (run.attempt(shape, key)) continue
        if (run.done) return false
        valid = run.failAt(key, `has a name that ${run.explain(shape, key)[0]?.message}`)
      }
      return valid
    },
  ]
}

function countKeys(value: JsonObject, _min: number, _max: number, run: Run): number {
  const { length } = keysOf(value)
  run.spendKeys(length)
  return length
}

function dependentChecks(builder: Builder): ObjectCheck[] {
  const keywords = ['dependencies', 'dependentRequired', 'dependentSchemas']
  const lists = keywords.flatMap((keyword) => Object.entries(builder.get<JsonObject>(keyword) ?? {}))
  const required = lists.flatMap(([present, names]): ObjectCheck[] => {
    if (!Array.isArray(names)) return []
    return names.map(
      (key: string) => (value, run) =>
        !has(value, present) ||
        run.spend(1) ||
        has(value, key) ||
        run.failAt(key, `is required when ${JSON.stringify(present)} is present`),
    )
  })
  const schemas = keywords
    .flatMap((keyword) => builder.many(keyword))
    .map(
      ([present, shape]): ObjectCheck =>
        (value, run, seen) =>
          !has(value, present) || run.apply(shape, value, seen),
    )
  return [...required, ...schemas]
}

type ArrayCheck = Check<unknown[]>

/** Builds the checks of the keywords for arrays. */
export function arrayChecks(builder: Builder): ArrayCheck[] {
  return [
    ...sizeChecks<unknown[]>(builder, 'Items', ['item', 'items'], (value) => value.length),
    ...itemsChecks(builder),
    ...containsChecks(builder),
    ...(builder.get('uniqueItems') === true ? [uniqueCheck] : []),
  ]
}

function itemsChecks(builder: Builder): ArrayCheck[] {
  // In draft-07 a tuple is in items, and the items after it in additionalItems.
  const oldTuple = Array.isArray(builder.get('items'))
  const prefix = builder.many(oldTuple ? 'items' : 'prefixItems').map(([, shape]) => shape)
  const rest = builder.one(oldTuple ? 'additionalItems' : 'items')
  if (prefix.length === 0 && !rest) return []
  return [
    (value, run, seen) => {
      const end = rest ? value.length : Math.min(prefix.length, value.length)
      if (seen ? run.spendKeys(end) : run.spend(end)) return false
      let valid = true
      for (let index = 0; index < end; index++) {
        seen?.add(index)
        if (testMember(prefix[index] ?? rest!, value[index], index, run)) continue
        if (run.done) return false
        valid = false
      }
      return valid
    },
  ]
}

function containsChecks(builder: Builder): ArrayCheck[] {
  const shape = builder.one('contains')
  if (!shape) return []
  const min = builder.get<number>('minContains') ?? 1
  const max = builder.get<number>('maxContains') ?? Number.POSITIVE_INFINITY
  return [
    (value, run, seen) => {
      const { doubts } = run
      let count = 0
      for (let index = 0; index < value.length; index++) {
        if (run.spend(1)) return false
        if (!run.attemptAt(shape, value[index], index)) continue
        count++
        seen?.add(index)
      }
      const most = run.doubts > doubts ? Number.POSITIVE_INFINITY : max
      return testSize(count, min, most, ['matching item', 'matching items'], run)
    },
  ]
}

const uniqueCheck: ArrayCheck = (value, run) => {
  if (run.spendKeys(value.length)) return false
  const known = new Set<string>()
  const repeated = value.findIndex((item) => known.size === known.add(toCanonical(item, run)).size)
  return repeated === -1 || run.fail(`must not have equal items; item ${repeated} repeats an earlier one`)
}

/** Builds the checks of the keywords for values of any type. */
export function valueChecks(builder: Builder): Check[] {
  const constant = builder.get('const')
  const values = builder.get<unknown[]>('enum')
  const checks: Check[] = []
  if (constant !== undefined) checks.push(oneOf([constant], `must be ${show(constant)}`))
  if (values) {
    const more = values.length > MAX_SHOWN ? ` or ${values.length - MAX_SHOWN} more` : ''
    checks.push(oneOf(values, `must be one of ${values.slice(0, MAX_SHOWN).map(show).join(', ')}${more}`))
  }
  return checks
}

const MAX_SHOWN = 10

/** For the values in a schema, whose size and depth are already bounded. */
const UNBOUNDED = { spend: () => false, reaches: () => true }

function oneOf(values: unknown[], message: string): Check {
  const known = new Set(values)
  const objects = new Set(values.filter((one) => typeof one === 'object').map((one) => toCanonical(one, UNBOUNDED)))
  return (value, run) => {
    if (known.has(value)) return true
    if (typeof value === 'object' && objects.size > 0 && objects.has(toCanonical(value, run))) return true
    return run.fail(message)
  }
}

export function numberChecks(builder: Builder): Check<number>[] {
  return BOUNDS.flatMap(([keyword, words, holds]): Check<number>[] => {
    const bound = builder.get<number>(keyword)
    if (bound === undefined) return []
    return [(value, run) => holds(value, bound, run) || run.fail(`must be ${words} ${bound}`)]
  })
}

const BOUNDS: [keyword: string, words: string, holds: (value: number, bound: number, run: Run) => boolean][] = [
  ['minimum', 'at least', (value, bound) => value >= bound],
  ['maximum', 'at most', (value, bound) => value <= bound],
  ['exclusiveMinimum', 'more than', (value, bound) => value > bound],
  ['exclusiveMaximum', 'less than', (value, bound) => value < bound],
  ['multipleOf', 'a multiple of', isMultiple],
]

export function textChecks(builder: Builder): Check<string>[] {
  const checks = sizeChecks<string>(builder, 'Length', ['character', 'characters'], countCodePoints)
  const source = builder.get<string>('pattern')
  const pattern = source === undefined ? undefined : builder.pattern(source, 'pattern')
  if (pattern) {
    checks.push((value, run) => pattern.test(value, run) || run.fail(`must match the pattern ${source}`))
  }
  const format = builder.get<string>('format')
  const test = builder.formats?.get(format!)
  if (test)
    checks.push((value, run) => !run.spend(value.length >> 3) && (test(value) || run.fail(`must be a valid ${format}`)))
  return checks
}

/** Counts code points, as JSON Schema does. They take one or two units, so most strings need no counting. */
function countCodePoints(text: string, min: number, max: number, run: Run): number {
  const { length } = text
  if ((length >= min * 2 && length <= max) || run.spend(length)) return length
  let count = 0
  for (let index = 0; index < length; index++, count++) if (text.codePointAt(index)! > 0xffff) index++
  return count
}

/** Builds the check of a pair of keywords such as `minItems` and `maxItems`. */
export function sizeChecks<Value>(
  builder: Builder,
  what: string,
  nouns: [one: string, many: string],
  count: (value: Value, min: number, max: number, run: Run) => number,
): Check<Value>[] {
  const min = builder.get<number>(`min${what}`) ?? 0
  const max = builder.get<number>(`max${what}`) ?? Number.POSITIVE_INFINITY
  if (min === 0 && max === Number.POSITIVE_INFINITY) return []
  return [(value, run) => testSize(count(value, min, max, run), min, max, nouns, run)]
}

export function testSize(size: number, min: number, max: number, [one, many]: [string, string], run: Run): boolean {
  if (size >= min && size <= max) return true
  const [words, bound] = size < min ? ['least', min] : ['most', max]
  return run.fail(`must have at ${words} ${bound} ${bound === 1 ? one : many}, has ${size}`)
}
