import { isObject } from '../../util/objects.ts'
import { safeLine } from '../../util/safe-text.ts'
import type { FieldType, Option } from './field.ts'
import { amount } from './field-types.ts'

interface Keywords {
  readonly [keyword: string]: unknown
}

/** A single-select field. */
export function singleSelect(schema: Keywords): FieldType {
  const options = toOptions(schema)
  return {
    rule: 'choose one',
    options,
    parse(line) {
      const answer = find(options, line)
      return answer === undefined ? notListed(line) : { answer }
    },
    show: (answer) => titleOf(options, answer),
  }
}

/** A multi-select field. */
export function multiSelect({ items, minItems, maxItems }: Keywords): FieldType {
  const options = toOptions(isObject(items) ? items : {})
  return {
    rule: `choose ${amount(minItems, maxItems) || 'any'}, separated by commas`,
    options,
    ...(minItems ? {} : { blank: [] }),
    parse(line) {
      const words = split(options, line)
      const unknown = words.find((word) => find(options, word) === undefined)
      if (unknown === undefined) return { answer: [...new Set(words.map((word) => find(options, word)!))] }
      return words.length === 1 && unknown.toLowerCase() === 'none' ? { answer: [] } : notListed(unknown)
    },
    show: (answer) => (answer as string[]).map((item) => titleOf(options, item)).join(', ') || 'none',
  }
}

/** The title of an option, and its value if that differs. */
export function optionText({ value, title }: Option): string {
  const [label, sent] = [safeLine(title, 100), safeLine(value, 100)]
  return label === sent ? label || 'empty' : `${label} (${sent || 'empty'})`
}

/** Reads the options in the formats of all revisions: `enum`, `enumNames`, `oneOf`, `anyOf`. */
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

/** Finds an option by its number, value or title. Numbers take precedence, because the list shows them. */
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

/** Splits at commas, and at spaces that are not part of an option. */
function split(options: readonly Option[], line: string): string[] {
  const parts = find(options, line) === undefined ? line.split(',').map((part) => part.trim()) : [line]
  const words = parts.flatMap((part) => (find(options, part) === undefined ? part.split(/\s+/) : [part]))
  return words.filter((word) => word !== '')
}

function notListed(word: string): { problem: string } {
  return { problem: `${safeLine(word, 50)} is not in the list.` }
}

function titleOf(options: readonly Option[], value: unknown): string {
  const option = options.find((option) => option.value === value)
  return option ? optionText(option) : safeLine(String(value))
}
