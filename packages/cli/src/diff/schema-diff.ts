import { escapePointer, isObject, type JsonObject, resolveLocalRef } from 'tenon/internal'
import { listOf, objectOf, own, stringsOf, toStableJson } from '../contract/json.ts'
import { compareBounds, compareRestrictions, compareTexts, compareTypes, compareValues } from './keywords.ts'
import { type SchemaChange, show } from './schema-change.ts'

/** Compares what two schemas accept. References within each schema are followed. */
export function diffSchemas(before: unknown, after: unknown): SchemaChange[] {
  if (sameText(before, after)) return []
  const diff = new SchemaDiff(before, after)
  const changes = diff.compare(before, after, '', 0)
  if (!diff.isIncomplete) return changes
  return [...changes, { direction: 'other', path: '', message: 'changed, and too large to be compared completely' }]
}

/** References can make a small schema stand for a huge one, so the comparison is limited. */
const maxDepth = 64
const maxSteps = 100_000
const maxChangesPerRef = 100

/** A comparison of two documents. */
class SchemaDiff {
  readonly #before: unknown
  readonly #after: unknown
  /** Pairs of references that are being compared, because schemas can refer to themselves. */
  readonly #open = new Set<string>()
  /** The changes of pairs that were compared before, with paths relative to the reference. */
  readonly #known = new Map<string, readonly SchemaChange[]>()
  #steps = 0
  /** True if a limit was reached. */
  isIncomplete = false

  constructor(before: unknown, after: unknown) {
    this.#before = before
    this.#after = after
  }

  compare(before: unknown, after: unknown, path: string, depth: number): SchemaChange[] {
    if (before === false || after === false) return compareNever(before, after, path)
    const old = objectOf(before)
    const now = objectOf(after)
    if (depth > maxDepth || ++this.#steps > maxSteps) {
      this.isIncomplete = true
      return []
    }
    if (typeof old.$ref === 'string' || typeof now.$ref === 'string') return this.#followRefs(old, now, path, depth)
    const joined = this.#compareWithUnion(old, now, path, depth)
    if (joined) return [joined, ...compareTexts(old, now, path)]
    return [
      ...compareTypes(old, now, path),
      ...compareValues(old, now, path),
      ...compareBounds(old, now, path),
      ...compareRestrictions(old, now, path),
      ...this.#compareProperties(old, now, path, depth),
      ...this.#compareItems(old, now, path, depth),
      ...this.#compareUnion('anyOf', old, now, path, depth),
      ...this.#compareUnion('oneOf', old, now, path, depth),
      ...this.#compareAllOf(old, now, path, depth),
      ...compareTexts(old, now, path),
    ]
  }

  #followRefs(old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange[] {
    const key = `${toStableJson(old)} ${toStableJson(now)}`
    if (this.#open.has(key)) return []
    const known = this.#known.get(key) ?? this.#compareTargets(old, now, key, depth)
    this.#known.set(key, known)
    return known.map((change) => ({ ...change, path: path + change.path }))
  }

  #compareTargets(old: JsonObject, now: JsonObject, key: string, depth: number): SchemaChange[] {
    const before = resolve(this.#before, old)
    const after = resolve(this.#after, now)
    if (before === undefined || after === undefined) {
      const message = `$ref: ${show(old.$ref)} -> ${show(now.$ref)}`
      return sameText(old, now) ? [] : [{ direction: 'other', path: '/$ref', message }]
    }
    this.#open.add(key)
    try {
      return this.compare(before, after, '', depth + 1).slice(0, maxChangesPerRef)
    } finally {
      this.#open.delete(key)
    }
  }

  #compareProperties(old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange[] {
    const before = objectOf(old.properties)
    const after = objectOf(now.properties)
    const changes: SchemaChange[] = []
    const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key))
    for (const key of Object.keys(before)) {
      const at = `${path}/properties/${escapePointer(key)}`
      if (!Object.hasOwn(after, key)) changes.push(removal(key, before, after, added, at))
      else changes.push(...this.compare(own(before, key), own(after, key), at, depth + 1))
    }
    for (const key of added) {
      const isRequired = stringsOf(now.required).includes(key)
      const at = `${path}/properties/${escapePointer(key)}`
      const message = isRequired ? `added, and required: ${key}` : `added: ${key}`
      changes.push({ direction: isRequired ? 'narrower' : 'addition', path: at, message })
    }
    return [
      ...changes,
      ...compareRequired(old, now, path),
      ...this.#compareAdditional('additionalProperties', old, now, path, depth),
    ]
  }

  /** Schemas for everything that is not listed. Absent is the same as `true`. */
  #compareAdditional(keyword: string, old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange[] {
    const before = old[keyword] ?? true
    const after = now[keyword] ?? true
    if (sameText(before, after)) return []
    const others = keyword === 'items' ? 'items' : 'other properties'
    // New members do no harm to callers, who may leave them out, or to readers, who may ignore them.
    if (before === false)
      return [{ direction: 'addition', path: `${path}/${keyword}`, message: `${others} are now accepted` }]
    if (after === false)
      return [{ direction: 'narrower', path: `${path}/${keyword}`, message: `${others} are no longer accepted` }]
    return this.compare(before, after, `${path}/${keyword}`, depth + 1)
  }

  #compareItems(old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange[] {
    if (sameText(old.prefixItems, now.prefixItems)) return this.#compareAdditional('items', old, now, path, depth)
    const before = listOf(old.prefixItems)
    const after = listOf(now.prefixItems)
    const count = Math.max(before.length, after.length)
    return Array.from({ length: count }, (_, index) =>
      this.compare(before[index] ?? old.items, after[index] ?? now.items, `${path}/prefixItems/${index}`, depth + 1),
    ).flat()
  }

  #compareUnion(keyword: 'anyOf' | 'oneOf', old: JsonObject, now: JsonObject, path: string, depth: number) {
    const before = old[keyword]
    const after = now[keyword]
    const at = `${path}/${keyword}`
    if (Array.isArray(before) && Array.isArray(after)) {
      const removed = withoutSame(before, after)
      const added = withoutSame(after, before)
      return this.#pairBranches(removed, added, at, depth)
    }
    if (Array.isArray(after)) return [{ direction: 'narrower' as const, path: at, message: 'limited to alternatives' }]
    return Array.isArray(before) ? [{ direction: 'wider' as const, path: at, message: 'alternatives removed' }] : []
  }

  /** As many alternatives as before: they were changed. Otherwise some were added or removed. */
  #pairBranches(removed: readonly unknown[], added: readonly unknown[], path: string, depth: number): SchemaChange[] {
    if (removed.length === added.length)
      return removed.flatMap((branch, index) => this.compare(branch, added[index], `${path}/${index}`, depth + 1))
    return [
      ...removed.map((branch): SchemaChange => ({ direction: 'narrower', path, message: `removed: ${show(branch)}` })),
      ...added.map((branch): SchemaChange => ({ direction: 'wider', path, message: `added: ${show(branch)}` })),
    ]
  }

  /** A schema that became one alternative of several accepts more; one that was the only one to stay accepts less. */
  #compareWithUnion(old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange | undefined {
    const before = unionOf(old)
    const after = unionOf(now)
    if (after && !before && this.#isWithin(old, after, depth))
      return { direction: 'wider', path, message: `alternatives added: ${show(after)}` }
    if (before && !after && this.#isWithin(now, before, depth))
      return { direction: 'narrower', path, message: `alternatives removed: ${show(before)}` }
    return undefined
  }

  /** Whether everything that a schema accepts is accepted by one of several others. */
  #isWithin(schema: JsonObject, branches: readonly unknown[], depth: number): boolean {
    return branches.some((branch) =>
      this.compare(schema, branch, '', depth + 1).every(
        ({ direction }) => direction !== 'narrower' && direction !== 'other',
      ),
    )
  }

  #compareAllOf(old: JsonObject, now: JsonObject, path: string, depth: number): SchemaChange[] {
    const removed = withoutSame(listOf(old.allOf), listOf(now.allOf))
    const added = withoutSame(listOf(now.allOf), listOf(old.allOf))
    const at = `${path}/allOf`
    if (removed.length === added.length) return this.#pairBranches(removed, added, at, depth)
    return [
      ...removed.map((part): SchemaChange => ({ direction: 'wider', path: at, message: `removed: ${show(part)}` })),
      ...added.map((part): SchemaChange => ({ direction: 'narrower', path: at, message: `added: ${show(part)}` })),
    ]
  }
}

/** The alternatives of a schema that consists of nothing else. */
function unionOf(schema: JsonObject): readonly unknown[] | undefined {
  const { anyOf, oneOf, type, properties } = schema
  const union = anyOf ?? oneOf
  return Array.isArray(union) && type === undefined && properties === undefined ? union : undefined
}

function compareNever(before: unknown, after: unknown, path: string): SchemaChange[] {
  if (before === after) return []
  const message = after === false ? 'no longer accepted' : 'now accepted'
  return [{ direction: after === false ? 'narrower' : 'wider', path, message }]
}

/** A removed property breaks both sides: callers that send it, and readers that use it. */
function removal(
  key: string,
  before: JsonObject,
  after: JsonObject,
  added: readonly string[],
  path: string,
): SchemaChange {
  const renamed = added.find((other) => isObject(own(before, key)) && sameText(own(before, key), own(after, other)))
  const message = renamed === undefined ? `removed: ${key}` : `renamed: ${key} -> ${renamed}`
  return { direction: 'other', path, message }
}

function compareRequired(old: JsonObject, now: JsonObject, path: string): SchemaChange[] {
  const before = stringsOf(old.required)
  const after = stringsOf(now.required)
  // What was added or removed altogether is reported as that.
  const isKept = (key: string) =>
    Object.hasOwn(objectOf(old.properties), key) === Object.hasOwn(objectOf(now.properties), key)
  const added = after.filter((key) => !before.includes(key) && isKept(key))
  const removed = before.filter((key) => !after.includes(key) && isKept(key))
  const at = `${path}/required`
  return [
    ...added.map((key): SchemaChange => ({ direction: 'narrower', path: at, message: `now required: ${key}` })),
    ...removed.map((key): SchemaChange => ({ direction: 'wider', path: at, message: `no longer required: ${key}` })),
  ]
}

function resolve(root: unknown, schema: JsonObject): unknown {
  return typeof schema.$ref === 'string' ? resolveLocalRef(root, schema.$ref) : schema
}

function withoutSame(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const known = new Set(other.map(toStableJson))
  return list.filter((item) => !known.has(toStableJson(item)))
}

function sameText(before: unknown, after: unknown): boolean {
  return toStableJson(before) === toStableJson(after)
}
