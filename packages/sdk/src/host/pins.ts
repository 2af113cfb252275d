import { isObject } from '../util/objects.ts'
import { type DefinitionChange, diffDefinitions } from './definition-diff.ts'
import {
  type DefinitionItem,
  type Definitions,
  digestItems,
  digestOf,
  listItems,
  toCanonicalJson,
} from './definitions.ts'
import { toStored, toStoredName } from './stored-definition.ts'

/** The definitions of a server that the user approved: JSON that a store keeps, enough to show later what changed. */
export interface PinnedDefinitions {
  /** Covers the whole set: a tool that is added, removed or renamed changes it, and so does a new version of the server. */
  readonly digest: string
  readonly items: readonly PinnedItem[]
}

/** One approved definition. */
export interface PinnedItem {
  readonly kind: DefinitionItem['kind']
  readonly name: string
  readonly digest: string
  /** The definition with long texts shortened. Left out if it is large; then a diff says only that it changed. */
  readonly stored?: unknown
}

/** Whether the definitions of a server are those that the user approved. */
export type PinComparison =
  | { readonly outcome: 'same' }
  | { readonly outcome: 'changed'; readonly changes: readonly DefinitionChange[] }

/**
 * Creates the pin to store when the user approves the definitions of a server.
 *
 * @example
 * const pinned = await pinDefinitions(definitions)
 * // after list_changed:
 * const comparison = await comparePins(pinned, newDefinitions)
 * if (comparison.outcome === 'changed') show(comparison.changes)
 */
export async function pinDefinitions(definitions: Definitions): Promise<PinnedDefinitions> {
  const items: PinnedItem[] = []
  let storedChars = 0
  const digests = await digestItems(definitions)
  for (const [index, { kind, name, value }] of listItems(definitions).slice(0, maxItems).entries()) {
    const stored = toStored(value)
    const chars = toCanonicalJson(stored).length
    const fits = chars <= maxItemChars && storedChars + chars <= maxStoredChars
    if (fits) storedChars += chars
    const item = { kind, name: toStoredName(name), digest: digests[index]! }
    items.push(fits ? { ...item, stored } : item)
  }
  return { digest: await definitionsDigest(definitions), items }
}

/**
 * Returns the definitions with the approved version, if the server has the same name and another version. A new version with
 * the same tools, prompts and instructions does nothing that the user did not approve.
 */
export function withPinnedVersion(pinned: PinnedDefinitions, now: Definitions): Definitions {
  const { stored } = pinned.items.find(({ kind }) => kind === 'server') ?? {}
  const { identity } = now
  if (!identity || !isObject(stored) || stored.name !== identity.name) return now
  const { version } = stored
  return typeof version !== 'string' || version === identity.version
    ? now
    : { ...now, identity: { ...identity, version } }
}

/**
 * Whether what both have in common is the same: a server may offer more or less to a client with other capabilities, but what
 * the user approved must not be different.
 */
export async function sharesDefinitions(pinned: PinnedDefinitions, now: Definitions): Promise<boolean> {
  const approved = new Map(pinned.items.map(({ kind, name, digest }) => [`${kind} ${name}`, digest]))
  const digests = await digestItems(now)
  return listItems(now).every(({ kind, name }, index) => {
    const digest = approved.get(`${kind} ${toStoredName(name)}`)
    return digest === undefined || digest === digests[index]
  })
}

/** Compares the definitions that a server sends now with those that the user approved. Without a pin, everything changed. */
export async function comparePins(pinned: PinnedDefinitions | undefined, now: Definitions): Promise<PinComparison> {
  // It also computes the digest of each definition, which the diff needs for texts that were not stored completely.
  const digest = await definitionsDigest(now)
  if (digest === pinned?.digest) return { outcome: 'same' }
  const changes = diffDefinitions(pinned, now)
  return { outcome: 'changed', changes: changes.length > 0 ? changes : [unexplained] }
}

/**
 * Computes the digest of the set of definitions: identity, instructions, tools, prompts and resource templates, in any order.
 * Resources are not part of it, because their list changes all the time.
 */
export async function definitionsDigest(definitions: Definitions): Promise<string> {
  const known = sets.get(definitions)
  if (known !== undefined) return known
  const digests = await digestItems(definitions)
  const entries = listItems(definitions).map(({ kind, name }, index) => toCanonicalJson([kind, name, digests[index]]))
  const digest = await digestOf(entries.sort())
  sets.set(definitions, digest)
  return digest
}

const sets = new WeakMap<Definitions, string>()

const maxItems = 10_000
const maxItemChars = 64 * 1_024
const maxStoredChars = 1_024 * 1_024

/** The approved items may be incomplete, for example after the 10,000th tool. */
const unexplained: DefinitionChange = {
  kind: 'changed',
  what: 'definitions',
  details: ['changed in a part that was too large to store'],
}
