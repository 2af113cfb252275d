import { isObject, type JsonObject } from 'tenon/internal'
/** Returns an own member of an object. Names such as `__proto__` and `constructor` never reach the prototype. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Returns the value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** Returns the value if it is a list, otherwise an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the value if it is a string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the strings of a list. */
export function stringsOf(value: unknown): string[] {
  return listOf(value).filter((item) => typeof item === 'string')
}

/** A copy whose keys are sorted at every level, so that equal values have equal JSON. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  // `Object.fromEntries` creates own members for every name, also for `__proto__`.
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}

/** JSON with sorted keys. Equal values have equal texts. */
export function toStableJson(value: unknown): string {
  return JSON.stringify(sortKeys(value)) ?? 'null'
}
