import { arrayChecks, unevaluatedItemsCheck } from './array-checks.ts'
import { branchChecks } from './branch-checks.ts'
import { keywordsOf } from './dialect.ts'
import type { JsonSchema } from './json-schema.ts'
import { describe, type Library, type Place, type Resource } from './library.ts'
import { objectChecks, unevaluatedPropertiesCheck } from './object-checks.ts'
import { compilePattern } from './pattern.ts'
import { type Check, Seen } from './run.ts'
import { scalarChecks, typeCheck } from './scalar-checks.ts'
import { SchemaError } from './schema-error.ts'

export interface Compiler {
  /** Compiles a place and everything it refers to. */
  compile(root: Place): Check
}

/** What the checks of one subschema are built from. */
export interface Builder {
  /** The place that is being compiled. */
  place: Place
  /** Whether `format` is checked. */
  formats: boolean
  /** A keyword's value, when the place's dialect knows that keyword. */
  get<T>(keyword: string): T | undefined
  /** The check of a subschema that applies to members of the value. */
  member(...tokens: (string | number)[]): Check
  /** The check of a subschema that applies to the same value. */
  inPlace(...tokens: (string | number)[]): Check
  /** A regular expression of the schema. */
  pattern(source: string, keyword: string): RegExp
}

export function createCompiler(library: Library, formats: boolean, maxPatternLength: number): Compiler {
  const compilation: Compilation = {
    library,
    formats,
    patterns: new Map(),
    maxPatternLength,
    patternBudget: maxPatternLength * 100,
    waiting: [],
    compiled: [],
    dynamicNames: new Set(),
  }
  return {
    compile(root) {
      const check = compilePlace(compilation, root)
      while (compilation.waiting.length > 0 || awaitDynamicTargets(compilation)) {
        compilePlace(compilation, compilation.waiting.pop()!)
      }
      refuseEndlessReferences(compilation.compiled)
      return check
    },
  }
}

interface Compilation {
  library: Library
  formats: boolean
  patterns: Map<string, RegExp>
  maxPatternLength: number
  /** Characters that all patterns together may still have. */
  patternBudget: number
  /** Targets of references. They are compiled one after the other, since a chain of them may be any length. */
  waiting: Place[]
  compiled: Place[]
  dynamicNames: Set<string>
}

const always: Check = () => true
const never: Check = (_value, run) => run.fail('is not allowed')

function compilePlace(compilation: Compilation, place: Place): Check {
  if (place.check) return place.check
  compilation.compiled.push(place)
  place.check = typeof place.schema === 'boolean' ? (place.schema ? always : never) : compileObject(compilation, place)
  return place.check
}

function compileObject(compilation: Compilation, place: Place): Check {
  const builder = createBuilder(compilation, place)
  const reference = referenceCheck(compilation, builder, '$ref')
  if (reference && place.dialect.draft <= 7) return reference
  const checks = [
    reference,
    referenceCheck(compilation, builder, '$dynamicRef'),
    referenceCheck(compilation, builder, '$recursiveRef'),
    ...scalarChecks(builder),
    ...objectChecks(builder),
    ...arrayChecks(builder),
    ...branchChecks(builder),
  ].filter((check) => check !== undefined)
  const closing = [unevaluatedPropertiesCheck(builder), unevaluatedItemsCheck(builder)].filter(
    (check) => check !== undefined,
  )
  const weight = 1 + place.inPlace.length
  const joined = joinChecks(typeCheck(builder), checks, weight)
  return closing.length === 0 ? joined : closeWith(joined, closing)
}

function joinChecks(type: Check | undefined, checks: Check[], weight: number): Check {
  if (checks.length === 0) return type ?? always
  return (value, run, seen) => {
    // A value of the wrong type has no use for further complaints.
    if (type !== undefined && !type(value, run, seen)) return false
    if (run.spend(weight)) return false
    let valid = true
    for (let index = 0; index < checks.length; index++) {
      if (checks[index]!(value, run, seen)) continue
      if (run.done) return false
      valid = false
    }
    return valid
  }
}

function closeWith(check: Check, closing: Check[]): Check {
  return (value, run, outer) => {
    const seen = new Seen()
    const valid = check(value, run, seen) && closing.every((close) => close(value, run, seen))
    if (valid) outer?.merge(seen)
    return valid
  }
}

function createBuilder(compilation: Compilation, place: Place): Builder {
  const { library, formats } = compilation
  const schema = place.schema as JsonSchema
  const known = keywordsOf(place.dialect)
  const member = (...tokens: (string | number)[]) => {
    const child = library.child(place, ...tokens)
    return enter(place.resource, child, compilePlace(compilation, child))
  }
  return {
    place,
    formats: formats || place.dialect.vocabularies.has('format-assertion'),
    get: <T>(keyword: string) =>
      known.has(keyword) && Object.hasOwn(schema, keyword) ? (schema[keyword] as T) : undefined,
    member,
    inPlace(...tokens) {
      place.inPlace.push(library.child(place, ...tokens))
      return member(...tokens)
    },
    pattern: (source, keyword) => sharePattern(compilation, source, describe(place, keyword)),
  }
}

function sharePattern(compilation: Compilation, source: string, at: string): RegExp {
  const { patterns, maxPatternLength } = compilation
  const known = patterns.get(source)
  if (known) return known
  compilation.patternBudget -= source.length
  if (compilation.patternBudget < 0) {
    throw new SchemaError('The patterns of the schema have too many characters together; raise maxPatternLength', at)
  }
  const pattern = compilePattern(source, maxPatternLength, at)
  patterns.set(source, pattern)
  return pattern
}

/** Keeps the dynamic scope: entering another resource is noted for as long as the check is inside it. */
function enter(from: Resource, to: Place, check: Check): Check {
  if (to.resource === from) return check
  return (value, run, seen) => {
    run.scope.push(to.resource)
    const valid = check(value, run, seen)
    run.scope.pop()
    return valid
  }
}

function referenceCheck(compilation: Compilation, builder: Builder, keyword: string): Check | undefined {
  const reference = builder.get<string>(keyword)
  if (reference === undefined) return undefined
  const { place } = builder
  const target = compilation.library.resolve(place, keyword, reference)
  compilation.waiting.push(target.place)
  // Both of the dynamic kinds act like $ref unless the target itself is dynamic.
  const dynamic = keyword !== '$ref' && target.resource.dynamicAnchors.get(target.fragment) === target.place
  if (dynamic) {
    compilation.dynamicNames.add(target.fragment)
    return dynamicReference(target.fragment, target.place)
  }
  place.inPlace.push(target.place)
  const check = enter(place.resource, target.place, (value, run, seen) => target.place.check!(value, run, seen))
  return (value, run, seen) => run.apply(check, value, seen)
}

function dynamicReference(name: string, fallback: Place): Check {
  return (value, run, seen) => {
    const resource = run.scope.find((candidate) => candidate.dynamicAnchors.has(name))
    const target = resource?.dynamicAnchors.get(name) ?? fallback
    run.scope.push(target.resource)
    const valid = run.apply(target.check!, value, seen)
    run.scope.pop()
    return valid
  }
}

/** Queues every place a dynamic reference may end at; false when all of them are compiled. */
function awaitDynamicTargets({ library, dynamicNames, waiting }: Compilation): boolean {
  for (const { dynamicAnchors } of library.resources) {
    for (const [name, place] of dynamicAnchors) {
      if (dynamicNames.has(name) && !place.check) waiting.push(place)
    }
  }
  return waiting.length > 0
}

/** Refuses a schema that would be applied to one value without end, such as `{ $ref: '#' }`. */
function refuseEndlessReferences(places: Place[]): void {
  const finished = new Set<Place>()
  const open = new Set<Place>()
  for (const start of places) {
    const path = [{ place: start, next: 0 }]
    while (path.length > 0) {
      const top = path.at(-1)!
      if (top.next === 0) open.add(top.place)
      const place = finished.has(top.place) ? undefined : top.place.inPlace[top.next++]
      if (!place) {
        open.delete(top.place)
        finished.add(top.place)
        path.pop()
      } else if (open.has(place)) {
        throw new SchemaError(
          'The schema refers to itself without end; move the reference below properties or items',
          place.document.uri + place.pointer,
        )
      } else if (!finished.has(place)) {
        path.push({ place, next: 0 })
      }
    }
  }
}
