import { McpError } from '../errors.ts'
import type { Prompt } from '../protocol/prompts.ts'
import type { Tool } from '../protocol/tools.ts'
import { sha256 } from '../util/sha256.ts'
import type { Trust } from './action.ts'
import { ToolNames } from './findings/tool-orders.ts'

/** A tool of the catalog. */
export interface HostTool extends Tool {
  /** The name in the catalog: the id of the server, `_`, and the name of the tool. Without the id if its server has `prefix: false`. */
  readonly name: string
  /** The id of the server. */
  readonly server: string
  /** The name that the server gives the tool. */
  readonly originalName: string
  readonly trust: Trust
}

/** A prompt of the catalog. */
export interface HostPrompt extends Prompt {
  /** The name in the catalog: the id of the server, `_`, and the name of the prompt. Without the id if its server has `prefix: false`. */
  readonly name: string
  /** The id of the server. */
  readonly server: string
  /** The name that the server gives the prompt. */
  readonly originalName: string
}

/** The longest name that every model API accepts. */
const maxNameLength = 64

interface Named {
  readonly name: string
}

/** What a server contributes. */
export interface CatalogSource {
  readonly id: string
  readonly trust: Trust
  /** Whether names begin with the id. At most one source has none, so that names stay unique. */
  readonly isPrefixed: boolean
  readonly tools: readonly Tool[]
  readonly prompts: readonly Prompt[]
}

/** A name that several servers claim. */
export interface Collision {
  readonly kind: 'tool' | 'prompt'
  readonly name: string
  /** The ids of the servers. */
  readonly servers: readonly string[]
}

/** The tools and prompts of all servers under unique names. A name stays the same as long as its server stays configured. */
export class Catalog {
  readonly tools: ReadonlyMap<string, HostTool>
  readonly prompts: ReadonlyMap<string, HostPrompt>
  /** Names that several servers claim. Names are made so that there are none; if there are, nobody gets them. */
  readonly collisions: readonly Collision[]
  #toolNames: ToolNames | undefined

  /**
   * @param ids The ids of all configured servers, so that a server that is not available does not change names.
   * @param reserved Names that no tool of a server gets.
   */
  constructor(sources: readonly CatalogSource[], ids: readonly string[], reserved: ReadonlySet<string> = new Set()) {
    const toName = namesWith(ids)
    const toToolName: ToName = (source, own) => {
      const name = toName(source, own)
      return reserved.has(name) ? withSuffix(name, source.id, own) : name
    }
    const collisions: Collision[] = []
    this.collisions = collisions
    this.tools = unique(
      { kind: 'tool', sources, toName: toToolName, collisions },
      ({ tools }) => tools,
      (tool, name, { id, trust }) => ({
        ...tool,
        name,
        server: id,
        originalName: tool.name,
        trust,
      }),
    )
    this.prompts = unique(
      { kind: 'prompt', sources, toName, collisions },
      ({ prompts }) => prompts,
      (prompt, name, { id }) => ({
        ...prompt,
        name,
        server: id,
        originalName: prompt.name,
      }),
    )
  }

  /** All names of the tools, for texts that mention them. */
  get toolNames(): ToolNames {
    this.#toolNames ??= new ToolNames(this.tools.values())
    return this.#toolNames
  }

  /** The error for a tool that does not exist. It names the nearest. */
  unknownTool(name: string): McpError {
    return new McpError('invalid-argument', `The catalog has no tool ${quoted(name)}${nearest(name, this.tools)}`)
  }

  /** Throws if there is no such prompt, and names the nearest. */
  prompt(name: string): HostPrompt {
    const found = this.prompts.get(name)
    if (found) return found
    throw new McpError('invalid-argument', `The catalog has no prompt ${quoted(name)}${nearest(name, this.prompts)}`)
  }
}

/** The tools that fit a query best: words in the name count more than words in the description. */
export function searchIn(tools: Iterable<HostTool>, query: string, limit: number): HostTool[] {
  const words = wordsOf(query)
  const scored = [...tools].map((tool) => ({ tool, score: scoreOf(tool, words) }))
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool)
}

interface Naming {
  readonly kind: Collision['kind']
  readonly sources: readonly CatalogSource[]
  readonly toName: ToName
  readonly collisions: Collision[]
}

/** Nobody gets a name that several claim: the first one could have made its name on purpose. */
function unique<T extends Named, Entry>(
  { kind, sources, toName, collisions }: Naming,
  itemsOf: (source: CatalogSource) => readonly T[],
  toEntry: (item: T, name: string, source: CatalogSource) => Entry,
): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const claims = new Map<string, Set<string>>()
  for (const source of sources) {
    for (const item of itemsOf(source)) {
      const name = toName(source, item.name)
      const servers = claims.get(name)
      if (!servers) {
        claims.set(name, new Set([source.id]))
        entries.set(name, toEntry(item, name, source))
      }
      // A server that lists a name twice gets one entry: the first, whose definition is shown and used.
      else servers.add(source.id)
    }
  }
  for (const [name, servers] of claims) {
    if (servers.size === 1) continue
    entries.delete(name)
    collisions.push({ kind, name, servers: [...servers] })
  }
  return entries
}

type ToName = (source: Pick<CatalogSource, 'id' | 'isPrefixed'>, own: string) => string

/**
 * Names cannot collide, whatever servers call their tools:
 *
 * - A name that begins with `id_` belongs to the server with the longest such id: `git_hub_push` to `git_hub`, not to `git`.
 * - A definition that would get the name of another server, or one that model APIs do not accept, gets a suffix with a digest of
 *   its server and its own name.
 * - A name that looks as if it had such a suffix gets one too, so that no server can choose a name with a suffix.
 */
function namesWith(ids: readonly string[]): ToName {
  const ownerOf = (name: string) =>
    ids.reduce<string | undefined>(
      (owner, id) => (name.startsWith(`${id}_`) && id.length > (owner?.length ?? -1) ? id : owner),
      undefined,
    )
  return ({ id, isPrefixed }, own) => {
    if (isPrefixed) {
      const plain = `${id}_${own}`
      return ownerOf(plain) === id && isUsable(plain) ? plain : withSuffix(plain, id, own)
    }
    // Without a prefix it must not even look like a name of another server.
    const clean = cleaned(own)
    const isForeign = suffixed.test(clean) || ids.some((other) => other !== id && mayBelongTo(clean, other))
    return !isForeign && isUsable(own) ? own : withSuffix(isForeign ? `${id}_${own}` : own, id, own)
  }
}

/** Whether every model API accepts the name, and it cannot be confused with one that has a suffix. */
function isUsable(name: string): boolean {
  return name.length <= maxNameLength && cleaned(name) === name && !suffixed.test(name)
}

function cleaned(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** 80 bits: a server that wants the name of another would have to try 2^80 names. */
const suffixChars = 16
const suffixed = /__[a-z2-7]{16}$/

function withSuffix(name: string, id: string, own: string): string {
  const suffix = `__${base32(sha256(`${id}\n${own}`)).slice(0, suffixChars)}`
  return cleaned(name).slice(0, maxNameLength - suffix.length) + suffix
}

function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? [])
    .map((group) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(group, 2)])
    .join('')
}

/** Whether a definition of this server may have this name in the catalog. */
export function mayBelongTo(name: string, id: string): boolean {
  return name.startsWith(cleaned(`${id}_`).slice(0, maxNameLength - suffixChars - 2))
}

function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

function scoreOf({ name, title = '', description = '' }: HostTool, words: readonly string[]): number {
  const named = new Set(wordsOf(`${name} ${title}`))
  const described = new Set(wordsOf(description.slice(0, 10_000)))
  let score = 0
  for (const word of words) {
    if (named.has(word)) score += 4
    else if (name.toLowerCase().includes(word)) score += 2
    if (described.has(word)) score += 1
  }
  return score
}

/** Names come from models and callers, and may be long. */
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 2 * maxNameLength))
}

function nearest(name: string, entries: ReadonlyMap<string, unknown>): string {
  const lower = name.toLowerCase()
  const found = [...entries.keys()].find(
    (known) => known.toLowerCase().endsWith(`_${lower}`) || known.toLowerCase() === lower,
  )
  return found === undefined
    ? '. tools() and prompts() list what there is.'
    : `. Did you mean ${JSON.stringify(found)}?`
}
