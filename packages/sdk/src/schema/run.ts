import type { JsonSchemaCheck, SchemaIssue } from './json-schema.ts'
import { ALL_TYPES, escapeToken, KINDS, typeIndexOf } from './values.ts'

/** A compiled subschema. The target of a reference exists before it is filled. */
export interface Shape {
  /** One bit for each kind of value that is allowed. */
  types: number
  /** The other checks, for each kind of value. */
  checks: readonly (readonly Check<never>[])[]
}

/** Checks one part of a subschema: true if the value is valid. `seen` collects evaluated members for `unevaluated*`. */
export type Check<Value = unknown> = (value: Value, run: Run, seen: Seen | undefined) => boolean

/** Keys or indexes of the evaluated members. */
export type Seen = Set<string | number>

/** Creates the check of a whole schema. */
export function createRunner(shape: Shape, base: string, maxDepth: number, maxSteps: number): JsonSchemaCheck {
  let idle: Run | undefined
  return (value) => {
    const run = idle ?? new Run(base, maxDepth, maxSteps)
    // Taken out while in use, because a getter inside the value may call the same check again.
    idle = undefined
    const issues = run.finish(test(shape, value, run, undefined))
    idle = run
    return issues
  }
}

function test(shape: Shape, value: unknown, run: Run, seen: Seen | undefined): boolean {
  const kind = typeIndexOf(value)
  const checks = shape.checks[kind]!
  if (run.spend(1 + checks.length + (typeof value === 'string' ? value.length >> 5 : 0))) return false
  // If the type is wrong, further issues would not help.
  if (!((shape.types >> kind) & 1)) return !run.done && run.fail(describeTypes(shape.types, value))
  return testAll(checks, value, run, seen)
}

export function testAll(checks: readonly Check<never>[], value: unknown, run: Run, seen: Seen | undefined): boolean {
  let valid = true
  for (let index = 0; index < checks.length; index++) {
    if (checks[index]!(value as never, run, seen)) continue
    if (run.done) return false
    valid = false
  }
  return valid
}

/** Checks a member of the current value. Most members only have a type, which takes no call. */
export function testMember(shape: Shape, value: unknown, key: string | number, run: Run): boolean {
  const kind = typeIndexOf(value)
  if ((shape.types >> kind) & 1 && shape.checks[kind]!.length === 0) return true
  return run.descend(shape, value, key)
}

function describeTypes(types: number, value: unknown): string {
  if (types === 0) return 'is not allowed'
  // Every integer is a number, so it is named only if other numbers are not allowed.
  const names = KINDS.filter((_, kind) => (types >> kind) & 1 && !(kind === 2 && types & 2))
  const labels = names.map((name) => (name === 'null' ? name : `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`))
  const isNumber = typeof value === 'number' && (names.includes('integer') || !Number.isFinite(value))
  const got = isNumber ? value : value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  if (types === ALL_TYPES) return `must be a JSON value, got ${isNumber ? value : typeof value}`
  return `must be ${labels.join(', ').replace(/, (?=[^,]*$)/, ' or ')}, got ${got}`
}

/** The state of one check of one value. It is reused between checks, so that a valid value costs no allocation. */
export class Run {
  /** The URIs of the schemas that were entered, outermost first: the dynamic scope. */
  readonly scope: string[]
  /** Counts the skipped parts of schemas that were reached. A match is certain only if this did not change. */
  doubts = 0
  readonly #maxDepth: number
  readonly #maxSteps: number
  readonly #keys: (string | number)[] = []
  #depth = 0
  #hops = 0
  #steps = 0
  #quiet = 0
  #issues: SchemaIssue[] | undefined
  #halt: SchemaIssue | undefined

  constructor(base: string, maxDepth: number, maxSteps: number) {
    this.scope = [base]
    this.#maxDepth = maxDepth
    this.#maxSteps = maxSteps
  }

  /** True if further checks would report nothing more. */
  get done(): boolean {
    return this.#quiet > 0 || this.#halt !== undefined || (this.#issues?.length ?? 0) >= MAX_ISSUES
  }

  /** True if the whole check has ended, because it takes too many steps or is too deep. */
  get isHalted(): boolean {
    return this.#halt !== undefined
  }

  /** Reports an issue with the current value, or below it. */
  fail(message: string, below = ''): false {
    if (this.done) return false
    const path = this.#path() + below
    this.#issues ??= []
    this.#issues.push({ path, message })
    // Keys can be long, and a union may collect the issues of many branches.
    this.spend(ISSUE_COST + (path.length >> 3))
    return false
  }

  /** Reports an issue with a member of the current value. */
  failAt(key: string | number, message: string): false {
    return !this.done && this.fail(message, `/${escapeToken(key)}`)
  }

  /** Takes steps from the budget. Returns true if the budget is used up. */
  spend(steps: number): boolean {
    this.#steps += steps
    return this.#steps > this.#maxSteps && !this.#stop('takes too many steps to check')
  }

  /** Takes the steps of an iteration over this many keys from the budget. Returns true if the budget is used up. */
  spendKeys(count: number): boolean {
    return this.spend(count + Math.max(0, count - FEW_KEYS) * MORE_KEY_COST)
  }

  /** Whether a value this many levels below the current one can still be checked. */
  reaches(levels: number): boolean {
    return this.#depth + levels <= this.#maxDepth || this.#stop(TOO_DEEP)
  }

  descend(shape: Shape, value: unknown, key: string | number): boolean {
    if (!this.reaches(1)) return false
    this.#keys[this.#depth++] = key
    const valid = test(shape, value, this, undefined)
    this.#depth--
    return valid
  }

  /** Checks the current value against another subschema. */
  apply(shape: Shape, value: unknown, seen: Seen | undefined): boolean {
    if (this.#hops >= MAX_HOPS) return this.#stop(TOO_DEEP)
    this.#hops++
    const valid = test(shape, value, this, seen)
    this.#hops--
    return valid
  }

  /** Like `apply`, in the schema of a URI. */
  enter(base: string, shape: Shape, value: unknown, seen: Seen | undefined): boolean {
    this.scope.push(base)
    const valid = this.apply(shape, value, seen)
    this.scope.pop()
    return valid
  }

  /** Like `apply`, but reports nothing. Evaluated members count only if the value matches. */
  attempt(shape: Shape, value: unknown, seen?: Seen): boolean {
    const inner: Seen | undefined = seen && new Set()
    this.#quiet++
    const matches = this.apply(shape, value, inner)
    this.#quiet--
    if (!matches || !inner || this.spendKeys(inner.size)) return matches
    for (const key of inner) seen!.add(key)
    return true
  }

  /** Like `descend`, but reports nothing. */
  attemptAt(shape: Shape, value: unknown, key: string | number): boolean {
    this.#quiet++
    const matches = this.descend(shape, value, key)
    this.#quiet--
    return matches
  }

  /** Returns the issues that a subschema has with the current value. Their paths are relative to it. */
  explain(shape: Shape, value: unknown): SchemaIssue[] {
    const outer = this.#issues
    this.#issues = []
    this.apply(shape, value, undefined)
    const found = this.#issues
    this.#issues = outer
    const here = this.#path().length
    this.spend(here >> 3)
    return found.map(({ path, message }) => ({ path: path.slice(here), message }))
  }

  /** Ends the check and resets the run for the next one. */
  finish(valid: boolean): SchemaIssue[] | undefined {
    this.#steps = this.doubts = 0
    if (valid && !this.#halt) return undefined
    const issues = [...(this.#issues ?? []), ...(this.#halt ? [this.#halt] : [])]
    this.#issues = this.#halt = undefined
    return issues
  }

  // Ends the whole check, even where a `not` or an `anyOf` would ignore an ordinary failure.
  #stop(message: string): false {
    this.#halt ??= { path: this.#path(), message }
    // Running checks end at their next step.
    this.#steps = Number.POSITIVE_INFINITY
    return false
  }

  #path(): string {
    return this.#keys
      .slice(0, this.#depth)
      .map((key) => `/${escapeToken(key)}`)
      .join('')
  }
}

const MAX_ISSUES = 20
/** The cost in steps of writing an issue. */
const ISSUE_COST = 20
/** The engine stores a larger object as a hash table, so each further key costs more steps. */
export const FEW_KEYS = 1_000
export const MORE_KEY_COST = 10
const TOO_DEEP = 'is nested too deep to check'

// Subschemas that apply to the same value, summed over the path to it. Together with `maxDepth` this prevents a stack
// overflow.
const MAX_HOPS = 768
