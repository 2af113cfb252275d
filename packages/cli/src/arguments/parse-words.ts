import { readFileSync } from 'node:fs'
import { usageError } from '../exit-codes.ts'
import { excerpt, parseJson, parseObject } from './argument.ts'
import { type ArgumentSchema, type Arguments, assembleArguments, type GivenArgument } from './assemble.ts'

/**
 * Parses arguments that the shell has split into words: `key=value` and `key:=json`.
 *
 * @param schema Values get the types that the schema says. Default: all are texts.
 * @param before Arguments of `--args`, which the words add to and replace.
 * @throws CliError if a word is not an argument
 */
export function parseArgumentWords(
  words: readonly string[],
  schema: ArgumentSchema = {},
  before: Arguments = {},
): Arguments {
  return assembleArguments(words.map(parseWord), schema, before)
}

/** Arguments that are texts only, as those of prompts and templates. */
export function parseTextWords(words: readonly string[]): Record<string, string> {
  const entries = words.map((word) => {
    const { key, text, json } = parseWord(word)
    return [key, text ?? (typeof json === 'string' ? json : JSON.stringify(json))] as const
  })
  const names = entries.map(([key]) => key)
  const twice = names.find((key, index) => names.indexOf(key) !== index)
  if (twice !== undefined) throw usageError(`The argument "${twice}" was given twice.`)
  return Object.fromEntries(entries)
}

/** Reads the value of `--args`: a JSON object, or `-` for stdin. */
export function readArgs(value: string | undefined): Arguments {
  if (value === undefined) return {}
  return parseObject((value === '-' ? readFileSync(0, 'utf8') : value).trim())
}

function parseWord(word: string): GivenArgument {
  const at = word.indexOf('=')
  const isJson = at > 0 && word[at - 1] === ':'
  const key = word.slice(0, isJson ? at - 1 : at)
  if (at === -1 || key === '') {
    throw usageError(`Not an argument: ${excerpt(word)}`, "Write key=value, or key:=json: 'tags:=[1, 2]'.")
  }
  const value = word.slice(at + 1)
  return isJson ? { key, json: parseJson(value, key) } : { key, text: value }
}
