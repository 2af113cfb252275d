/** The record view of a JSON object; arrays and null are none. */
export type JsonObject = { [key: string]: unknown }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether an object has a property of its own; `undefined` counts as absent, as in `JSON.stringify`. */
export function has(object: JsonObject, key: string): boolean {
  return object[key] !== undefined && Object.hasOwn(object, key)
}

/** The JSON type of a value, or what JavaScript calls it where JSON has no word. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return typeof value
}

/** A value as short JSON text, for messages. */
export function show(value: unknown): string {
  const text = isDeeper(value, MAX_SHOWN_DEPTH) ? kindOf(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

/** Deep equality of JSON values. Values nested too deep to compare count as different. */
export function equal(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true
  if (depth > MAX_COMPARED_DEPTH) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index], depth + 1))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a).filter((key) => a[key] !== undefined)
  return keys.length === countKeys(b) && keys.every((key) => has(b, key) && equal(a[key], b[key], depth + 1))
}

/** Whether a value is nested deeper than `limit` levels. */
export function isDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  return Object.values(value).some((item) => isDeeper(item, limit - 1))
}

export function countKeys(object: JsonObject): number {
  let count = 0
  for (const key in object) if (has(object, key)) count++
  return count
}

/** The length of a string in characters as JSON Schema counts them: code points. */
export function countCodePoints(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    if (isHighSurrogate(text.charCodeAt(index)) && isLowSurrogate(text.charCodeAt(index + 1))) {
      count--
      index++
    }
  }
  return count
}

/** Whether a number is a multiple of another one, by their decimal digits: 0.3 is a multiple of 0.1. */
export function isMultiple(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0
  const [digits, exponent] = toDecimal(value)
  const [stepDigits, stepExponent] = toDecimal(step)
  const shift = Math.min(exponent, stepExponent)
  return (digits * 10n ** BigInt(exponent - shift)) % (stepDigits * 10n ** BigInt(stepExponent - shift)) === 0n
}

/** A key as a JSON Pointer token. */
export function escapeToken(key: string | number): string {
  return typeof key === 'number' ? String(key) : key.replaceAll('~', '~0').replaceAll('/', '~1')
}

const MAX_SHOWN_DEPTH = 8
const MAX_COMPARED_DEPTH = 1_000

function toDecimal(value: number): [digits: bigint, exponent: number] {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
