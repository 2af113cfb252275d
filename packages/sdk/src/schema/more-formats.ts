import { formats, isLocalPart, isMailDomain, isRelativeReference, isUri } from './formats.ts'
import { isHostname, isIdnHostname } from './idna.ts'

/** All formats of JSON Schema. Kept apart from those of forms, because a server without `formats: true` does not need them: a bundler leaves the call out. */
export const allFormats: ReadonlyMap<string, (text: string) => boolean> = /* @__PURE__ */ (() =>
  new Map([
    ...formats,
    ['hostname', isHostname],
    ['idn-hostname', isIdnHostname],
    ['idn-email', isIdnEmail],
    ['uri-reference', isReference],
    ['iri', (text) => isUri(withoutUnicode(text))],
    ['iri-reference', (text) => isReference(withoutUnicode(text))],
    ['uri-template', (text) => uriTemplate.test(text)],
    ['duration', (text) => duration.test(text)],
    ['json-pointer', (text) => jsonPointer.test(text)],
    ['relative-json-pointer', (text) => relativeJsonPointer.test(text)],
    ['regex', isRegex],
  ]))()

/** RFC 3339 appendix A. Units follow each other without gaps: `P1Y2D` is not valid. */
const duration =
  /^P(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))$/
const jsonPointer = /^(?:\/(?:[^~/]|~[01])*)*$/
const relativeJsonPointer = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/
/** RFC 6570 section 2. Literals may contain apostrophes, as its errata say. */
const uriTemplate =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex finds control characters
  /^(?:[^\x00-\x20\x7f"<>\\^`{|}%]|%[\da-f]{2}|\{[+#./;?&=,!@|]?(?:\w|%[\da-f]{2})(?:\.?(?:\w|%[\da-f]{2}))*(?::[1-9]\d{0,3}|\*)?(?:,(?:\w|%[\da-f]{2})(?:\.?(?:\w|%[\da-f]{2}))*(?::[1-9]\d{0,3}|\*)?)*\})*$/i

function isReference(text: string): boolean {
  return isUri(text) || isRelativeReference(text)
}

/** RFC 3987: an IRI is a URI with more letters, each of which stands for a character that no scheme has. */
function withoutUnicode(text: string): string {
  return text
    .replace(/[\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}]|[\u{10000}-\u{efffd}]/gu, '~')
    .replace(/\?[^#]*/, (query) => query.replace(/[\u{e000}-\u{f8ff}\u{f0000}-\u{10fffd}]/gu, '~'))
}

function isIdnEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1) return false
  const domain = text.slice(at + 1)
  return (
    isLocalPart(text.slice(0, at).replace(/[^\0-\x7f]/gu, 'x')) &&
    (isMailDomain(domain) || isIdnHostname(domain.normalize('NFC')))
  )
}

function isRegex(text: string): boolean {
  try {
    return Boolean(new RegExp(text, 'u'))
  } catch {
    return false
  }
}
