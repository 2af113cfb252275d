export type JsonObject = Record<string, unknown>

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a copy without some keys. Copies own keys only, so a `__proto__` member stays data. */
export function omit<T extends object>(source: T, keys: readonly string[]): T {
  const copy: JsonObject = {}
  for (const key of Object.keys(source)) {
    if (!keys.includes(key)) define(copy, key, (source as JsonObject)[key])
  }
  return copy as T
}

/** Returns a copy with some keys only, if present. */
export function pick<T extends object>(source: T, keys: readonly string[]): T {
  const copy: JsonObject = {}
  for (const key of keys) {
    if (Object.hasOwn(source, key) && (source as JsonObject)[key] !== undefined) copy[key] = (source as JsonObject)[key]
  }
  return copy as T
}

/** Sets an own property, also for the key `__proto__`, which plain assignment would treat as the prototype. */
export function define(target: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    target[key] = value
  }
}
