import { isObject } from '../util/objects.ts'
import { type DefinitionItem, type Definitions, knownItemDigests, listItems, toCanonicalJson } from './definitions.ts'
import { shorten, toVisible } from './findings/visible.ts'
import type { PinnedDefinitions, PinnedItem } from './pins.ts'
import { toStored, toStoredName } from './stored-definition.ts'

/** A difference between the definitions of a server that were approved, and those that it sends now. */
export interface DefinitionChange {
  readonly kind: 'added' | 'removed' | 'changed'
  /** What it is about, such as `tool read_file` or `instructions`. */
  readonly what: string
  /** The differences of a changed definition, one per member: `description: "Reads a file" -> "Reads any file"`. */
  readonly details: readonly string[]
}

/**
 * Lists what changed since the user approved the definitions of a server. A renamed tool is removed and added, with a line that
 * says so.
 *
 * @param before Undefined at first use; then everything was added.
 */
export function diffDefinitions(before: PinnedDefinitions | undefined, now: Definitions): DefinitionChange[] {
  const pinned = groupByKey(before?.items ?? [])
  const added: DefinitionItem[] = []
  const changes: DefinitionChange[] = []
  const digests = knownItemDigests(now)
  for (const [index, item] of listItems(now).entries()) {
    const match = pinned.get(keyOf(item))?.shift()
    if (!match) added.push(item)
    else changes.push(...changeOf(match, item, digests?.[index]))
  }
  const removed = [...pinned.values()].flat()
  return [
    ...changes,
    ...removed.map((item) => ({ kind: 'removed', what: nameOf(item), details: renamedTo(item, added) }) as const),
    ...added.map((item) => toAdded(item, removed)),
  ]
}

/** A hostile server could send thousands of lines to hide the one that matters, so the rest is counted. */
const maxLines = 60
const maxValueChars = 240
const maxAddedTextChars = 1_000
const maxDiffDepth = 24

function changeOf(pinned: PinnedItem, item: DefinitionItem, digest: string | undefined): DefinitionChange[] {
  if (digest === pinned.digest) return []
  const lines = new Lines()
  if (pinned.stored !== undefined) compare(pinned.stored, toStored(item.value), '', lines)
  // Long texts are stored without their middle, which only the digest covers.
  const mayDiffer = digest !== undefined || pinned.stored === undefined
  if (lines.isEmpty && mayDiffer) lines.add('changed in a part that is too long to show')
  return lines.isEmpty ? [] : [{ kind: 'changed', what: nameOf(item), details: lines.take() }]
}

function toAdded(item: DefinitionItem, removed: readonly PinnedItem[]): DefinitionChange {
  const lines = new Lines()
  const origin = removed.find((other) => isRename(other, item))
  if (origin) lines.add(`the same definition as ${nameOf(origin)}, which was removed: it was renamed`)
  describe(toStored(item.value), lines)
  return { kind: 'added', what: nameOf(item), details: lines.take() }
}

function renamedTo(item: PinnedItem, added: readonly DefinitionItem[]): string[] {
  const target = added.find((other) => isRename(item, other))
  return target ? [`${nameOf(target)} has the same definition: it was renamed`] : []
}

function isRename(before: PinnedItem, { kind, value }: DefinitionItem): boolean {
  if (before.kind !== kind || !isObject(before.stored)) return false
  const after = toStored(value)
  if (!isObject(after)) return false
  return toCanonicalJson({ ...before.stored, name: '' }) === toCanonicalJson({ ...after, name: '' })
}

/** One line per member; the properties of the input schema have a line each. */
function describe(value: unknown, lines: Lines): void {
  if (!isObject(value)) return lines.add(show(value, maxAddedTextChars))
  for (const [member, content] of Object.entries(value)) {
    if (member === 'name') continue
    const properties = member === 'inputSchema' && isObject(content) ? content.properties : undefined
    if (!isObject(properties)) lines.add(`${showKey(member)}: ${show(content, maxAddedTextChars)}`)
    else
      for (const key of Object.keys(properties))
        lines.add(`inputSchema.properties${step(key)}: ${show(properties[key])}`)
  }
}

/** Adds a line for each difference, with its path. */
function compare(before: unknown, after: unknown, path: string, lines: Lines, depth = 0): void {
  if (isObject(before) && isObject(after) && depth < maxDiffDepth) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(own(before, key), own(after, key), path + (path ? step(key) : showKey(key)), lines, depth + 1)
    }
    return
  }
  if (isListOfObjects(before) && isListOfObjects(after) && depth < maxDiffDepth) {
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      compare(before[index], after[index], `${path}[${index}]`, lines, depth + 1)
    }
    return
  }
  const change = changeOfValue(before, after)
  if (change !== undefined) lines.add(path ? `${path}: ${change}` : change)
}

function changeOfValue(before: unknown, after: unknown): string | undefined {
  if (before === after) return undefined
  if (before === undefined) return `added ${show(after)}`
  if (after === undefined) return `removed ${show(before)}`
  if (typeof before === 'string' && typeof after === 'string') return changeOfText(before, after)
  if (toCanonicalJson(before) === toCanonicalJson(after)) return undefined
  return changeOfText(toCanonicalJson(before), toCanonicalJson(after), '')
}

/** Shows both texts, cut to the part that differs and some characters around it. */
function changeOfText(before: string, after: string, quote = '"'): string {
  const start = commonStart(before, after)
  const end = commonEnd(before, after, start)
  const cut = (text: string) => quote + showPart(text, start, text.length - end) + quote
  return `${cut(before)} -> ${cut(after)}`
}

const contextChars = 40

function showPart(text: string, start: number, end: number): string {
  const from = start <= contextChars + 1 ? 0 : start - contextChars
  const to = text.length - end <= contextChars + 1 ? text.length : end + contextChars
  const part = shorten(text.slice(start, end), maxValueChars)
  const whole = `${from > 0 ? '…' : ''}${text.slice(from, start)}${part}${text.slice(end, to)}${to < text.length ? '…' : ''}`
  return toVisible(whole)
}

function commonStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

function commonEnd(a: string, b: string, start: number): number {
  const limit = Math.min(a.length, b.length) - start
  let length = 0
  while (length < limit && a[a.length - 1 - length] === b[b.length - 1 - length]) length++
  return length
}

function show(value: unknown, maxChars = maxValueChars): string {
  if (typeof value === 'string') return `"${shorten(toVisible(value), maxChars)}"`
  return shorten(toVisible(toCanonicalJson(value)), maxChars)
}

function step(key: string): string {
  return /^[\w$-]+$/.test(key) ? `.${key}` : `[${showKey(key)}]`
}

function showKey(key: string): string {
  return /^[\w$-]+$/.test(key) ? shorten(key, 80) : `"${shorten(toVisible(key), 80)}"`
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

function isListOfObjects(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}

function nameOf({ kind, name }: { kind: string; name: string }): string {
  return name === '' ? kind : `${kind} ${shorten(toVisible(name), 100)}`
}

function keyOf({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${toStoredName(name)}`
}

function groupByKey(items: readonly PinnedItem[]): Map<string, PinnedItem[]> {
  const groups = new Map<string, PinnedItem[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

class Lines {
  readonly #lines: string[] = []
  #left = 0

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(line: string): void {
    if (this.#lines.length < maxLines) this.#lines.push(line)
    else this.#left++
  }

  take(): string[] {
    return this.#left > 0 ? [...this.#lines, `and ${this.#left} more differences`] : this.#lines
  }
}
