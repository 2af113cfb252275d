import { decodePercent } from './findings/encoded-text.ts'
import { isAbsolutePath, resolvePath, resolveRelative } from './sandbox/paths.ts'
import { normalUrl, parseStrictUrl, parseUrl, urlText } from './url-pattern.ts'

/** What programs may make of one text. */
export interface Readings {
  /** The text itself comes first. */
  readonly texts: readonly string[]
  /** False if the text is encoded more often than it is decoded here. */
  readonly isComplete: boolean
}

/**
 * Lists what programs may make of a text that is a path or a URL: decoded, without superfluous segments and slashes, without
 * what follows a NUL character, through the home folder and the folders of processes, and as different parsers find a host. A rule that denies must match one of these, and a rule that allows all of them, because the
 * program that gets the text decides which one counts.
 */
export function readingsOf(text: string): Readings {
  if (isPlain(text)) return { texts: [text], isComplete: true }
  const { texts, isComplete } = decodingsOf(text)
  const readings = new Set(texts)
  for (const decoded of texts) {
    for (const cut of [decoded, decoded.split('\0', 1)[0]!, decoded.replaceAll('\0', '')]) {
      readings.add(cut)
      for (const reading of [normalText(cut), ...specialReadings(cut)]) readings.add(reading)
    }
  }
  return { texts: [...readings], isComplete }
}

/** Resolves a path as far as its text allows, and writes a URL in its usual form. The end `/` stays. */
export function normalText(text: string): string {
  const trimmed = text.trim()
  const url = parseUrl(trimmed)
  if (url && url.scheme !== 'file') return normalUrl(url)
  const written = url ? url.path : trimmed
  // Some servers cut path parameters off after they have looked for `..`.
  const plain = written.replaceAll('\\', '/').replace(/(^|\/)(\.{1,2});[^/]*/g, '$1$2')
  const path = isAbsolutePath(plain) ? resolvePath(plain) : (resolveRelative(plain) ?? leaving(plain))
  return plain.endsWith('/') && !path.endsWith('/') ? `${path}/` : path
}

/** What only some programs make of a text. */
function specialReadings(text: string): string[] {
  const readings: string[] = []
  const strict = parseStrictUrl(text)
  if (strict) readings.push(normalUrl(strict))
  const path = filePath(text)
  if (path !== undefined) readings.push(normalText(path), normalText(decodePercent(path) ?? path))
  const plain = (path ?? text).trim().replaceAll('\\', '/')
  const [, inHome] = /^(?:~[^/]*|\$\{?HOME\}?)\/(.*)$/s.exec(plain) ?? []
  if (inHome !== undefined && resolveRelative(inHome) === undefined) readings.push(leaving(inHome))
  const reached = throughProcess(plain)
  if (reached !== undefined) readings.push(reached)
  return readings
}

/** The path of a file URL as it is written, before a parser removes its `..` segments. */
function filePath(text: string): string | undefined {
  const [, path] = /^file:(?:\/\/[^/\\?#]*(?=[/\\]))?([^?#]*)/i.exec(urlText(text)) ?? []
  return path
}

/** Where a path leads that goes through the root or the current folder of a process, which Linux shows as links. */
function throughProcess(path: string): string | undefined {
  if (!path.includes('proc/')) return undefined
  let kept: string[] = []
  let isThrough = false
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
    if (!isProcessLink(kept)) continue
    kept = []
    isThrough = true
  }
  return isThrough ? `/${kept.join('/')}` : undefined
}

function isProcessLink(segments: readonly string[]): boolean {
  if (segments[0] !== 'proc' || (segments.length !== 3 && segments.length !== 5)) return false
  const last = segments.at(-1)
  // The length first, so that long segments are not read again for each short one after them.
  return (
    (last === 'root' || last === 'cwd') && segments[1]!.length < 20 && /^(?:self|thread-self|\d+)$/.test(segments[1]!)
  )
}

/** Where a relative path leads if it has enough `..` segments to reach the root. */
function leaving(path: string): string {
  return resolvePath(`/${path}`)
}

/** Most arguments. Nothing in them can be read in another way. */
function isPlain(text: string): boolean {
  return !/[%\\\0-\x20\x7f-\uffff;:]|\/[/.]|^\.|proc\//.test(text)
}

/** Encoding something more often has no use but to deceive. */
const maxDecodings = 4

function decodingsOf(text: string): Readings {
  const texts = /[^\0-\x7f]/.test(text) ? [text, text.normalize('NFKC')] : [text]
  let current = texts.at(-1)!
  for (let count = 0; count < maxDecodings; count++) {
    const decoded = decodePercent(shortestEncoding(current))
    if (decoded === undefined || decoded === current) return { texts, isComplete: true }
    texts.push(decoded)
    current = decoded
  }
  return { texts, isComplete: false }
}

/** Rewrites encodings of a character that are longer than necessary: `%252e`, `%c0%ae`, `%e0%80%ae` and `%u002e` are `%2e`. */
function shortestEncoding(text: string): string {
  if (!text.includes('%')) return text
  return text
    .replace(/%(?:25)+(?=[\da-f]{2}|u00)/gi, '%')
    .replace(/%u00([\da-f]{2})/gi, '%$1')
    .replace(/%c([01])%([89ab][\da-f])/gi, (_, high, low) => toPercent((Number(high) << 6) | lowBits(low)))
    .replace(/%e0%8([01])%([89ab][\da-f])/gi, (_, high, low) => toPercent((Number(high) << 6) | lowBits(low)))
}

function lowBits(digits: string): number {
  return Number.parseInt(digits, 16) & 63
}

function toPercent(code: number): string {
  return `%${code.toString(16).padStart(2, '0')}`
}
