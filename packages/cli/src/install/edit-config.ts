import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { isObject } from 'tenon/internal'
import { CliError } from '../exit-codes.ts'
import type { Entry } from './hosts.ts'
import { removeMember, setMember } from './json-edits.ts'

/** A config file that was read. Comments and trailing commas are allowed. */
export interface ConfigText {
  readonly path: string
  /** Empty if there is no file. */
  readonly text: string
}

/** Returns the entry of a server; undefined if there is none. */
export function readEntry(config: ConfigText, container: string, name: string): unknown {
  const tree = parse(config)
  const found = tree && findNodeAtLocation(tree, [container, name])
  return found && getNodeValue(found)
}

/**
 * Adds, replaces or removes the entry of a server. Everything else stays as it is, with comments and formatting.
 * @param entry Undefined removes it.
 */
export function editEntry(config: ConfigText, container: string, name: string, entry: Entry | undefined): string {
  const tree = parse(config)
  const before: unknown = tree ? getNodeValue(tree) : {}
  const servers = isObject(before) ? before[container] : undefined
  if (!isObject(before) || (servers !== undefined && !isObject(servers))) {
    const what = isObject(before) ? `"${container}"` : 'The file'
    throw cannotEdit(config.path, `${what} is not an object`)
  }
  const document = tree ? { text: config.text, root: tree } : emptyDocument()
  const edited =
    entry === undefined ? removeMember(document, container, name) : setMember(document, container, name, entry)
  verify({ path: config.path, text: edited }, expected(before, container, name, entry))
  return edited
}

/** Compares JSON values. The order of members does not matter. */
export function isSameJson(a: unknown, b: unknown): boolean {
  return toText(a) === toText(b)
}

function emptyDocument(): { text: string; root: Node } {
  const text = '{}\n'
  const root = parse({ path: '', text })
  if (!root) throw new Error('An empty object is valid JSON.')
  return { text, root }
}

type Members = Readonly<Record<string, unknown>>

function parse({ path, text }: ConfigText): Node | undefined {
  const errors: ParseError[] = []
  const tree = parseTree(text.replace(/^\uFEFF/, ' '), errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (!first) return tree
  const line = text.slice(0, first.offset).split('\n').length
  throw cannotEdit(path, `line ${line} is not valid JSON (${printParseErrorCode(first.error)})`)
}

/** Reads the new text, so that a file is never written that differs in more than the entry. */
function verify(config: ConfigText, wanted: unknown): void {
  const tree = parse(config)
  if (!tree || !isSameJson(getNodeValue(tree), wanted))
    throw cannotEdit(config.path, 'the change would affect other members; perhaps a member appears twice')
}

function expected(before: Members, container: string, name: string, entry: Entry | undefined): Members {
  const servers = isObject(before[container]) ? before[container] : undefined
  if (entry === undefined && !servers) return before
  const others = Object.entries(servers ?? {}).filter(([key]) => key !== name)
  const added = entry === undefined ? [] : [[name, entry] as const]
  return { ...before, [container]: Object.fromEntries([...others, ...added]) }
}

function cannotEdit(path: string, reason: string): CliError {
  return new CliError('invalid-config', `Cannot change ${path}: ${reason}.`, {
    hint: 'Nothing was written. Correct the file and run the command again.',
  })
}

function toText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  )
}
