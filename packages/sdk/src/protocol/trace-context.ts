import { type JsonObject, omit } from '../util/objects.ts'

/** W3C Trace Context, `traceparent`. Version 00 has exactly four fields; later ones may append more. */
const traceparent = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-.*)?$/

const stateKey = String.raw`[a-z][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13}`
const stateMember = new RegExp(
  `^(?:${stateKey})=[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]{0,255}[\\x21-\\x2b\\x2d-\\x3c\\x3e-\\x7e]$`,
)

const token = String.raw`[!#$%&'*+\-.^_\x60|~\dA-Za-z]+`
const octets = String.raw`[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*`
const baggageMember = new RegExp(`^${token}[ \\t]*=[ \\t]*${octets}$`)
const baggageProperty = new RegExp(`^${token}(?:[ \\t]*=[ \\t]*${octets})?$`)

/** Longer values are refused; the W3C has receivers propagate at least 8,192 bytes of baggage. */
const maxLength = 8_192

const formats: Readonly<Record<string, (value: string) => boolean>> = {
  traceparent: (value) => traceparent.test(value) && (value.length === 55 || !value.startsWith('00')),
  tracestate: (value) => {
    const members = split(value, ',')
    const keys = members.map((member) => member.slice(0, member.indexOf('=')))
    return members.length <= 32 && new Set(keys).size === keys.length && members.every((each) => stateMember.test(each))
  },
  baggage: (value) => {
    const members = split(value, ',')
    return members.length > 0 && members.every(isBaggageMember)
  },
}

/** The first key of `_meta` whose value breaks its W3C format (2026-07-28 basic, `_meta`), or undefined. */
export function invalidTraceKey(meta: JsonObject): string | undefined {
  for (const key in formats) {
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined
    if (value !== undefined && !(typeof value === 'string' && value.length <= maxLength && formats[key]!(value)))
      return key
  }
  return undefined
}

/** The same without trace values that break their format; W3C Trace Context has receivers ignore those. */
export function withValidTrace<T extends JsonObject>(meta: T): T {
  const key = invalidTraceKey(meta)
  if (key === undefined) return meta
  // State belongs to the parent that it came with.
  return withValidTrace(omit(meta, key === 'traceparent' ? [key, 'tracestate'] : [key]) as T)
}

function isBaggageMember(member: string): boolean {
  const [pair = '', ...properties] = member.split(';').map((part) => part.trim())
  return baggageMember.test(pair) && properties.every((property) => baggageProperty.test(property))
}

/** Members may be empty and surrounded by blanks. */
function split(value: string, separator: string): string[] {
  return value
    .split(separator)
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
}
