import { compileGlob } from './glob.ts'

/** The parts of a URL as clients understand it. */
export interface ParsedUrl {
  readonly scheme: string
  /** In lower case, without the dot at the end. Numbers are addresses in their usual form. */
  readonly host: string
  /** The default port of the scheme if there is none. */
  readonly port: string
  readonly hasUser: boolean
  /** Whether every client finds this host in the text. */
  readonly isClear: boolean
  readonly path: string
  /** The query and the fragment. */
  readonly rest: string
}

/** Parses an absolute URL that names a host, or a file URL, as browsers do; undefined for other texts. */
export function parseUrl(text: string): ParsedUrl | undefined {
  const written = urlText(text)
  // One letter is a drive of Windows.
  const [, start = '', slash] = /^([a-z][a-z\d+.-]+):([\\/])?/i.exec(written) ?? []
  const isSpecial = start.length < 6 && (start.toLowerCase() === 'file' || start.toLowerCase() in defaultPorts)
  const isOpaque = !isSpecial && !(slash && written.includes('//'))
  if (start === '' || isOpaque || !URL.canParse(written)) return undefined
  const url = new URL(written)
  const scheme = url.protocol.slice(0, -1)
  return {
    scheme,
    host: url.hostname.toLowerCase().replace(/\.+$/, ''),
    port: url.port || (defaultPorts[scheme] ?? ''),
    hasUser: url.username !== '' || url.password !== '',
    isClear: (scheme === 'file' ? /^\s*file:\//i : clearUrl).test(text),
    path: url.pathname,
    rest: url.search + url.hash,
  }
}

/** Both slashes, and an authority that ends where every parser ends it. */
const clearUrl = /^\s*[a-z][a-z\d+.-]+:\/\/[^/?#\\\0-\x20]+(?:[/?#]|\s*$)/i

/**
 * The same as RFC 3986 has it, for programs that do not check what they parse. Undefined unless there is a difference: a
 * backslash does not end the authority, and hosts may contain anything.
 */
export function parseStrictUrl(text: string): ParsedUrl | undefined {
  const written = urlText(text)
  const parts = /^([a-z][a-z\d+.-]+):\/\/([^/?#]*)([^?#]*)(.*)$/is.exec(written)
  if (!parts || (!parts[2]!.includes('\\') && URL.canParse(written))) return undefined
  const [, scheme = '', authority = '', path = '', rest = ''] = parts
  const [, host = '', port] = /^(.*?)(?::(\d*))?$/s.exec(authority.slice(authority.lastIndexOf('@') + 1))!
  return {
    scheme: scheme.toLowerCase(),
    host: host.includes('\\') ? host.toLowerCase() : canonicalHost(host),
    port: port || (defaultPorts[scheme.toLowerCase()] ?? ''),
    hasUser: authority.includes('@'),
    isClear: false,
    path: path || '/',
    rest,
  }
}

/** Without what parsers of URLs ignore: space and control characters around it, tabs and line breaks in it, `<URL:>` around it. */
export function urlText(text: string): string {
  const trimmed = trimControls(text).replace(/[\t\r\n]/g, '')
  const [, prefix = ''] = /^(<?(?:url:)?)[a-z][a-z\d+.-]+:/i.exec(trimmed) ?? []
  return prefix === '' ? trimmed : trimmed.slice(prefix.length).replace(/>$/, '')
}

/** Without an expression for the end, which would look at every run of spaces in the text again and again. */
function trimControls(text: string): string {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) <= 32) end--
  return text.slice(0, end).replace(/^[\0-\x20]+/, '')
}

/** Writes a URL in its usual form, without user name and password. */
export function normalUrl({ scheme, host, port, path, rest }: ParsedUrl): string {
  const shownPort = port === (defaultPorts[scheme] ?? '') ? '' : `:${port}`
  return `${scheme}://${host}${shownPort}${path}${rest}`
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443', ftp: '21' }

/** Tests a URL. `undefined` if the pattern is not about URLs, so that the text is compared. */
export interface UrlPattern {
  matches(url: ParsedUrl, matchesPath: (test: (path: string) => boolean) => boolean): boolean
  /** The scheme, for URLs without one. */
  readonly scheme: string
  /** False for `*.example.com/*`. */
  readonly hasScheme: boolean
  /** Whether the host is more than `*`. */
  readonly namesHost: boolean
  readonly hasUser: boolean
  /** Whether the path of the pattern contains one of the characters, so that a path without them can be compared, too. */
  mentions(characters: RegExp): boolean
}

/**
 * Compiles a pattern such as `https://*.example.com/*`. Host and path are matched on their own, so that no part of the path,
 * the query or the user name can pass for a host.
 *
 * @param isAllow Whether a `*` directly after the host, as in `https://example.com*`, stands for port and path only. Otherwise
 *   it also stands for the rest of a longer host.
 */
export function compileUrlPattern(pattern: string, isAllow: boolean): UrlPattern | undefined {
  const parts = /^([a-z*][a-z\d+.*-]*):\/\/([^/?#\\]*)(.*)$/is.exec(withScheme(pattern))
  if (!parts) return undefined
  const [, schemePattern = '', authority = '', rest = ''] = parts
  const scheme = schemePattern.toLowerCase()
  const { hostPattern, portPattern, coversRest } = readAuthority(authority, isAllow)
  const matchesScheme = compileGlob(scheme)
  const matchesHost = compileGlob(canonicalHost(hostPattern))
  const matchesPort = portPattern === undefined ? undefined : compileGlob(portPattern)
  const matchesRest = compileGlob(rest === '' && coversRest ? '*' : rest === '' ? '/' : rest)
  return {
    scheme: scheme.includes('*') ? 'https' : scheme,
    hasScheme: pattern.includes('://'),
    namesHost: /[a-z\d]/i.test(hostPattern),
    hasUser: authority.includes('@'),
    mentions: (characters) => characters.test(rest),
    matches(url, matchesPath) {
      if (!matchesScheme(url.scheme) || !matchesHost(url.host)) return false
      const isPort = matchesPort ? matchesPort(url.port) : coversRest || url.port === (defaultPorts[url.scheme] ?? '')
      return isPort && matchesPath((path) => matchesRest(path === '' ? '/' : path))
    },
  }
}

/** `*.example.com/*` is about hosts, too. */
function withScheme(pattern: string): string {
  return /^[\w.*-]*\.[a-z]{2,}(?::[\d*]+)?\//i.test(pattern) ? `*://${pattern}` : pattern
}

function readAuthority(authority: string, isAllow: boolean) {
  const [, host = '', portPattern] = /^(.*?)(?::([\d*]+))?$/s.exec(authority.slice(authority.lastIndexOf('@') + 1))!
  const coversRest = portPattern === undefined && host.endsWith('*')
  const isAfterName = coversRest && /[a-z\d\]]\*$/i.test(host)
  return { hostPattern: isAfterName && isAllow ? host.slice(0, -1) : host, portPattern, coversRest }
}

function canonicalHost(pattern: string): string {
  const url = `http://${pattern}/`
  const host = pattern.includes('*') || !URL.canParse(url) ? pattern.toLowerCase() : new URL(url).hostname
  return host.replace(/\.+$/, '')
}
