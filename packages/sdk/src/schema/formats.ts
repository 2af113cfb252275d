/** A test per format, in time linear in the length of the string. */
export type Formats = ReadonlyMap<string, (text: string) => boolean>

/** The formats of forms, and others that are short. */
export const formats: Formats = new Map([
  ['email', isEmail],
  ['uri', isUri],
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['uuid', isUuid],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
])

function isDate(text: string): boolean {
  // `Date` moves a day that the month does not have to another date.
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text) === true
}

function isTime(text: string): boolean {
  const match = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?(?:z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i.exec(text)
  if (!match) return false
  const [, hour, minute, second, sign, offsetHour, offsetMinute] = match
  // RFC 3339 section 5.7: a leap second ends the last minute of a day in UTC.
  const offset = sign ? Number(`${sign}1`) * (Number(offsetHour) * 60 + Number(offsetMinute)) : 0
  return second !== '60' || (Number(hour) * 60 + Number(minute) - offset + 1440) % 1440 === 1439
}

function isDateTime(text: string): boolean {
  return /^t$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

function isUuid(text: string): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text)
}

function isIpv4(text: string): boolean {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text)
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1)
  const embedded = last?.includes('.') && text.endsWith(last) ? groups.pop() : undefined
  if (embedded !== undefined && !isIpv4(embedded)) return false
  const size = groups.length + (embedded === undefined ? 0 : 2)
  return (halves.length === 2 ? size < 8 : size === 8) && groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1) return false
  return isLocalPart(text.slice(0, at)) && isMailDomain(text.slice(at + 1))
}

/** Returns whether a text is valid before the `@` of a mail address. */
export function isLocalPart(text: string): boolean {
  if (text.length > 64) return false
  if (/^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/.test(text)) return true
  return text.split('.').every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom))
}

/** Returns whether a text is valid after the `@` of a mail address. */
export function isMailDomain(text: string): boolean {
  if (text.startsWith('[') && text.endsWith(']')) {
    const literal = text.slice(1, -1)
    return /^ipv6:/i.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal)
  }
  return text.length <= 255 && text.split('.').every(isHostLabel)
}

function isHostLabel(label: string): boolean {
  return label.length <= 63 && /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i.test(label)
}

const CHARS = "(?:[\\w.~!$&'()*+,;=-]|%[\\da-f]{2})*"
const MORE_CHARS = CHARS.replace('[', '[:@/')
const AUTHORITY = `(?:${CHARS.replace('[', '[:')}@)?(?:\\[([^\\]]*)\\]|${CHARS})(?::\\d*)?(?=[/?#]|$)`
const ANY_CHARS = CHARS.replace('[', '[:@/?')
const URI = new RegExp(
  `^[a-z][a-z\\d+.-]*:(?://${AUTHORITY}|(?!//))${MORE_CHARS}(?:\\?${ANY_CHARS})?(?:#${ANY_CHARS})?$`,
  'i',
)

/** Returns whether a text is a URI (RFC 3986). */
export function isUri(text: string): boolean {
  return matches(URI, text)
}

/** Created on first use, so that bundlers can leave it out. */
let relativeReference: RegExp | undefined

/** Returns whether a text is a reference relative to a URI (RFC 3986 section 4.2). */
export function isRelativeReference(text: string): boolean {
  // The first segment of a path may not look like a scheme.
  relativeReference ??= new RegExp(
    `^(?://${AUTHORITY}|(?!//|[^/?#]*:))${MORE_CHARS}(?:\\?${ANY_CHARS})?(?:#${ANY_CHARS})?$`,
    'i',
  )
  return matches(relativeReference, text)
}

function matches(pattern: RegExp, text: string): boolean {
  const match = pattern.exec(text)
  if (!match) return false
  const [, literal] = match
  return literal === undefined || isIpv6(literal) || /^v[\da-f]+\./i.test(literal)
}
