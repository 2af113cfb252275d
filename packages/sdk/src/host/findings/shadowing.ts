import type { Definitions } from '../definitions.ts'
import type { Finding } from './finding.ts'
import { nameSkeleton } from './look-alikes.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/** Another server of the host. */
export interface OtherServer {
  /** The id that the user chose. */
  readonly id: string
  readonly definitions: Definitions
}

/**
 * Finds tools that have, or nearly have, the name of a tool of another server, and texts that give orders about tools of other
 * servers.
 *
 * @param texts All texts of this server.
 */
export function checkShadowing(
  server: string,
  { tools }: Definitions,
  texts: JoinedTexts,
  others: readonly OtherServer[],
): Finding[] {
  const index = new NameIndex(others.filter(({ id }) => id !== server))
  const own = new Set(tools.map(({ name }) => name.toLowerCase()))
  const names = tools.flatMap(({ name }) => checkToolName(name, index) ?? [])
  return [...names, ...checkMentions(texts, index, own)].slice(0, maxFindings)
}

const maxFindings = 100

interface Named {
  readonly server: string
  readonly name: string
}

/** The names of tools of other servers, by the ways in which another name can resemble them. */
class NameIndex {
  readonly exact = new Map<string, Named>()
  readonly skeletons = new Map<string, Named>()
  /** Each name without one of its characters. Names that differ by one edit have one of these in common. */
  readonly near = new Map<string, Named>()
  readonly mentions = new Map<string, Named>()

  constructor(others: readonly OtherServer[]) {
    for (const { id, definitions } of others) {
      for (const { name } of definitions.tools) this.#add({ server: id, name })
    }
  }

  #add(named: Named): void {
    const { server, name } = named
    this.exact.set(name, named)
    this.skeletons.set(nameSkeleton(name), named)
    for (const key of deletions(name)) this.near.set(key, named)
    // One common word is not a reference to a tool.
    if (isDistinctive(name)) this.mentions.set(name.toLowerCase(), named)
    this.mentions.set(`${server}_${name}`.toLowerCase(), named)
  }
}

function checkToolName(name: string, index: NameIndex): Finding | undefined {
  const where = `tool ${toExcerpt(name, 80)}`
  const finding = (severity: Finding['severity'], message: string): Finding => {
    return { rule: 'shadowing', severity, where, message, excerpt: toExcerpt(name, 80) }
  }
  const same = index.exact.get(name)
  // The catalog tells them apart by the server. Only a name that pretends to be another is dangerous.
  if (same) return finding('low', `The server "${same.server}" has a tool with the same name.`)
  const similar = index.skeletons.get(nameSkeleton(name))
  if (similar) return finding('high', `The name looks like the tool ${describe(similar)}.`)
  const near = deletions(name)
    .flatMap((key) => index.near.get(key) ?? [])
    .find((other) => isOneEdit(name, other.name))
  if (!near) return undefined
  return finding(
    isInflection(name, near.name) ? 'low' : 'high',
    `The name differs by one character from the tool ${describe(near)}.`,
  )
}

function describe({ server, name }: Named): string {
  return `"${toExcerpt(name, 80)}" of the server "${server}"`
}

/** Many short names differ by one character. */
const minEditChars = 6
const maxEditChars = 64

function deletions(name: string): string[] {
  if (name.length < minEditChars || name.length > maxEditChars) return []
  const keys = [name]
  for (let index = 0; index < name.length; index++) keys.push(name.slice(0, index) + name.slice(index + 1))
  return keys
}

/** One character inserted, removed or replaced, or two neighbors swapped. */
function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const restOfA = a.slice(start)
  const restOfB = b.slice(start)
  const isSwap = restOfA.length > 1 && restOfA[0] === restOfB[1] && restOfA[1] === restOfB[0]
  return (
    restOfA.slice(1) === restOfB.slice(1) ||
    restOfA.slice(1) === restOfB ||
    restOfA === restOfB.slice(1) ||
    (isSwap && restOfA.slice(2) === restOfB.slice(2))
  )
}

/** `get_issue` and `get_issues`, `query1` and `query2`: ordinary pairs of names. */
function isInflection(a: string, b: string): boolean {
  const stem = (name: string) => name.replace(/s(?=$|[_\-./A-Z])/g, '').replace(/\d/g, '#')
  return stem(a) === stem(b) || a.replace(/\d/g, '') === b.replace(/\d/g, '')
}

function isDistinctive(name: string): boolean {
  return name.length >= minEditChars && /[a-z0-9][_\-./]?[A-Z]|[_\-./]/.test(name)
}

/** An order in the same sentence as the name of the tool. */
const orderNearName =
  /\b(?:must|always|never|instead of|do not use|don't use|before (?:using|calling|you)|after (?:using|calling)|when(?:ever)? (?:using|calling|you (?:use|call)|\S+ is (?:called|used|invoked))|every time|redirect|replaces?|superseded|deprecated|first call|call this)\b/i

const maxMentions = 200
const contextChars = 160

function checkMentions(texts: JoinedTexts, index: NameIndex, own: ReadonlySet<string>): Finding[] {
  const findings: Finding[] = []
  const { text } = texts
  let mentions = 0
  for (const { 0: word, index: start } of text.matchAll(/[A-Za-z][\w\-./]{5,127}/g)) {
    const name = word.replace(/[.\-/]+$/, '').toLowerCase()
    const named = index.mentions.get(name)
    if (!named || own.has(name)) continue
    if (++mentions > maxMentions) break
    const end = start + word.length
    if (!orderNearName.test(sentenceAround(text, start, end))) continue
    const message = `The text gives an order about the tool ${describe(named)}.`
    const excerpt = texts.excerpt(start, end, 60)
    findings.push({ rule: 'shadowing', severity: 'high', where: texts.whereIs(start, end), message, excerpt })
  }
  return findings
}

function sentenceAround(text: string, start: number, end: number): string {
  const before = text
    .slice(Math.max(0, start - contextChars), start)
    .split(/[.!?]\s|\n/)
    .at(-1)!
  const after = text.slice(end, end + contextChars).split(/[.!?]\s|\n/, 1)[0]!
  return before + text.slice(start, end) + after
}
