import { McpError } from '../errors.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { Prompt } from '../protocol/prompts.ts'
import type { Resource, ResourceTemplateInfo } from '../protocol/resources.ts'
import type { Tool } from '../protocol/tools.ts'
import { toBase64Url } from '../util/base64url.ts'
import { isObject } from '../util/objects.ts'

/** Everything that a server says about itself and about what it offers. All of it is untrusted. */
export interface Definitions {
  /** The name and version that the server gives itself; undefined if it gives none. */
  readonly identity?: Pick<Implementation, 'name' | 'version'> | undefined
  readonly instructions?: string | undefined
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
  readonly resourceTemplates: readonly ResourceTemplateInfo[]
  /** Lists of resources change all the time, so they are inspected but not pinned. */
  readonly resources: readonly Resource[]
}

/** One definition of a server: what it is, its name and its value. */
export interface DefinitionItem {
  readonly kind: 'server' | 'instructions' | 'tool' | 'prompt' | 'resource template'
  /** Unique within a kind, unless the server uses a name twice. Empty for `server` and `instructions`. */
  readonly name: string
  readonly value: unknown
}

/** Lists the definitions that are pinned: everything but the list of resources. */
export function listItems({
  identity,
  instructions,
  tools,
  prompts,
  resourceTemplates,
}: Definitions): DefinitionItem[] {
  return [
    ...(identity ? [{ kind: 'server', name: '', value: identityOf(identity) } as const] : []),
    ...(instructions !== undefined ? [{ kind: 'instructions', name: '', value: instructions } as const] : []),
    ...tools.map((value) => ({ kind: 'tool', name: value.name, value }) as const),
    ...prompts.map((value) => ({ kind: 'prompt', name: value.name, value }) as const),
    ...resourceTemplates.map((value) => ({ kind: 'resource template', name: value.uriTemplate, value }) as const),
  ]
}

function identityOf({ name, version }: Pick<Implementation, 'name' | 'version'>) {
  return { name, version }
}

/**
 * Computes the SHA-256 of the canonical JSON of a value, in base64url. Equal values have equal digests, whatever the order of
 * their keys. Digests of objects are cached by identity, so do not modify an object after its digest was computed.
 *
 * @example
 * await digestOf({ b: 1, a: 2 }) === await digestOf({ a: 2, b: 1 }) // true
 */
export async function digestOf(value: unknown): Promise<string> {
  const known = knownDigest(value)
  if (known !== undefined) return known
  const bytes = new TextEncoder().encode(toCanonicalJson(value))
  const digest = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
  if (typeof value === 'object' && value !== null) digests.set(value, digest)
  return digest
}

/** Computes the digest of a tool. It covers every member: names, texts, schemas, annotations, icons, `execution` and `_meta`. */
export function toolDigest(tool: Tool): Promise<string> {
  return digestOf(tool)
}

/** Returns the digest of an object if `digestOf` computed it before. Use it where waiting is too expensive. */
export function knownDigest(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? digests.get(value) : undefined
}

const digests = new WeakMap<object, string>()

/** Computes the digests of `listItems(definitions)`, in the same order. */
export async function digestItems(definitions: Definitions): Promise<readonly string[]> {
  const known = knownItemDigests(definitions)
  if (known) return known
  const computed = await Promise.all(listItems(definitions).map(({ value }) => digestOf(value)))
  itemDigests.set(definitions, computed)
  return computed
}

/** Returns the result of `digestItems` if it was computed before. */
export function knownItemDigests(definitions: Definitions): readonly string[] | undefined {
  return itemDigests.get(definitions)
}

const itemDigests = new WeakMap<Definitions, readonly string[]>()

/**
 * Writes a value as JSON with sorted keys and no white space (RFC 8785). Unicode stays as it is: normalization would let two
 * different texts have the same digest.
 */
export function toCanonicalJson(value: unknown): string {
  return write(value, 0)
}

/** The parser accepts no deeper messages, so only values from elsewhere can exceed it. */
const maxDepth = 1_000

function write(value: unknown, depth: number): string {
  if (depth > maxDepth) {
    throw new McpError('invalid-argument', `Value too deep: it has more than ${maxDepth} levels. Flatten it.`)
  }
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${write(value[key], depth + 1)}`)
  return `{${members.join(',')}}`
}
