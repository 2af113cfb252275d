import type { RootList } from '../client/input/handlers.ts'
import { checkRoots } from '../client/input/roots.ts'
import type { Root } from '../protocol/roots.ts'
import { isObject } from '../util/objects.ts'
import { isCodeName, wordsOf } from './findings/argument-names.ts'
import type { Finding } from './findings/finding.ts'
import { toExcerpt } from './findings/visible.ts'
import { isWithinAny, resolvePath, resolveRelative } from './sandbox/paths.ts'

/**
 * The folders that servers may know: one list for all servers, or a list for each, by the id of the server. A server that is not
 * listed gets none.
 */
export type HostRoots = RootList | Readonly<Record<string, RootList>>

/** Whether a root can be used at the moment. */
export interface RootAccess {
  readonly root: Root
  readonly isAccessible: boolean
  /** Why not, such as `does not exist`. Undefined if it is accessible. */
  readonly reason: string | undefined
}

/** The roots of each server, validated. */
export interface ServerRoots {
  /** All roots that any server may know, each once. */
  readonly all: readonly Root[]
  /** Returns the roots that the user allows for one server. */
  rootsFor(serverId: string): readonly Root[]
}

/**
 * Validates roots and keeps apart what each server may know. Throws if one is not a `file:` URI, or tries to leave its folder.
 *
 * @example
 * const roots = createServerRoots({ files: ['file:///home/me/project'] })
 * roots.rootsFor('files') // [{ uri: 'file:///home/me/project' }]
 * roots.rootsFor('weather') // []
 */
export function createServerRoots(roots: HostRoots = []): ServerRoots {
  if (isList(roots)) {
    const shared = checkRoots(roots)
    return { all: withoutDuplicates(shared), rootsFor: () => shared }
  }
  const byServer = new Map(Object.entries(roots).map(([id, list]) => [id, checkRoots(list)]))
  return {
    all: withoutDuplicates([...byServer.values()].flat()),
    rootsFor: (serverId) => byServer.get(serverId) ?? [],
  }
}

/**
 * Checks that roots exist and can be read. Do it before you ask the user, and give a server only those that are accessible.
 * Where there is no file system, none is.
 */
export async function checkRootAccess(roots: readonly Root[]): Promise<RootAccess[]> {
  const { readRootAccess } = await import('./node/watch-roots.ts').catch(() => ({ readRootAccess: noFileSystem }))
  return readRootAccess(roots)
}

/** Reports when roots become accessible, or stop being so. Where there is no file system, they never do. */
export function watchAccess(roots: readonly Root[], onChange: () => void): { close(): void } {
  let isClosed = false
  const watching = import('./node/watch-roots.ts')
    .then(({ watchRoots }) => (isClosed ? undefined : watchRoots(roots, onChange)))
    .then((watcher) => {
      if (isClosed) watcher?.close()
      return watcher
    })
    .catch(() => undefined)
  return {
    close: () => {
      isClosed = true
      void watching.then((watcher) => watcher?.close())
    },
  }
}

async function noFileSystem(roots: readonly Root[]): Promise<RootAccess[]> {
  return roots.map((root) => ({ root, isAccessible: false, reason: 'cannot be read: this runtime has no file system' }))
}

function isList(roots: HostRoots): roots is RootList {
  return Array.isArray(roots)
}

function withoutDuplicates(roots: readonly Root[]): Root[] {
  return [...new Map(roots.map((root) => [root.uri, root])).values()]
}

/**
 * Finds paths and `file:` URIs in arguments that are outside of the roots of a server. Nothing is read from the disk: `..`,
 * `%2e` and the like are resolved in the text. Without roots there are no limits, so there are no findings.
 *
 * @param isLimited Whether paths are limited to the roots. Pass true if the server had roots that were taken back.
 *
 * @example
 * pathFindings({ path: '/srv/app/../../etc/passwd' }, [{ uri: 'file:///srv/app' }])
 */
export function pathFindings(
  args: Readonly<Record<string, unknown>>,
  roots: readonly Root[],
  isLimited: boolean = roots.length > 0,
): Finding[] {
  if (!isLimited) return []
  const folders = roots.map(({ uri }) => resolvePath(decode(new URL(uri).pathname)))
  const findings: Finding[] = []
  const isComplete = eachText(args, (text, where, key) => {
    const severity = severityOf(text, key, folders)
    if (severity === undefined || findings.length >= maxFindings) return
    const message = 'The path is outside of the folders that the server may use.'
    findings.push({ rule: 'outside-roots', severity, where, message, excerpt: toExcerpt(text) })
  })
  return isComplete ? findings : [...findings, tooLarge]
}

const maxFindings = 20

/** Otherwise a path could hide behind many other values. */
const tooLarge: Finding = {
  rule: 'outside-roots',
  severity: 'high',
  where: 'arguments',
  message: 'The arguments are too large to find all paths in them.',
  excerpt: '',
}

/** No system has longer paths, and each character takes at most nine when it is encoded. */
const maxPathLength = 40_000

/** Returns undefined if a text is not a path, or is in one of the folders. */
function severityOf(value: string, key: string, folders: readonly string[]): Finding['severity'] | undefined {
  const text = value.trim()
  // Text of several lines is the content of a file, not its path.
  if (text.length > maxPathLength || text.includes('\n')) return undefined
  const outside = readings(text).find((reading) => leaves(reading, folders))
  if (outside === undefined) return undefined
  if (isSurelyPath(outside, key, folders)) return 'high'
  return isEscape(outside) && isCodeName(key) ? undefined : 'low'
}

/** What follows a slash may also be a route or a command, unless it has the name or the beginning of a path. */
function isSurelyPath(text: string, key: string, folders: readonly string[]): boolean {
  if (isEscape(text)) return isPathByLastWord(key) || (!isCodeName(key) && isFamiliar(text, folders))
  return !text.startsWith('/') || isPathName(key) || isFamiliar(text, folders)
}

/** Regular expressions (`\d+`) and LaTeX (`\frac`) begin with a backslash like paths of Windows, but do not name a share. */
function isEscape(text: string): boolean {
  return text.startsWith('\\') && !/^\\\\[^\\/]+[\\/][^\\/]/.test(text)
}

/** The last word of a name says what it is: `file_content` and `path_regex` are code, `content_path` is a path. */
function isPathByLastWord(key: string): boolean {
  return isPathName(isCodeName(key) ? (wordsOf(key).at(-1) ?? '') : key)
}

/** The text as it is, and as a server would read it that decodes it once or several times. URIs are always decoded. */
function readings(text: string): string[] {
  const all = [/^file:/i.test(text) ? decode(text.replace(/^file:\/\/localhost(?=\/)/i, 'file://')) : text]
  for (let round = 0; round < 3; round++) {
    const last = all.at(-1) ?? ''
    const decoded = decode(last)
    if (decoded === last) break
    all.push(decoded)
  }
  return all
}

function leaves(text: string, folders: readonly string[]): boolean {
  if (/^file:\/\/[^/]/i.test(text)) return true
  const path = /^file:/i.test(text) ? text.slice('file:'.length).replace(/^\/\/(?=\/)/, '') : text
  if (/^~(?:[\\/]|$)/.test(path))
    return !homesOf(folders).some((home) => isWithinAny(resolvePath(home + path.slice(1)), folders))
  // File functions written in C end a path at a NUL character.
  const isCut = path.includes('\0')
  if (/^(?:[\\/]|[A-Za-z]:[\\/])/.test(path)) return isCut || !isWithinAny(resolvePath(path), folders)
  return looksRelative(path) && (isCut || resolveRelative(path) === undefined)
}

/** Source code and prose contain relative paths too, but have spaces or quotes around them. URLs have a scheme. */
function looksRelative(path: string): boolean {
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(path)) return false
  return /^(?:\.[\\/])*\.\.(?:[\\/]|$)/.test(path) || !/[\s"'`<>]/.test(path)
}

/** The home directory is not known here, but the folders show it. */
function homesOf(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => /^(?:\/(?:home|Users)\/[^/]+|\/root|[a-z]:\/users\/[^/]+)/.exec(folder)?.[0] ?? [])
}

function isPathName(key: string): boolean {
  return /path|file|dir|folder|root|uri|cwd|source|src|dest|target|location|workspace|repo|glob/i.test(key)
}

const systemFolders = new Set(
  'bin boot dev etc home lib media mnt opt private proc root run sbin srv sys tmp usr var Users Library Applications Volumes System'.split(
    ' ',
  ),
)

function isFamiliar(path: string, folders: readonly string[]): boolean {
  const first = resolvePath(path).split('/')[1] ?? ''
  return systemFolders.has(first) || folders.some((folder) => folder.split('/')[1] === first)
}

function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    // Not valid UTF-8. What matters for paths is in ASCII.
    return text.replace(/%[0-7][\da-f]/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  }
}

const maxValues = 20_000
const maxDepth = 50

/** Visits the strings in JSON values. Returns false if there are too many to visit all. */
function eachText(value: unknown, visit: (text: string, where: string, key: string) => void): boolean {
  let left = maxValues
  const walk = (item: unknown, where: string, key: string, depth: number): boolean => {
    if (left-- <= 0 || depth > maxDepth) return false
    if (typeof item === 'string') visit(item, `argument ${where}`, key)
    else if (Array.isArray(item)) return item.every((each, index) => walk(each, `${where}[${index}]`, key, depth + 1))
    else if (isObject(item))
      return Object.entries(item).every(([name, each]) =>
        walk(each, where ? `${where}.${name}` : name, name, depth + 1),
      )
    return true
  }
  return walk(value, '', '', 0)
}
