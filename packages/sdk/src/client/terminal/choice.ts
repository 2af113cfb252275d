import { isObject } from '../../util/objects.ts'
import type { FieldType, Option } from './field.ts'
import { amount } from './field-types.ts'
import { safeLine } from './safe-text.ts'

interface Keywords {
  readonly [keyword: string]: unknown
}

/** A field for one value of a list. */
export function choiceOfOne(schema: Keywords): FieldType {
  const options = toOptions(schema)
  return {
    rule: 'choose one',
    options,
    parse(line) {
      const answer = find(options, line)
      return answer === undefined ? stranger(line) : { answer }
    },
    show: (answer) => titleOf(options, answer),
  }
}

/** A field for several values of a list. */
export function choiceOfMany({ items, minItems, maxItems }: Keywords): FieldType {
  const options = toOptions(isObject(items) ? items : {})
  return {
    rule: `choose ${amount(minItems, maxItems) || 'any'}, with commas between`,
    options,
    ...(minItems ? {} : { blank: [] }),
    parse(line) {
      const words = split(options, line)
      const unknown = words.find((word) => find(options, word) === undefined)
      if (unknown === undefined) return { answer: [...new Set(words.map((word) => find(options, word)!))] }
      return words.length === 1 && unknown.toLowerCase() === 'none' ? { answer: [] } : stranger(unknown)
    },
    show: (answer) => (answer as string[]).map((item) => titleOf(options, item)).join(', ') || 'none',
  }
}

/** How an option is listed: what it is called, and what is sent if that differs. */
export function optionText({ value, title }: Option): string {
  const [label, sent] = [safeLine(title, 100), safeLine(value, 100)]
  return label === sent ? label || 'empty' : `${label} (${sent || 'empty'})`
}

/** The values of a choice in any of the ways that the revisions have: `enum`, `enumNames`, `oneOf`, `anyOf`. */
function toOptions(schema: Keywords): Option[] {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray)
  const names: unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : []
  const values: unknown[] = Array.isArray(schema.enum) ? schema.enum : []
  const pairs: [unknown, unknown][] = titled
    ? titled.filter(isObject).map((option) => [option.const, option.title])
    : values.map((value, index) => [value, names[index]])
  return pairs.flatMap(([value, title]) =>
    typeof value === 'string' ? [{ value, title: (typeof title === 'string' && title) || value }] : [],
  )
}

/** By its number in the list, its value or its title. The number goes first, because it is what the list shows. */
function find(options: readonly Option[], words: string): string | undefined {
  const byNumber = /^\d+$/.test(words) ? options[Number(words) - 1] : undefined
  const same = (text: string) => text.trim().toLowerCase() === words.toLowerCase()
  const option =
    byNumber ??
    options.find(({ value }) => value === words) ??
    options.find(({ value }) => same(value)) ??
    options.find(({ title }) => same(title))
  return option?.value
}

/** Commas separate; so do blanks, except inside the name of an option. */
function split(options: readonly Option[], line: string): string[] {
  const parts = find(options, line) === undefined ? line.split(',').map((part) => part.trim()) : [line]
  const words = parts.flatMap((part) => (find(options, part) === undefined ? part.split(/\s+/) : [part]))
  return words.filter((word) => word !== '')
}

function stranger(word: string): { problem: string } {
  return { problem: `${safeLine(word, 50)} is not in the list.` }
}

function titleOf(options: readonly Option[], value: unknown): string {
  const option = options.find((option) => option.value === value)
  return option ? optionText(option) : safeLine(String(value))
}
