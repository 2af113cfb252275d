import { isObject } from '../../util/objects.ts'
import { credentialFiles } from '../sandbox/sensitive-paths.ts'
import { readingsOf } from '../text-readings.ts'
import { isCodeName, wordsOf } from './argument-names.ts'
import { decodePercent } from './encoded-text.ts'
import type { Finding } from './finding.ts'
import { findShellCommand } from './shell-injection.ts'
import { describePlace, type Place } from './texts.ts'
import { excerptAround, toExcerpt } from './visible.ts'

/** The parts of a tool that say what its arguments are. */
export interface CalledTool {
  readonly name: string
  readonly inputSchema?: unknown
}

/** Finds commands and paths to credentials in the arguments of a call, one text at a time. */
export class CallArguments {
  readonly findings: Finding[] = []
  readonly #properties: Readonly<Record<string, unknown>>

  constructor(tool: CalledTool | undefined) {
    const schema = tool?.inputSchema
    this.#properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  }

  check(place: Place, text: string): void {
    if (this.findings.length >= maxFindings) return
    // A server may decode an argument before it uses it.
    const plain = text.includes('%') ? (decodePercent(text) ?? text) : text
    const shell = findShellCommand(plain)
    if (shell && (!this.#isCode(place) || isSubstitutedHeading(place, plain))) this.#addCommand(place, plain, shell)
    const files = isPath(text) ? credentialFilesIn(text) : undefined
    if (files !== undefined) this.#addFiles(place, text, files)
  }

  #addCommand(place: Place, text: string, { start, end }: { start: number; end: number }): void {
    this.findings.push({
      rule: 'dangerous-command',
      severity: 'high',
      where: describePlace(place),
      message: 'The argument is not about code, but contains a command that a shell would run.',
      excerpt: excerptAround(text, start, end),
    })
  }

  #addFiles(place: Place, text: string, files: string): void {
    const message = `The path leads to ${files}.`
    this.findings.push({
      rule: 'credentials',
      severity: 'high',
      where: describePlace(place),
      message,
      excerpt: toExcerpt(text),
    })
  }

  /** Whether an argument is code or prose, by its name or by what its schema says. */
  #isCode(place: Place): boolean {
    let current: Place | undefined = place
    while (current?.parent) {
      if (typeof current.key === 'string') {
        if (isCodeName(current.key)) return true
        if (current.parent.parent === undefined) return describesCode(current.key, this.#properties[current.key])
      }
      current = current.parent
    }
    return false
  }
}

const maxFindings = 20

/** A heading may contain code, but one that is nothing but the output of a command is meant for a shell. */
function isSubstitutedHeading({ key }: Place, text: string): boolean {
  return (
    typeof key === 'string' &&
    /^(?:title|subject|caption|summary)$/.test(wordsOf(key).at(-1) ?? '') &&
    /^\s*(?:\$\([^\n]+\)|`[^`\n]+`)\s*$/.test(text)
  )
}

/** The description of a server counts only if the name of the argument says nothing else. */
function describesCode(name: string, schema: unknown): boolean {
  if (!isObject(schema) || wordsOf(name).some((word) => plainWords.has(word))) return false
  const { description, contentMediaType } = schema
  if (typeof contentMediaType === 'string') return true
  return (
    typeof description === 'string' &&
    /\b(?:code|scripts?|commands?|sql|quer(?:y|ies)|expressions?|regex|markdown|html|shell|formula|template|snippet|prose|free[- ]form)\b/i.test(
      description,
    )
  )
}

const plainWords: ReadonlySet<string> = new Set(
  'name names id ids path paths file files filename folder directory host hostname domain url uri branch ref tag user username address port format'.split(
    ' ',
  ),
)

/** Longer than any path that a system accepts. */
const maxPath = 4_096

/** Whether a text is a path or a file URL as a whole, and not a sentence about one. */
function isPath(text: string): boolean {
  if (text.length > maxPath || /[\n\r]/.test(text.trim())) return false
  if (/^\s*(?:[~/\\]|\.{1,2}[/\\]|[A-Za-z]:[\\/]|file:|\$\{?HOME|%(?:USERPROFILE|HOME|2f|2e|7e|252))/i.test(text))
    return true
  return !/\s/.test(text.trim()) && !/^[a-z][a-z\d+.-]+:/i.test(text)
}

/** Part of every such path, in one of its spellings. One expression is faster than all of them for ordinary values. */
const mayBeCredentials =
  /^\s*\.|[/\\]\.|%|;|\\|id_|etc\/|proc\/|secret|credential|wallet|library|user data|mozilla|chrom|priv|server|solana|\.(?:kdbx|p12|pfx|jks|keystore)\s*$|[^\0-\x7f]/i

function credentialFilesIn(text: string): string | undefined {
  if (!mayBeCredentials.test(text)) return undefined
  for (const reading of readingsOf(text).texts) {
    const files = credentialFiles(reading)
    if (files !== undefined) return files
  }
  return undefined
}
