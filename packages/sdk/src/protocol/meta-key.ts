import { warnOnce } from '../util/warn.ts'

/**
 * What is wrong with a `_meta` key, or undefined when it is fine. A key is an optional prefix of dot-separated labels
 * that ends in a slash, and a name, which may be empty.
 */
export function metaKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/')
  return (slash < 0 ? undefined : prefixProblem(key, slash)) ?? nameProblem(key, slash + 1)
}

/** What is wrong with an extension id, or undefined when it is fine: a `_meta` key that cannot do without its prefix. */
export function extensionIdProblem(id: string): string | undefined {
  return id.includes('/') ? metaKeyProblem(id) : 'a prefix is required, such as com.example/'
}

/** Throws on extension ids that nobody could recognise. */
export function checkExtensions(extensions: Record<string, unknown> | undefined): void {
  for (const id of Object.keys(extensions ?? {})) {
    const problem = extensionIdProblem(id)
    if (problem !== undefined) throw new TypeError(`capabilities.extensions: ${problem}`)
    lintPrefix('Extension', id)
  }
}

/** Warns of prefixes in `_meta` that are not in reverse-DNS order. */
export function lintMeta(item: string, meta: Readonly<Record<string, unknown>> | undefined): void {
  for (const key of Object.keys(meta ?? {})) lintPrefix(`${item}, _meta key`, key)
}

/** 2025-11-25 basic, `_meta`; SEP-2133: prefixes are reversed domain names, so that two authors cannot choose the same. */
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
 * Whether MCP keeps this key for itself in any revision, so that nobody else should use it.
 *
 * 2025-06-18 reserves prefixes in which one of MCP's own labels has another label after it (`mcp.dev/`), later
 * revisions those in which it comes second (`dev.mcp/`). A key meant for every peer has to keep clear of both.
 */
export function isReservedMetaKey(key: string): boolean {
  const slash = key.indexOf('/')
  if (slash < 0) return false
  const labels = key.slice(0, slash).split('.')
  return labels.some((label, at) => ownLabels.has(label) && (at === 1 || at < labels.length - 1))
}

const ownLabels: ReadonlySet<string> = new Set(['modelcontextprotocol', 'mcp'])

/** Looks at `key` up to `end`, where the slash is. */
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
