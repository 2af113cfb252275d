import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { isSecretName } from '../../util/secret-names.ts'
import type { Redact } from './audit.ts'
import { toBytes } from './digest.ts'

/** The size limit of the details, which keeps an entry below 16 KiB, so that no server can fill the disk with one call. */
export const maxDetailBytes = 13 * 1024

/** Replaces the value of a member with a secret name. */
export const redacted = '[redacted]'

/**
 * Returns the text of the details: without secrets, with sorted members, and at most `maxDetailBytes` long. Long texts are
 * shortened and followed by their length.
 * @param redact Runs on the complete details first, because half a secret is not recognized.
 */
export function toDetailText(details: unknown, redact: Redact | undefined): string {
  const clean = redactAll(details, redact)
  try {
    for (const limits of attempts) {
      const text = JSON.stringify(new Copier(limits).copy(clean, 0))
      if (toBytes(text).byteLength <= maxDetailBytes) return text
    }
    return JSON.stringify({ omitted: 'The details are too large.' })
  } catch {
    // One record that cannot be read must not keep all later ones from being written.
    return JSON.stringify({ omitted: 'The details are not JSON values.' })
  }
}

/** If the redaction fails, nothing unredacted may be written. */
function redactAll(details: unknown, redact: Redact | undefined): unknown {
  try {
    const clean = redact ? redact(details) : details
    return isObject(clean) ? clean : { value: clean }
  } catch {
    return { omitted: 'The redaction failed.' }
  }
}

interface Limits {
  readonly maxTextLength: number
  readonly maxItems: number
}

/** The second and third are used if the details are still too large. */
const attempts: readonly Limits[] = [
  { maxTextLength: 4_000, maxItems: 500 },
  { maxTextLength: 400, maxItems: 60 },
  { maxTextLength: 60, maxItems: 12 },
]

const maxDepth = 24
/** Bounds the work for values that are wide on every level, or that contain themselves. */
const maxNodes = 5_000

class Copier {
  readonly #limits: Limits
  #nodes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return shorten(value, this.#limits.maxTextLength)
    if (typeof value === 'bigint') return String(value)
    // A function named `toJSON` would decide what is written.
    if (typeof value === 'function' || typeof value === 'symbol') return undefined
    if (typeof value !== 'object' || value === null) return value
    if (depth > maxDepth || ++this.#nodes > maxNodes) return '[omitted: the value is too large]'
    return Array.isArray(value) ? this.#copyList(value, depth) : this.#copyMembers(value as JsonObject, depth)
  }

  #copyList(list: readonly unknown[], depth: number): unknown[] {
    const { maxItems } = this.#limits
    const items = list.slice(0, maxItems).map((item) => this.copy(item, depth + 1))
    return list.length > maxItems ? [...items, `[${list.length - maxItems} more items]`] : items
  }

  #copyMembers(source: JsonObject, depth: number): JsonObject {
    const { maxItems } = this.#limits
    const names = Object.keys(source).sort()
    const target: JsonObject = {}
    for (const name of names.slice(0, maxItems)) {
      const value = isSecretMember(source, name) ? redacted : this.copy(source[name], depth + 1)
      define(target, shorten(name, 200), value)
    }
    if (names.length > maxItems) define(target, '…', `[${names.length - maxItems} more members]`)
    return target
  }
}

/** Headers and variables are often lists of `{ name, value }`. */
function isSecretMember(source: JsonObject, name: string): boolean {
  const value = source[name]
  if (value === null || value === undefined || typeof value === 'boolean') return false
  if (isSecretName(name)) return true
  const label = Object.hasOwn(source, 'name') ? source.name : Object.hasOwn(source, 'key') ? source.key : undefined
  return name === 'value' && typeof label === 'string' && isSecretName(label)
}

function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const kept = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length} characters)`
}
