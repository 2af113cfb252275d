import { usageError } from '../exit-codes.ts'

/** The part of a JSON Schema that says which type an argument has. */
export interface ArgumentSchema {
  readonly properties?: unknown
}

/** Arguments of a tool, in the order in which they were typed. */
export type Arguments = Record<string, unknown>

/**
 * Parses arguments as the user types them: `key=value`, `key="with spaces"`, `key:=json`, or one JSON object.
 *
 * @param schema Values of `key=value` become numbers and booleans if the schema says so. Default: all are texts.
 * @throws CliError if they cannot be understood
 */
export function parseArguments(text: string, schema: ArgumentSchema = {}): Arguments {
  const trimmed = text.trim()
  if (trimmed.startsWith('{')) return toObject(trimmed)
  const entries: [string, unknown][] = []
  let at = 0
  while (at < trimmed.length) {
    const [, key, operator] = /^\s*([^\s=:"']+)(:?=)/.exec(trimmed.slice(at, at + maxKeyChars)) ?? []
    if (key === undefined) throw usageError(`Not an argument: ${excerpt(trimmed.slice(at))}`, argumentHint)
    at = trimmed.indexOf('=', at) + 1
    const end = operator === ':=' ? endOfJson(trimmed, at) : endOfText(trimmed, at)
    const raw = trimmed.slice(at, end)
    entries.push([key, operator === ':=' ? parseJson(raw, key) : toType(unquote(raw), typeOf(schema, key))])
    at = end
    while (/\s/.test(trimmed[at] ?? '')) at++
  }
  // `Object.fromEntries` creates own members for every name, also for `__proto__`.
  return Object.fromEntries(entries)
}

/** Splits the first word from the rest. */
export function splitWord(text: string): readonly [word: string, rest: string] {
  const trimmed = text.trim()
  const end = trimmed.search(/\s/)
  return end === -1 ? [trimmed, ''] : [trimmed.slice(0, end), trimmed.slice(end).trim()]
}

const argumentHint = 'Write key=value, key="with spaces" or key:=json.'
const maxKeyChars = 1_000

/** JSON ends at the first space outside of texts, arrays and objects. */
function endOfJson(text: string, start: number): number {
  let depth = 0
  let isText = false
  for (let at = start; at < text.length; at++) {
    const char = text[at] ?? ''
    if (isText && char === '\\') at++
    else if (char === '"') isText = !isText
    else if (isText) continue
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    else if (depth <= 0 && /\s/.test(char)) return at
  }
  return text.length
}

function endOfText(text: string, start: number): number {
  const quote = text[start]
  if (quote !== '"' && quote !== "'") {
    const length = text.slice(start).search(/\s/)
    return length === -1 ? text.length : start + length
  }
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at + 1
  }
  throw usageError(`The quotation mark is not closed: ${excerpt(text.slice(start))}`, argumentHint)
}

function unquote(raw: string): string {
  const quote = raw[0]
  if (quote !== '"' && quote !== "'") return raw
  return raw.slice(1, -1).replace(/\\(["'\\])/g, '$1')
}

function parseJson(raw: string, key: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    throw usageError(`The value of "${key}" is not JSON: ${excerpt(raw)}`, 'For a text, write key=value.')
  }
}

function toObject(raw: string): Arguments {
  const value = parseJson(raw, 'arguments')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Arguments
  throw usageError('Arguments must be a JSON object.', argumentHint)
}

function typeOf({ properties }: ArgumentSchema, key: string): unknown {
  if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, key)) return undefined
  const schema: unknown = Reflect.get(properties, key)
  return typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'type') : undefined
}

/** A value that does not fit stays a text, so that the check of the arguments can say what is wrong. */
function toType(text: string, type: unknown): unknown {
  const types = Array.isArray(type) ? type : [type]
  if (types.includes('string')) return text
  const isNumber = types.includes('number') || types.includes('integer')
  if (isNumber && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function excerpt(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}
