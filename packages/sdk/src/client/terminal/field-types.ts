import { safeLine } from '../../util/safe-text.ts'
import type { FieldType } from './field.ts'

interface Keywords {
  readonly [keyword: string]: unknown
}

/** A text field. */
export function text({ format, minLength, maxLength }: Keywords): FieldType {
  const size = amount(minLength, maxLength)
  const length = size && `${size} ${/(^| )1$/.test(size) ? 'character' : 'characters'}`
  return {
    rule: [formats.get(format), length].filter(Boolean).join(', '),
    parse: (line) => ({ answer: line }),
    show: (answer) => safeLine(String(answer), 1_000) || 'empty',
  }
}

/** A number field. */
export function number({ type, minimum, maximum }: Keywords): FieldType {
  const noun = type === 'integer' ? 'a whole number' : 'a number'
  const size = range(minimum, maximum)
  return {
    rule: noun + (size && (size.startsWith('at') ? `, ${size}` : ` from ${size}`)),
    parse: (line) => (isNumber(line) ? { answer: Number(line) } : { problem: `Please type ${noun}.` }),
    show: String,
  }
}

/** A boolean field. */
export const yesOrNo: FieldType = {
  rule: 'yes or no',
  parse(line) {
    if (/^(?:y|yes|true)$/i.test(line)) return { answer: true }
    if (/^(?:n|no|false)$/i.test(line)) return { answer: false }
    return { problem: 'Please type y or n.' }
  },
  show: (answer) => (answer ? 'yes' : 'no'),
  hint: (current) => (current === undefined ? 'y/n' : current ? 'Y/n' : 'y/N'),
}

/** Describes an amount: "1 to 3", "2", "at least 1", "at most 3", or an empty string. */
export function amount(min: unknown, max: unknown): string {
  return typeof min === 'number' && min === max ? String(min) : range(min || undefined, max)
}

/** Limits that are not numbers are ignored. */
function range(min: unknown, max: unknown): string {
  const [from, to] = [min, max].map((limit) => (typeof limit === 'number' ? limit : undefined))
  if (from !== undefined && to !== undefined) return `${from} to ${to}`
  if (from !== undefined) return `at least ${from}`
  return to === undefined ? '' : `at most ${to}`
}

/** `Number()` also accepts hexadecimal numbers and Infinity. */
function isNumber(line: string): boolean {
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(line)
}

const formats: ReadonlyMap<unknown, string> = new Map([
  ['email', 'an email address'],
  ['uri', 'a URL such as https://example.com/'],
  ['date', 'a date like 2030-12-31'],
  ['date-time', 'a date and time like 2030-12-31T09:30:00Z'],
])
