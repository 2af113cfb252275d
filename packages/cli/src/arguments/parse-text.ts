import { usageError } from '../exit-codes.ts'
import { argumentHint, excerpt, parseJson, parseObject } from './argument.ts'
import { type ArgumentSchema, type Arguments, assembleArguments, type GivenArgument } from './assemble.ts'

/**
 * Parses arguments as the user types them on one line: `key=value`, `key="with spaces"`, `key:=json`, or one JSON object.
 *
 * @param schema Values get the types that the schema says. Default: all are texts.
 * @throws CliError if they cannot be understood
 */
export function parseArguments(text: string, schema: ArgumentSchema = {}): Arguments {
  const trimmed = text.trim()
  if (trimmed.startsWith('{')) return parseObject(trimmed)
  const given: GivenArgument[] = []
  let at = 0
  while (at < trimmed.length) {
    const [, key, operator] = /^\s*([^\s=:"']+)(:?=)/.exec(trimmed.slice(at, at + maxKeyChars)) ?? []
    if (key === undefined) throw usageError(`Not an argument: ${excerpt(trimmed.slice(at))}`, argumentHint)
    at = trimmed.indexOf('=', at) + 1
    const end = operator === ':=' ? endOfJson(trimmed, at) : endOfText(trimmed, at)
    const raw = trimmed.slice(at, end)
    given.push(operator === ':=' ? { key, json: parseJson(raw, key) } : { key, text: unquote(raw) })
    at = end
    while (/\s/.test(trimmed[at] ?? '')) at++
  }
  return assembleArguments(given, schema)
}

/** Splits the first word from the rest. */
export function splitWord(text: string): readonly [word: string, rest: string] {
  const trimmed = text.trim()
  const end = trimmed.search(/\s/)
  return end === -1 ? [trimmed, ''] : [trimmed.slice(0, end), trimmed.slice(end).trim()]
}

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
