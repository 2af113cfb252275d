import type { JsonSchemaCheck, SchemaIssue } from './json-schema.ts'
import type { Resource } from './library.ts'
import { escapeToken } from './values.ts'

/** A compiled subschema: true when the value is valid. `seen` collects what it evaluated, for `unevaluated*`. */
export type Check = (value: unknown, run: Run, seen: Seen | undefined) => boolean

/** The check of a whole schema, as its users call it. */
export function createRunner(
  check: Check,
  resource: Resource,
  limits: { maxDepth: number; maxSteps: number },
): JsonSchemaCheck {
  let idle: Run | undefined
  return (value) => {
    const run = idle ?? new Run(resource, limits.maxDepth, limits.maxSteps)
    // Taken while in use: a getter inside the value may call this very check again.
    idle = undefined
    const valid = check(value, run, undefined)
    const issues = run.finish(valid)
    idle = run
    return issues
  }
}

/** What one check of one value keeps track of. Reused between checks, so that a valid value costs no allocation. */
export class Run {
  readonly maxDepth: number
  readonly #maxSteps: number
  /** The resources entered on the way here, outermost first: the dynamic scope. */
  readonly scope: Resource[]
  readonly #keys: (string | number)[] = []
  #depth = 0
  #hops = 0
  #steps = 0
  #quiet = 0
  #issues: SchemaIssue[] | undefined
  #halt: SchemaIssue | undefined

  constructor(resource: Resource, maxDepth: number, maxSteps: number) {
    this.scope = [resource]
    this.maxDepth = maxDepth
    this.#maxSteps = maxSteps
  }

  /** True when looking further would report nothing more. */
  get done(): boolean {
    return this.#quiet > 0 || this.#halt !== undefined || (this.#issues?.length ?? 0) >= MAX_ISSUES
  }

  /** Reports an issue with the value at hand. */
  fail(message: string): false {
    if (!this.done) this.#report({ path: this.#path(), message })
    return false
  }

  /** Reports an issue with a member of the value at hand. */
  failAt(key: string | number, message: string): false {
    if (!this.done) this.#report({ path: `${this.#path()}/${escapeToken(key)}`, message })
    return false
  }

  /** Takes steps from the budget; true when it is used up. */
  spend(steps: number): boolean {
    this.#steps += steps
    if (this.#steps <= this.#maxSteps) return false
    return this.#stop('takes too many steps to check')
  }

  /** Ends the whole check, even where a `not` or an `anyOf` would swallow an ordinary failure. */
  tooDeep(): false {
    this.#stop('is nested too deep to check')
    return false
  }

  /** Checks a member of the value at hand. */
  descend(check: Check, value: unknown, key: string | number): boolean {
    if (this.#depth >= this.maxDepth) return this.tooDeep()
    this.#keys[this.#depth++] = key
    const valid = check(value, this, undefined)
    this.#depth--
    return valid
  }

  /** Checks the value at hand against another subschema. */
  apply(check: Check, value: unknown, seen: Seen | undefined): boolean {
    if (this.#hops >= MAX_HOPS) return this.tooDeep()
    this.#hops++
    const valid = check(value, this, seen)
    this.#hops--
    return valid
  }

  /** Like `apply`, reporting nothing. */
  attempt(check: Check, value: unknown, seen: Seen | undefined): boolean {
    this.#quiet++
    const valid = this.apply(check, value, seen)
    this.#quiet--
    return valid
  }

  /** Like `descend`, reporting nothing. */
  attemptAt(check: Check, value: unknown, key: string | number): boolean {
    this.#quiet++
    const valid = this.descend(check, value, key)
    this.#quiet--
    return valid
  }

  /** The issues a subschema has with the value at hand, their paths relative to it. */
  explain(check: Check, value: unknown): SchemaIssue[] {
    const outer = this.#issues
    this.#issues = []
    this.apply(check, value, undefined)
    const found = this.#issues
    this.#issues = outer
    const here = this.#path().length
    return found.map(({ path, message }) => ({ path: path.slice(here), message }))
  }

  /** Reports issues whose paths are relative to the value at hand. */
  adopt(issues: SchemaIssue[]): void {
    const here = this.#path()
    for (const { path, message } of issues) if (!this.done) this.#report({ path: here + path, message })
  }

  /** Ends the check and makes the run ready for the next one. */
  finish(valid: boolean): SchemaIssue[] | undefined {
    const issues = this.#halt ? [...(this.#issues ?? []), this.#halt] : this.#issues
    this.#steps = 0
    this.#issues = undefined
    this.#halt = undefined
    return valid && issues === undefined ? undefined : (issues ?? [])
  }

  #stop(message: string): true {
    this.#halt ??= { path: this.#path(), message }
    // Whatever is still under way ends at its next step.
    this.#steps = Number.POSITIVE_INFINITY
    return true
  }

  #report(issue: SchemaIssue): void {
    if (this.#issues) this.#issues.push(issue)
    else this.#issues = [issue]
  }

  #path(): string {
    let path = ''
    for (let index = 0; index < this.#depth; index++) path += `/${escapeToken(this.#keys[index]!)}`
    return path
  }
}

/** Which members of one object or array its subschemas have evaluated. */
export class Seen {
  allKeys = false
  allItems = false
  /** Items evaluated from the front. */
  count = 0
  keys: Set<string> | undefined
  indexes: Set<number> | undefined

  addKey(key: string): void {
    this.keys ??= new Set()
    this.keys.add(key)
  }

  addIndex(index: number): void {
    this.indexes ??= new Set()
    this.indexes.add(index)
  }

  hasKey(key: string): boolean {
    return this.allKeys || this.keys?.has(key) === true
  }

  hasIndex(index: number): boolean {
    return this.allItems || index < this.count || this.indexes?.has(index) === true
  }

  merge(other: Seen): void {
    this.allKeys ||= other.allKeys
    this.allItems ||= other.allItems
    this.count = Math.max(this.count, other.count)
    for (const key of other.keys ?? []) this.addKey(key)
    for (const index of other.indexes ?? []) this.addIndex(index)
  }
}

const MAX_ISSUES = 20

// Subschemas applied to one and the same value, summed over the path to it. Together with `maxDepth` this keeps the
// call stack far from its end.
const MAX_HOPS = 768
