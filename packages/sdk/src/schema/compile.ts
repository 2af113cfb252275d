import { branchChecks } from './branch-checks.ts'
import type { Formats } from './formats.ts'
import { IN_PLACE } from './keywords.ts'
import type { Library, Place } from './library.ts'
import { compilePattern, type Pattern } from './pattern.ts'
import { PatternPool } from './pattern-matcher.ts'
import { type Check, type Seen, type Shape, testAll } from './run.ts'
import { SchemaError } from './schema-error.ts'
import { arrayChecks, numberChecks, objectChecks, testRest, textChecks, valueChecks } from './value-checks.ts'
import { KINDS, keysOf, OTHER } from './values.ts'

/** Reads the keywords of one subschema while its checks are built. */
export interface Builder {
  /** The formats that are checked. */
  formats: Formats | undefined
  /** Returns the value of a keyword, if the dialect supports that keyword. */
  get<T>(keyword: string): T | undefined
  /** Returns the subschema of a keyword. */
  one(keyword: string): Shape | undefined
  /** Returns the subschemas of a keyword, with their keys. */
  many(keyword: string): [key: string, shape: Shape][]
  /** Compiles a regular expression of the schema. Returns undefined if it is skipped. */
  pattern(source: string, keyword: string): Pattern | undefined
}

/** Compiles the root of a library and everything it refers to. */
export function compileRoot(library: Library, formats: Formats | undefined, maxPatternLength: number): Shape {
  const reached = new Set([library.root])
  const patterns = new Map<string, Pattern>()
  const compilation = { library, formats, reached, patterns, pool: new PatternPool(), maxPatternLength }
  for (let filled = 0; filled < reached.size; ) {
    // The set grows during the iteration. Recursion could overflow the call stack on a long chain of references.
    for (const place of reached) if (place.shape.checks.length === 0) fillShape(compilation, place)
    filled = reached.size
    for (const place of library.dynamic.values()) reached.add(place)
  }
  refuseEndlessReferences(reached)
  return library.root.shape
}

interface Compilation {
  library: Library
  formats: Formats | undefined
  /** The places to compile. */
  reached: Set<Place>
  patterns: Map<string, Pattern>
  pool: PatternPool
  maxPatternLength: number
}

function fillShape(compilation: Compilation, place: Place): void {
  const { shape, schema, base } = place
  const builder = createBuilder(compilation, place)
  if (schema === false) shape.types = 0
  const references = ['$ref', '$dynamicRef'].flatMap((keyword) => referenceCheck(compilation, place, keyword))
  if (place.draft07 && place.keywords.has('$ref')) {
    shape.checks = Array(OTHER + 1).fill(place.isPartial ? [...references, skipCheck] : references)
    return
  }
  const types = builder.get<string | string[]>('type')
  if (types !== undefined) shape.types = [types].flat().reduce((bits, type) => bits | bitsOf(type), 0)
  const first = [...references, ...valueChecks(builder)]
  const last = branchChecks(builder)
  const numbers = numberChecks(builder)
  const ofKind: Record<string, Check<never>[]> = {
    string: textChecks(builder),
    number: numbers,
    integer: numbers,
    array: arrayChecks(builder),
    object: objectChecks(builder),
  }
  shape.checks = [...KINDS, ''].map((kind) => {
    const checks = [...first, ...(ofKind[kind] ?? []), ...last, ...(place.isPartial ? [skipCheck] : [])]
    const rest = builder.one(kind === 'array' ? 'unevaluatedItems' : kind === 'object' ? 'unevaluatedProperties' : '')
    return rest ? [closeWith(rest, checks)] : checks
  })
  if (place.embedded) {
    const inner = { ...shape }
    shape.checks = Array(OTHER + 1).fill([(value, run, seen) => run.enter(base, inner, value, seen)] as Check[])
  }
}

/** Stands for the skipped parts of a subschema: they may match or not, and may have evaluated any member. */
const skipCheck: Check = (value, run, seen) => {
  run.doubts++
  if (!seen || typeof value !== 'object' || value === null) return true
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) seen.add(key)
  return !run.spendKeys(seen.size)
}

function bitsOf(type: string): number {
  return type === 'number' ? 0b110 : 1 << KINDS.indexOf(type)
}

/** Checks the members that no other keyword has evaluated. */
function closeWith(rest: Shape, checks: Check<never>[]): Check<object> {
  return (value, run, outer) => {
    const seen: Seen = new Set()
    let valid = testAll(checks, value, run, seen)
    if (!valid) return false
    if (run.isHalted) return false
    const keys = Array.isArray(value) ? [...value.keys()] : keysOf(value as { [key: string]: unknown })
    if (run.spendKeys(keys.length)) return false
    for (const key of keys) {
      outer?.add(key)
      if (seen.has(key) || testRest(rest, value[key as never], key, run)) continue
      if (run.done) return false
      valid = false
    }
    return valid
  }
}

function createBuilder(compilation: Compilation, place: Place): Builder {
  const { reached, formats } = compilation
  const many = (keyword: string) =>
    (place.parts.get(keyword) ?? []).map(([key, part]): [string, Shape] => {
      reached.add(part)
      if (IN_PLACE.has(keyword)) place.inPlace.push(part)
      return [key!, part.shape]
    })
  return {
    formats,
    get: <T>(keyword: string) => place.keywords.get(keyword) as T | undefined,
    one: (keyword) => many(keyword)[0]?.[1],
    many,
    pattern: (source, keyword) =>
      compilation.library.attempt(place, () => sharePattern(compilation, source, `${place.at}/${keyword}`)),
  }
}

function sharePattern({ patterns, pool, maxPatternLength }: Compilation, source: string, at: string): Pattern {
  const pattern = patterns.get(source) ?? compilePattern(source, maxPatternLength, pool, at)
  patterns.set(source, pattern)
  return pattern
}

function referenceCheck({ library, reached }: Compilation, place: Place, keyword: string): Check[] {
  const reference = place.keywords.get(keyword)
  if (typeof reference !== 'string') return []
  const found = library.attempt(place, () => library.resolve(place, keyword, reference))
  if (!found) return []
  const { place: target, name } = found
  reached.add(target)
  // A $dynamicRef acts like $ref unless its target is dynamic.
  if (keyword === '$ref' || library.dynamic.get(name) !== target) {
    place.inPlace.push(target)
    return [(value, run, seen) => run.enter(target.base, target.shape, value, seen)]
  }
  const anchor = name.slice(name.indexOf('#'))
  return [
    (value, run, seen) => {
      if (run.spend(run.scope.length)) return false
      const outermost = run.scope.find((base) => library.dynamic.has(base + anchor))
      const { base, shape } = library.dynamic.get(outermost + anchor) ?? target
      return run.enter(base, shape, value, seen)
    },
  ]
}

/** Rejects a schema that would be applied to one value endlessly, such as `{ $ref: '#' }`. */
function refuseEndlessReferences(places: Iterable<Place>): void {
  const path = [...places]
  const isOpen = new Map<Place, boolean>()
  for (let place = path.at(-1); place; place = path.at(-1)) {
    if (isOpen.has(place)) {
      isOpen.set(place, false)
      path.pop()
      continue
    }
    isOpen.set(place, true)
    for (const next of place.inPlace) {
      if (isOpen.get(next)) {
        throw new SchemaError(
          'The schema refers to itself endlessly. Move the reference below properties or items.',
          next.at,
        )
      }
      if (!isOpen.has(next)) path.push(next)
    }
  }
}
