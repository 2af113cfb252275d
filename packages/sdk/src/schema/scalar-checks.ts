import type { Builder } from './compile.ts'
import { formats } from './formats.ts'
import type { Check } from './run.ts'
import { countCodePoints, equal, isMultiple, isObject, kindOf, show } from './values.ts'

/** The check of `type`. */
export function typeCheck(builder: Builder): Check | undefined {
  const type = builder.get<string | string[]>('type')
  if (type === undefined) return undefined
  const tests = [type].flat().map((name) => TYPES[name]!)
  const message = `must be ${joinWords(tests.map(({ label }) => label))}, got `
  const wholeOnly = tests.some(({ label }) => label === 'an integer')
  const fail: Check = (value, run) => {
    const got = wholeOnly && Number.isFinite(value) ? String(value) : kindOf(value)
    return run.fail(message + got)
  }
  if (tests.length === 1) return tests[0]!.check(fail)
  const checks = tests.map(({ check }) => check(() => false))
  return (value, run, seen) => checks.some((check) => check(value, run, seen)) || fail(value, run, seen)
}

/** The checks of the keywords for numbers, strings and values as a whole. */
export function scalarChecks(builder: Builder): (Check | undefined)[] {
  return [
    constCheck(builder),
    enumCheck(builder),
    rangeCheck(builder),
    multipleCheck(builder),
    lengthCheck(builder),
    patternCheck(builder),
    formatCheck(builder),
  ]
}

// Each check is written out, since V8 inlines no test that is handed in.
const TYPES: Record<string, { label: string; check: (fail: Check) => Check }> = {
  string: {
    label: 'a string',
    check: (fail) => (value, run, seen) => typeof value === 'string' || fail(value, run, seen),
  },
  number: {
    label: 'a number',
    check: (fail) => (value, run, seen) => Number.isFinite(value) || fail(value, run, seen),
  },
  integer: {
    label: 'an integer',
    check: (fail) => (value, run, seen) => Number.isInteger(value) || fail(value, run, seen),
  },
  boolean: {
    label: 'a boolean',
    check: (fail) => (value, run, seen) => typeof value === 'boolean' || fail(value, run, seen),
  },
  null: { label: 'null', check: (fail) => (value, run, seen) => value === null || fail(value, run, seen) },
  array: { label: 'an array', check: (fail) => (value, run, seen) => Array.isArray(value) || fail(value, run, seen) },
  object: { label: 'an object', check: (fail) => (value, run, seen) => isObject(value) || fail(value, run, seen) },
}

function joinWords(words: string[]): string {
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function constCheck(builder: Builder): Check | undefined {
  const expected = builder.get('const')
  if (expected === undefined) return undefined
  return (value, run) => equal(expected, value) || run.fail(`must be ${show(expected)}`)
}

function enumCheck(builder: Builder): Check | undefined {
  const values = builder.get<unknown[]>('enum')
  if (values === undefined) return undefined
  const simple = new Set(values.filter((value) => typeof value !== 'object' || value === null))
  const complex = values.filter((value) => typeof value === 'object' && value !== null)
  const shown = values.slice(0, MAX_SHOWN).map(show).join(', ')
  const more = values.length > MAX_SHOWN ? ` or ${values.length - MAX_SHOWN} more` : ''
  return (value, run) => {
    if (simple.has(value)) return true
    if (typeof value === 'object' && !run.spend(complex.length) && complex.some((one) => equal(one, value))) return true
    return run.fail(`must be one of ${shown}${more}`)
  }
}

const MAX_SHOWN = 10

function rangeCheck(builder: Builder): Check | undefined {
  const minimum = builder.get<number>('minimum')
  const maximum = builder.get<number>('maximum')
  const above = builder.get<number>('exclusiveMinimum')
  const below = builder.get<number>('exclusiveMaximum')
  if (minimum === undefined && maximum === undefined && above === undefined && below === undefined) return undefined
  return (value, run) => {
    if (typeof value !== 'number') return true
    if (minimum !== undefined && value < minimum) return run.fail(`must be at least ${minimum}`)
    if (maximum !== undefined && value > maximum) return run.fail(`must be at most ${maximum}`)
    if (above !== undefined && value <= above) return run.fail(`must be more than ${above}`)
    if (below !== undefined && value >= below) return run.fail(`must be less than ${below}`)
    return true
  }
}

function multipleCheck(builder: Builder): Check | undefined {
  const step = builder.get<number>('multipleOf')
  if (step === undefined) return undefined
  return (value, run) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return true
    return isMultiple(value, step) || run.fail(`must be a multiple of ${step}`)
  }
}

function lengthCheck(builder: Builder): Check | undefined {
  const min = builder.get<number>('minLength') ?? 0
  const max = builder.get<number>('maxLength') ?? Number.POSITIVE_INFINITY
  if (min === 0 && max === Number.POSITIVE_INFINITY) return undefined
  return (value, run) => {
    if (typeof value !== 'string') return true
    // A code point takes one or two units, so most strings need no counting.
    if (value.length >= min * 2 && value.length <= max) return true
    if (run.spend(value.length >> 5)) return false
    const length = countCodePoints(value)
    if (length < min) return run.fail(`must have at least ${characters(min)}`)
    return length <= max || run.fail(`must have at most ${characters(max)}`)
  }
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`
}

function patternCheck(builder: Builder): Check | undefined {
  const source = builder.get<string>('pattern')
  if (source === undefined) return undefined
  const pattern = builder.pattern(source, 'pattern')
  return (value, run) => {
    if (typeof value !== 'string') return true
    if (run.spend(value.length >> 5)) return false
    return pattern.test(value) || run.fail(`must match the pattern ${source}`)
  }
}

function formatCheck(builder: Builder): Check | undefined {
  const name = builder.formats ? builder.get<string>('format') : undefined
  const test = name === undefined ? undefined : formats.get(name)
  if (!test) return undefined
  return (value, run) => typeof value !== 'string' || test(value) || run.fail(`must be a valid ${name}`)
}
