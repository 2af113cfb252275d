import { define, isObject, type JsonObject } from '../util/objects.ts'
import { shorten } from './findings/visible.ts'

/** Returns a definition as pins store it: with long texts shortened. The digest of a pin covers the complete texts. */
export function toStored(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length <= maxTextChars ? value : `${shorten(value, maxTextChars)} (${value.length} characters)`
  }
  if (depth > maxDepth) return '…'
  if (Array.isArray(value)) return value.map((item) => toStored(item, depth + 1))
  if (!isObject(value)) return value
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) define(copy, key, toStored(value[key], depth + 1))
  }
  return copy
}

/** Returns the name of a definition as pins store it. */
export function toStoredName(name: string): string {
  return name.length <= maxNameChars ? name : `${shorten(name, maxNameChars)} (${name.length} characters)`
}

const maxTextChars = 4_000
const maxNameChars = 256
const maxDepth = 64
