import { isObject, type JsonObject } from '../util/objects.ts'

/** The types of JSON Schema. The kind of a value is its index here, or `OTHER` if JSON cannot represent the value. */
export const KINDS = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']
export const OTHER = 7
/** One bit for each type. A value that JSON cannot represent has none, such as the Infinity that `1e400` becomes. */
export const ALL_TYPES = 2 ** OTHER - 1

export function typeIndexOf(value: unknown): number {
  if (typeof value === 'string') return 0
  if (typeof value === 'number') return Number.isInteger(value) ? 2 : Number.isFinite(value) ? 1 : OTHER
  if (typeof value === 'boolean') return 3
  if (value === null) return 4
  return typeof value === 'object' ? (Array.isArray(value) ? 5 : 6) : OTHER
}

/** Whether an object has an own property; `undefined` counts as absent, as in `JSON.stringify`. */
export function has(object: JsonObject, key: string): boolean {
  return object[key] !== undefined && Object.hasOwn(object, key)
}

export function keysOf(object: JsonObject): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined)
}

/** Returns a value as short JSON text, for messages. */
export function show(value: unknown): string {
  const text = (isDeeper(value, MAX_SHOWN_DEPTH) ? '…' : JSON.stringify(value)) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/** The limits of the work on one value. */
interface Bounds {
  /** Takes steps from the budget. Returns true if the budget is used up. */
  spend(steps: number): boolean
  /** Whether a value this many levels below the current one can still be checked. */
  reaches(levels: number): boolean
}

/** Returns JSON text with sorted keys, equal for equal values. */
export function toCanonical(value: unknown, bounds: Bounds, depth = 1): string {
  if (!bounds.reaches(depth) || bounds.spend(1)) return ''
  if (Array.isArray(value)) return `[${value.map((item) => toCanonical(item, bounds, depth + 1))}]`
  if (isObject(value)) {
    const keys = keysOf(value)
    if (bounds.spend(keys.length * Math.ceil(Math.log2(keys.length + 1)))) return ''
    keys.sort()
    return `{${keys.map((key) => `${toText(key, bounds)}:${toCanonical(value[key], bounds, depth + 1)}`)}}`
  }
  return typeof value === 'string' ? toText(value, bounds) : String(value)
}

function toText(text: string, bounds: Bounds): string {
  return bounds.spend(text.length >> 3) ? '' : JSON.stringify(text)
}

/** Deep equality of JSON values. Values that are nested too deeply to compare count as different. */
export function equal(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true
  if (depth > MAX_COMPARED_DEPTH) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index], depth + 1))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = keysOf(a)
  return keys.length === keysOf(b).length && keys.every((key) => has(b, key) && equal(a[key], b[key], depth + 1))
}

/** Whether a value is nested deeper than `limit` levels. */
export function isDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return limit === 0 || Object.values(value).some((item) => isDeeper(item, limit - 1))
}

/** Whether a number is a multiple of another one. Compares decimal digits: 0.3 is a multiple of 0.1. */
export function isMultiple(value: number, step: number, bounds: Pick<Bounds, 'spend'>): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0
  const [digits, exponent] = toDecimal(value)
  const [stepDigits, stepExponent] = toDecimal(step)
  const shift = Math.min(exponent, stepExponent)
  if (bounds.spend(20 + Math.abs(exponent - stepExponent))) return false
  return (digits * 10n ** BigInt(exponent - shift)) % (stepDigits * 10n ** BigInt(stepExponent - shift)) === 0n
}

/** Escapes a key as a JSON Pointer token. */
export function escapeToken(key: string | number): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}

const MAX_SHOWN_DEPTH = 8
const MAX_COMPARED_DEPTH = 1_000

function toDecimal(value: number): [digits: bigint, exponent: number] {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
