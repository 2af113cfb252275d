import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { Tool } from 'tenon'
import type { ConfigFlags, ConnectionFlags } from './options.ts'
import { describeTarget, resolveTarget, type TargetWords } from './target.ts'

/** The tools of one server: names to the names of their arguments. */
export type KnownTools = Readonly<Record<string, readonly string[]>>

type Flags = ConfigFlags & ConnectionFlags

/** Enough for the servers of one user, and a bound for the file. */
const maxServers = 100
const maxTools = 500

/**
 * Remembers the tools of a server for shell completion, which must not start servers. What cannot be written is not remembered.
 * @param tools All tools of the server, or one that was called.
 */
export function rememberTools(target: TargetWords, flags: Flags, tools: readonly Tool[]): void {
  try {
    const all = readAll()
    const key = keyOf(target, flags)
    const entries = tools
      .filter(({ name }) => isPlainWord(name))
      .map((tool) => [tool.name, argumentNames(tool)] as const)
    const known = { ...(tools.length === 1 && all[key]), ...Object.fromEntries(entries.slice(0, maxTools)) }
    if (JSON.stringify(all[key]) === JSON.stringify(known)) return
    const { [key]: _old, ...others } = all
    const kept = Object.fromEntries([[key, known], ...Object.entries(others)].slice(0, maxServers))
    write(JSON.stringify(kept))
  } catch {
    // A read-only home directory, for example.
  }
}

/** The tools that a server had when it was used last. */
export function knownTools(target: TargetWords, flags: Flags): KnownTools {
  try {
    return readAll()[keyOf(target, flags)] ?? {}
  } catch {
    return {}
  }
}

/** True for words that a shell takes as they are. Others are not suggested, because names come from servers and files. */
export function isPlainWord(word: string): boolean {
  return /^[\w@%+.,/-]{1,128}$/.test(word)
}

function argumentNames({ inputSchema }: Tool): string[] {
  const { properties } = inputSchema as { properties?: object }
  return Object.keys(properties ?? {}).filter(isPlainWord)
}

function keyOf(target: TargetWords, flags: Flags): string {
  return describeTarget(resolveTarget(target, flags))
}

function readAll(): Record<string, KnownTools> {
  try {
    const value = JSON.parse(readFileSync(path(), 'utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Another command may read at the same time, so the file is replaced at once. */
function write(text: string): void {
  mkdirSync(dirname(path()), { recursive: true, mode: 0o700 })
  const temporary = `${path()}.${process.pid}`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path())
}

function path(): string {
  const { XDG_CACHE_HOME } = process.env
  const folder = XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache')
  return join(folder, 'tenon', 'tools.json')
}
