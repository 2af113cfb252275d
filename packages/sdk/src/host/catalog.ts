import { McpError } from '../errors.ts'
import type { Prompt } from '../protocol/prompts.ts'
import type { Tool } from '../protocol/tools.ts'
import type { Trust } from './action.ts'

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

/** The tools and prompts of all servers under unique names. A name stays the same as long as its server stays configured. */
export class Catalog {
  readonly tools: ReadonlyMap<string, HostTool>
  readonly prompts: ReadonlyMap<string, HostPrompt>

  /** @param ids The ids of all configured servers, so that a server that is not available does not change names. */
  constructor(sources: readonly CatalogSource[], ids: readonly string[]) {
    const toName = namesWith(ids)
    this.tools = unique(
      sources,
      toName,
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
      sources,
      toName,
      ({ prompts }) => prompts,
      (prompt, name, { id }) => ({
        ...prompt,
        name,
        server: id,
        originalName: prompt.name,
      }),
    )
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

function unique<T extends Named, Entry>(
  sources: readonly CatalogSource[],
  toName: ToName,
  itemsOf: (source: CatalogSource) => readonly T[],
  toEntry: (item: T, name: string, source: CatalogSource) => Entry,
): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const source of sources) {
    for (const item of itemsOf(source)) {
      const name = toName(source, item.name)
      // A server that lists a name twice gets one entry: the first.
      if (!entries.has(name)) entries.set(name, toEntry(item, name, source))
    }
  }
  return entries
}

type ToName = (source: Pick<CatalogSource, 'id' | 'isPrefixed'>, own: string) => string

/**
 * A name gets a suffix if the id begins with another id: the tool `c` of `a_b` and the tool `b_c` of `a` would have the same
 * name. A server without a prefix cannot take the names of another: those that begin with its id get a prefix and a suffix.
 */
function namesWith(ids: readonly string[]): ToName {
  const isAmbiguous = (id: string) => ids.some((other) => id.startsWith(`${other}_`))
  const starts = ids.map((id) => ({ id, start: cleaned(`${id}_`).slice(0, shortestStart) }))
  return ({ id, isPrefixed }, own) => {
    if (isPrefixed) return toUsable(`${id}_${own}`, id, own, isAmbiguous(id))
    const isTaken = starts.some((other) => other.id !== id && cleaned(own).startsWith(other.start))
    return isTaken ? toUsable(`${id}_${own}`, id, own, true) : toUsable(own, id, own, false)
  }
}

/** A name with characters that every model API accepts. It gets a suffix if it had to be changed. */
function toUsable(plain: string, id: string, own: string, needsSuffix: boolean): string {
  const clean = cleaned(plain)
  const isUsable = clean === plain && clean.length <= maxNameLength && !needsSuffix
  return isUsable ? clean : withSuffix(clean, `${id}\n${own}`)
}

function cleaned(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** A suffix has at most 8 characters, so names begin with at least this much of a long id. */
const shortestStart = maxNameLength - 8

function withSuffix(name: string, identity: string): string {
  const suffix = `_${hash(identity)}`
  return name.slice(0, maxNameLength - suffix.length) + suffix
}

/** FNV-1a with 32 bits, as text. It makes names differ; it need not resist attacks, because equal names are detected. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return (value >>> 0).toString(36)
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
