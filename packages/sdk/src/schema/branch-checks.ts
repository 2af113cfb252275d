import type { Builder } from './compile.ts'
import type { SchemaIssue } from './json-schema.ts'
import type { Check, Run, Shape } from './run.ts'

/** Builds the checks of the keywords that apply other subschemas to the same value. */
export function branchChecks(builder: Builder): Check[] {
  const branches = (keyword: string) => builder.many(keyword).map(([, shape]) => shape)
  const checks = branches('allOf').map(
    (shape): Check =>
      (value, run, seen) =>
        run.apply(shape, value, seen),
  )
  const anyOf = branches('anyOf')
  const oneOf = branches('oneOf')
  const not = builder.one('not')
  if (anyOf.length > 0) checks.push(anyOfCheck(anyOf))
  if (oneOf.length > 0) checks.push(oneOfCheck(oneOf))
  if (not) checks.push(notCheck(not))
  return [...checks, ...conditionChecks(builder)]
}

function anyOfCheck(branches: Shape[]): Check {
  return (value, run, seen) => {
    let matches = false
    for (let index = 0; index < branches.length; index++) {
      if (!run.attempt(branches[index]!, value, seen)) continue
      matches = true
      // Further branches matter only if the caller collects evaluated members.
      if (!seen) break
    }
    return matches || explainBranches(branches, value, run)
  }
}

function oneOfCheck(branches: Shape[]): Check {
  return (value, run, seen) => {
    const { doubts } = run
    let matches = 0
    for (let index = 0; index < branches.length; index++) {
      if (!run.attempt(branches[index]!, value, seen)) continue
      if (++matches > 1 && run.doubts === doubts) {
        return run.fail('must match exactly one of the allowed shapes, matches several')
      }
    }
    return matches > 0 || explainBranches(branches, value, run)
  }
}

function notCheck(shape: Shape): Check {
  return (value, run) => {
    const { doubts } = run
    return !run.attempt(shape, value) || run.doubts > doubts || run.fail('must not match the forbidden shape')
  }
}

function conditionChecks(builder: Builder): Check[] {
  const condition = builder.one('if')
  if (!condition) return []
  const yes = builder.one('then')
  const no = builder.one('else')
  return [
    (value, run, seen) => {
      const { doubts } = run
      const holds = run.attempt(condition, value, seen)
      const next = holds ? yes : no
      return !next || (holds && run.doubts > doubts) || run.apply(next, value, seen)
    },
  ]
}

/** Reports why no branch matches: the issues of the closest branch if there is one, else the first issue of each. */
function explainBranches(branches: Shape[], value: unknown, run: Run): false {
  if (run.done) return false
  const attempts = branches.map((shape) => run.explain(shape, value))
  const closest = findClosest(attempts)
  if (closest) {
    for (const { path, message } of closest) run.fail(message, path)
    return false
  }
  const wishes = [...new Set(attempts.map(([issue]) => issue?.message ?? 'match'))]
  const shown = wishes.slice(0, MAX_WISHES).join(', or ')
  return run.fail(wishes.length === 1 ? shown : `matches none of the allowed shapes: ${shown}`)
}

const MAX_WISHES = 5

/** Returns the attempt with the fewest issues among those without an issue at the top level, unless several tie. */
function findClosest(attempts: SchemaIssue[][]): SchemaIssue[] | undefined {
  const fitting = attempts.filter((issues) => issues.length > 0 && issues.every(({ path }) => path !== ''))
  const fewest = Math.min(...fitting.map(({ length }) => length))
  const best = fitting.filter(({ length }) => length === fewest)
  return best.length === 1 ? best[0] : undefined
}
