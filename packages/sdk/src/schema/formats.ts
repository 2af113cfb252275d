/** The formats that can be checked, each in time linear in the length of the text. */
export const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
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
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

function isTime(text: string): boolean {
  const match = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text)
  if (!match) return false
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [offsetHour, offsetMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  if (second < 60) return true
  // RFC 3339 section 5.7: a leap second ends the last minute of a day in UTC.
  const offset = (offsetHour * 60 + offsetMinute) * (match[4] === '-' ? -1 : 1)
  return (hour * 60 + minute - offset + 1440) % 1440 === 1439
}

function isDateTime(text: string): boolean {
  return /^t$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

function isUuid(text: string): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text)
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
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

function isLocalPart(text: string): boolean {
  if (text.length > 64) return false
  if (/^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/.test(text)) return true
  return text.split('.').every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom))
}

function isMailDomain(text: string): boolean {
  if (text.startsWith('[') && text.endsWith(']')) {
    const literal = text.slice(1, -1)
    return /^ipv6:/i.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal)
  }
  return text.length <= 255 && text.split('.').every(isHostLabel)
}

function isHostLabel(label: string): boolean {
  return label.length <= 63 && /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i.test(label)
}

function isUri(text: string): boolean {
  if (!/^[a-z][a-z\d+.-]*:(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[\da-f]{2})*$/i.test(text)) return false
  const rest = text.slice(text.indexOf(':') + 1)
  if (rest.indexOf('#') !== rest.lastIndexOf('#')) return false
  if (!rest.startsWith('//')) return !/[[\]]/.test(rest)
  const end = rest.slice(2).search(/[/?#]/)
  const authority = end === -1 ? rest.slice(2) : rest.slice(2, end + 2)
  return !/[[\]]/.test(rest.slice(2 + authority.length)) && isAuthority(authority)
}

function isAuthority(text: string): boolean {
  const at = text.indexOf('@')
  if (/[[\]]/.test(text.slice(0, at + 1))) return false
  const match = /^(\[[^[\]]*\]|[^:@[\]]*)(?::\d*)?$/.exec(text.slice(at + 1))
  const host = match?.[1]
  if (host === undefined) return false
  return !host.startsWith('[') || isIpv6(host.slice(1, -1)) || /^\[v[\da-f]+\./i.test(host)
}
