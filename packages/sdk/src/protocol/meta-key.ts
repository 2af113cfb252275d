import { warnOnce } from '../util/warn.ts'

/**
 * Describes what is wrong with a `_meta` key; undefined if nothing is. A key has an optional prefix of dot-separated labels that
 * ends in a slash, and a name, which may be empty.
 */
export function metaKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/')
  return (slash < 0 ? undefined : prefixProblem(key, slash)) ?? nameProblem(key, slash + 1)
}

/** Describes what is wrong with an extension id, which is a `_meta` key with a prefix; undefined if nothing is. */
export function extensionIdProblem(id: string): string | undefined {
  return id.includes('/') ? metaKeyProblem(id) : 'a prefix is required, such as com.example/'
}

/** Throws if an extension id is invalid. */
export function checkExtensions(extensions: Record<string, unknown> | undefined): void {
  for (const id of Object.keys(extensions ?? {})) {
    const problem = extensionIdProblem(id)
    if (problem !== undefined) throw new TypeError(`capabilities.extensions: ${problem}`)
    lintPrefix('Extension', id)
  }
}

/** Warns about prefixes in `_meta` that are not reversed domain names. */
export function lintMeta(item: string, meta: Readonly<Record<string, unknown>> | undefined): void {
  for (const key of Object.keys(meta ?? {})) lintPrefix(`${item}, _meta key`, key)
}

/** 2025-11-25 basic, `_meta`; SEP-2133: prefixes are reversed domain names, so that two authors cannot use the same one. */
function lintPrefix(what: string, key: string): void {
  const slash = key.indexOf('/')
  if (slash < 0) return
  const labels = key.slice(0, slash).split('.')
  const [first, last] = [labels[0]!, labels.at(-1)!]
  const isForward = commonDomains.has(last) && !commonDomains.has(first)
  if (labels.length > 1 && !isForward) return
  const better = labels.length > 1 ? labels.reverse().join('.') : `com.${first}`
  warnOnce(
    `prefix ${key}`,
    `${what} ${JSON.stringify(key)}: use a reversed domain name that you control as prefix, such as ${better}/.`,
  )
}

const commonDomains: ReadonlySet<string> = new Set('com org net io dev app ai co edu gov de uk eu me sh'.split(' '))

/**
 * Whether any revision reserves this key for MCP.
 *
 * 2025-06-18 reserves prefixes in which a label of MCP is followed by another one (`mcp.dev/`), later revisions those in
 * which it is the second label (`dev.mcp/`). A key that is valid everywhere must avoid both.
 */
export function isReservedMetaKey(key: string): boolean {
  const slash = key.indexOf('/')
  if (slash < 0) return false
  const labels = key.slice(0, slash).split('.')
  return labels.some((label, at) => ownLabels.has(label) && (at === 1 || at < labels.length - 1))
}

const ownLabels: ReadonlySet<string> = new Set(['modelcontextprotocol', 'mcp'])

/** @param end The position of the slash. */
function prefixProblem(key: string, end: number): string | undefined {
  let start = 0
  while (start <= end) {
    const dot = key.indexOf('.', start)
    const stop = dot < 0 || dot > end ? end : dot
    const problem = labelProblem(key, start, stop)
    if (problem !== undefined) return problem
    start = stop + 1
  }
  return undefined
}

function labelProblem(key: string, start: number, end: number): string | undefined {
  if (start === end) return 'a prefix label must not be empty'
  if (!isLetter(key.charCodeAt(start))) return 'a prefix label must start with a letter'
  if (!isAlphanumeric(key.charCodeAt(end - 1))) return 'a prefix label must end with a letter or digit'
  for (let at = start + 1; at < end - 1; at++) {
    const code = key.charCodeAt(at)
    if (!isAlphanumeric(code) && code !== hyphen) return 'a prefix label may contain only letters, digits and hyphens'
  }
  return undefined
}

function nameProblem(key: string, start: number): string | undefined {
  const end = key.length
  if (start === end) return undefined
  if (!isAlphanumeric(key.charCodeAt(start))) return 'the name must start with a letter or digit'
  if (!isAlphanumeric(key.charCodeAt(end - 1))) return 'the name must end with a letter or digit'
  for (let at = start + 1; at < end - 1; at++) {
    const code = key.charCodeAt(at)
    if (!isAlphanumeric(code) && code !== hyphen && code !== underscore && code !== dotSign) {
      return 'the name may contain only letters, digits, hyphens, underscores and dots'
    }
  }
  return undefined
}

const hyphen = 0x2d
const dotSign = 0x2e
const underscore = 0x5f

function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

function isAlphanumeric(code: number): boolean {
  return isLetter(code) || (code >= 0x30 && code <= 0x39)
}
