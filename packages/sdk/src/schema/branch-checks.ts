import type { Builder } from './compile.ts'
import type { SchemaIssue } from './json-schema.ts'
import { type Check, type Run, Seen } from './run.ts'

/** The checks of the keywords that apply other subschemas to the same value. */
export function branchChecks(builder: Builder): (Check | undefined)[] {
  return [allOfCheck(builder), anyOfCheck(builder), oneOfCheck(builder), notCheck(builder), conditionCheck(builder)]
}

function allOfCheck(builder: Builder): Check | undefined {
  const branches = listBranches(builder, 'allOf')
  if (!branches) return undefined
  return (value, run, seen) => {
    let valid = true
    for (let index = 0; index < branches.length; index++) {
      if (run.apply(branches[index]!, value, seen)) continue
      if (run.done) return false
      valid = false
    }
    return valid
  }
}

function anyOfCheck(builder: Builder): Check | undefined {
  const branches = listBranches(builder, 'anyOf')
  if (!branches) return undefined
  return (value, run, seen) => {
    let matches = 0
    for (let index = 0; index < branches.length; index++) {
      if (!attemptBranch(branches[index]!, value, run, seen)) continue
      matches++
      // All branches have to be tried only where somebody asks what they evaluate.
      if (seen === undefined) break
    }
    return matches > 0 || explainBranches(branches, value, run)
  }
}

function oneOfCheck(builder: Builder): Check | undefined {
  const branches = listBranches(builder, 'oneOf')
  if (!branches) return undefined
  return (value, run, seen) => {
    let matches = 0
    for (let index = 0; index < branches.length; index++) {
      if (!attemptBranch(branches[index]!, value, run, seen)) continue
      if (++matches > 1) return run.fail('must match exactly one of the allowed shapes, matches several')
    }
    return matches === 1 || explainBranches(branches, value, run)
  }
}

function notCheck(builder: Builder): Check | undefined {
  if (builder.get('not') === undefined) return undefined
  const check = builder.inPlace('not')
  return (value, run) => !run.attempt(check, value, undefined) || run.fail('must not match the forbidden shape')
}

function conditionCheck(builder: Builder): Check | undefined {
  if (builder.get('if') === undefined) return undefined
  const condition = builder.inPlace('if')
  const yes = builder.get('then') === undefined ? undefined : builder.inPlace('then')
  const no = builder.get('else') === undefined ? undefined : builder.inPlace('else')
  return (value, run, seen) => {
    const next = attemptBranch(condition, value, run, seen) ? yes : no
    return next === undefined || run.apply(next, value, seen)
  }
}

function listBranches(builder: Builder, keyword: string): Check[] | undefined {
  return builder.get<unknown[]>(keyword)?.map((_, index) => builder.inPlace(keyword, index))
}

/** Tries a branch; what it evaluates counts only when it matches. */
function attemptBranch(check: Check, value: unknown, run: Run, seen: Seen | undefined): boolean {
  const inner = seen && new Seen()
  const matches = run.attempt(check, value, inner)
  if (matches && inner) seen.merge(inner)
  return matches
}

/** Reports why no branch matches: the one that comes closest where there is one, else what each of them wants. */
function explainBranches(branches: Check[], value: unknown, run: Run): false {
  if (run.done) return false
  const attempts = branches.map((check) => run.explain(check, value))
  const closest = findClosest(attempts)
  if (closest) {
    run.adopt(closest)
    return false
  }
  const wishes = [...new Set(attempts.map(([issue]) => issue?.message ?? 'match'))]
  const shown = wishes.slice(0, MAX_WISHES).join(', or ')
  return run.fail(wishes.length === 1 ? shown : `matches none of the allowed shapes: ${shown}`)
}

const MAX_WISHES = 5

/** The attempt with the fewest issues among those that fit at the top, unless several have as few. */
function findClosest(attempts: SchemaIssue[][]): SchemaIssue[] | undefined {
  const fitting = attempts.filter((issues) => issues.length > 0 && issues.every(({ path }) => path !== ''))
  const fewest = Math.min(...fitting.map((issues) => issues.length))
  const best = fitting.filter((issues) => issues.length === fewest)
  return best.length === 1 ? best[0] : undefined
}
