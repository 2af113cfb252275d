import type { JsonObject } from '../util/objects.ts'
import type { Builder } from './compile.ts'
import { type Check, FEW_KEYS, MORE_KEY_COST, type Run, type Shape, testMember } from './run.ts'
import { sizeChecks } from './value-checks.ts'
import { has, keysOf } from './values.ts'

type ObjectCheck = Check<JsonObject>

/** The checks of the keywords for objects. */
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

// V8 needs no lookup for this call inside of a for-in loop, unlike for Object.hasOwn.
const ownProperty = Object.prototype.hasOwnProperty

interface Property {
  key: string
  required: boolean
  shape: Shape | undefined
}

/** `properties`, `required`, `patternProperties` and `additionalProperties`, in one walk over the value. */
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
  // A key that no pattern matches may match one that is left out.
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

/** All keys are listed before the first of them is looked at, so they cost the same if the walk ends early. */
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
