import type { Builder } from './compile.ts'
import { formats } from './formats.ts'
import type { Check, Run } from './run.ts'
import { isMultiple, show, toCanonical } from './values.ts'

/** The checks of the keywords for values as a whole. */
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

/** For the values in a schema, whose size and depth are bounded already. */
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
  const test = builder.formats && formats.get(format!)
  if (test)
    checks.push((value, run) => !run.spend(value.length >> 3) && (test(value) || run.fail(`must be a valid ${format}`)))
  return checks
}

/** JSON Schema counts code points, which take one or two units; most strings need no counting. */
function countCodePoints(text: string, min: number, max: number, run: Run): number {
  const { length } = text
  if ((length >= min * 2 && length <= max) || run.spend(length)) return length
  let count = 0
  for (let index = 0; index < length; index++, count++) if (text.codePointAt(index)! > 0xffff) index++
  return count
}

/** The check of a pair of keywords such as `minItems` and `maxItems`. */
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
