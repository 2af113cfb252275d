import { compileGlob } from './glob.ts'
import { normalText, readingsOf } from './text-readings.ts'
import { compileUrlPattern, type ParsedUrl, parseStrictUrl, parseUrl, type UrlPattern, urlText } from './url-pattern.ts'

/** Tests a text of an action. */
export type TextTest = (text: string) => boolean

/**
 * Compiles a pattern for a text that may be a path or a URL, in which `*` stands for any text. A rule that denies or asks
 * matches if one reading of the text does, or if there are more than are compared. A rule that allows matches if all of them
 * do, and none contains a `..` segment.
 */
export function compileTextPattern(pattern: string, isAllow: boolean): TextTest {
  if (pattern === '*') return () => true
  const matchesOne = compileReading(pattern, isAllow)
  if (isAllow && !pattern.includes('*')) return (text) => text === pattern
  return (text) => {
    const { texts, isComplete } = readingsOf(text)
    if (!isComplete) return !isAllow
    return isAllow ? texts.every(matchesOne) : deniedReadings(texts).some(matchesOne)
  }
}

/** The same for a regular expression of the operator. */
export function compileTextExpression(pattern: RegExp, isAllow: boolean): TextTest {
  // The flags g and y would make the result depend on the call before.
  const expression = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  return (text) => {
    if (text.length > maxTestedLength) return !isAllow
    const { texts, isComplete } = readingsOf(text)
    if (!isComplete) return !isAllow
    return isAllow ? texts.every((reading) => expression.test(reading)) : texts.some((each) => expression.test(each))
  }
}

/** The text comes from a model and the expression from the operator, so a slow one is bounded here. */
const maxTestedLength = 10_000

/** Also the folder itself for what is in it, a path in the current folder, and a path of a URL without what may follow it. */
function deniedReadings(texts: readonly string[]): readonly string[] {
  return texts.flatMap((reading) => {
    const forms = /^[/\\]/.test(reading) ? pathForms(reading) : [reading]
    return [...forms.flatMap((form) => [form, `${form}/`]), ...(/^[/\\~]|:/.test(reading) ? [] : [`./${reading}`])]
  })
}

/** Servers ignore the query, the fragment and path parameters when they choose what answers. */
function pathForms(path: string): readonly string[] {
  const cut = path.split(/[?#]/, 1)[0]!
  return [...new Set([path, cut, withoutParameters(cut)])]
}

function withoutParameters(path: string): string {
  return path.replace(/;[^/\\]*/g, '')
}

function compileReading(pattern: string, isAllow: boolean): TextTest {
  const url = compileUrlPattern(pattern, isAllow)
  const forms = [...new Set([pattern, normalPattern(pattern)])].map(compileGlob)
  const staysInside = isAllow && /[/\\]/.test(pattern)
  const matchesText: TextTest = (text) =>
    forms.some((matches) => matches(text)) && !(staysInside && hasParentSegment(text))
  if (!url) return matchesText
  // The path of a file URL is one of its readings.
  if (isAllow && url.scheme === 'file') {
    return (text) => {
      const parsed = parseUrl(text)
      return parsed ? allowsUrl(url, parsed, text) : text.startsWith('/') && matchesText(text)
    }
  }
  if (isAllow) {
    return (text) => {
      // What is not a URL cannot be on a host that is allowed, unless the pattern has no scheme either.
      const written = url.hasScheme || parseUrl(text) ? text : `https://${text}`
      const parsed = parseUrl(written)
      return parsed !== undefined && allowsUrl(url, parsed, written)
    }
  }
  return (text) => {
    const parsed = [parseUrl(text), parseStrictUrl(text)].filter((each) => each !== undefined)
    if (parsed.length > 0) return parsed.some((each) => deniesUrl(url, each))
    const guessed = parseUrl(withScheme(text, url))
    return (guessed !== undefined && deniesUrl(url, guessed)) || matchesText(text)
  }
}

/** Clients complete `//example.com/a` and `example.com/a`. A pattern for all hosts would take any word for one. */
function withScheme(text: string, { scheme, namesHost }: UrlPattern): string {
  const written = urlText(text)
  if (/^[\\/]{2}/.test(written)) return `${scheme}:${written}`
  return namesHost && /^[\w.-]{1,255}(?::\d+)?(?:[/\\?#]|$)/.test(written) ? `${scheme}://${written}` : text
}

function deniesUrl(pattern: UrlPattern, url: ParsedUrl): boolean {
  return pattern.matches(url, (test) =>
    readingsOf(url.path).texts.some((path) =>
      [path + url.rest, path, withoutParameters(path)].some((form) => test(form) || test(`${form}/`)),
    ),
  )
}

function allowsUrl(pattern: UrlPattern, url: ParsedUrl, text: string): boolean {
  if (!url.isClear || (url.hasUser && !pattern.hasUser)) return false
  const written = text.split(/[?#]/, 1)[0]!
  if (hasParentSegment(written)) return false
  return pattern.matches(url, (test) =>
    readingsOf(url.path).texts.every((path) => {
      const forms = [path + url.rest]
      // What the pattern does not mention must not be what makes it match.
      if (!pattern.mentions(/[?#]/)) forms.push(path)
      if (!pattern.mentions(/[?#;]/)) forms.push(withoutParameters(path))
      return forms.every(test) && !hasParentSegment(path)
    }),
  )
}

/** A pattern may itself have doubled slashes, backslashes and the like. Stars are not part of any of them. */
function normalPattern(pattern: string): string {
  const isPath =
    /[/\\]/.test(pattern) && (/^file:/i.test(pattern) || !/^[^/\\]*[:*]/.test(pattern.replace(/^[a-z]:/i, '')))
  return isPath ? normalText(pattern) : pattern
}

function hasParentSegment(text: string): boolean {
  return text.includes('..') && text.split(/[/\\]/).some((segment) => segment === '..' || segment.startsWith('..;'))
}
