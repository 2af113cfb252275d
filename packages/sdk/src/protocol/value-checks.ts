import { isRequestId } from '../jsonrpc/message.ts'
import { isObject } from '../util/objects.ts'

// Each check returns what is wrong with a value, or undefined. The text names the path and the type, never the value.

export function id(value: unknown, path: string): string | undefined {
  return isRequestId(value) ? undefined : mustBe(path, 'a string or a safe integer', value)
}

export function string(value: unknown, path: string): string | undefined {
  return typeof value === 'string' ? undefined : mustBe(path, 'a string', value)
}

export function optionalString(value: unknown, path: string): string | undefined {
  return value === undefined ? undefined : string(value, path)
}

/** JSON text such as 1e999 parses to Infinity. */
export function number(value: unknown, path: string): string | undefined {
  return Number.isFinite(value) ? undefined : mustBe(path, 'a finite number', value)
}

export function optionalNumber(value: unknown, path: string): string | undefined {
  return value === undefined ? undefined : number(value, path)
}

export function nullableNumber(value: unknown, path: string): string | undefined {
  return value === null || Number.isFinite(value) ? undefined : mustBe(path, 'a finite number or null', value)
}

export function optionalBoolean(value: unknown, path: string): string | undefined {
  return value === undefined || typeof value === 'boolean' ? undefined : mustBe(path, 'a boolean', value)
}

export function object(value: unknown, path: string): string | undefined {
  return isObject(value) ? undefined : mustBe(path, 'an object', value)
}

export function optionalObject(value: unknown, path: string): string | undefined {
  return value === undefined ? undefined : object(value, path)
}

/** An object whose values are strings. */
export function optionalStrings(value: unknown, path: string): string | undefined {
  if (value === undefined) return undefined
  if (!isObject(value)) return mustBe(path, 'an object', value)
  for (const key in value) {
    if (typeof value[key] !== 'string') return `${path} must have only strings as values, got ${typeName(value[key])}`
  }
  return undefined
}

export function optionalList(value: unknown, path: string): string | undefined {
  return value === undefined || Array.isArray(value) ? undefined : mustBe(path, 'an array', value)
}

export function optionalStringList(value: unknown, path: string): string | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return mustBe(path, 'an array of strings', value)
  for (let at = 0; at < value.length; at++) {
    if (typeof value[at] !== 'string') return mustBe(`${path}[${at}]`, 'a string', value[at])
  }
  return undefined
}

export function mustBe(path: string, wanted: string, value: unknown): string {
  return `${path} must be ${wanted}, got ${typeName(value)}`
}

/** For fields that allow certain strings only, for which "got string" would be confusing. */
export function mustBeOneOf(path: string, wanted: string, value: unknown): string {
  return `${path} must be ${wanted}, got ${typeof value === 'string' ? 'another string' : typeName(value)}`
}

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
