import { usageError } from '../exit-codes.ts'
import type { Arguments } from './assemble.ts'

/** How arguments are written. */
export const argumentHint = 'Write key=value, key="with spaces" or key:=json.'

/** Parses the JSON of one argument. */
export function parseJson(raw: string, key: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    throw usageError(`The value of "${key}" is not JSON: ${excerpt(raw)}`, 'For a text, write key=value.')
  }
}

/** Parses all arguments as one JSON object. */
export function parseObject(raw: string): Arguments {
  const value = parseJson(raw, 'arguments')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Arguments
  throw usageError('Arguments must be a JSON object.', argumentHint)
}

/** The beginning of a text, for errors. */
export function excerpt(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}
