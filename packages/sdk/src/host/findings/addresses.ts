import { type AddressKind, isLiteral, kindOfAddress, kindOfHost } from '../../net/address-policy.ts'
import type { Finding } from './finding.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds addresses of cloud metadata, of this machine and of private networks, in URLs and on their own, also in decimal,
 * hexadecimal, octal and IPv6 forms. An ordinary address of this machine or of a private network is `low`.
 */
export function checkAddresses(texts: JoinedTexts): Finding[] {
  const findings: Finding[] = []
  for (const host of findHosts(texts.text)) {
    const [first, last] = texts.boundsAt(host.start)
    if (host.form === 'no-scheme' && !isReference(host, texts.text, first, last)) continue
    const isMentioned = host.form === 'bare' && isMention(host, texts.text, first, last)
    const finding = checkHost(host, isMentioned, texts.whereIs(host.start))
    if (finding) findings.push(finding)
    if (findings.length >= maxFindings) break
  }
  return findings
}

const maxFindings = 20
const maxHosts = 1_000

interface Host {
  readonly host: string
  /** `no-scheme`: after `//` or `\\`. `bare`: an address on its own. */
  readonly form: 'url' | 'no-scheme' | 'bare'
  readonly start: number
  /** The character that follows. */
  readonly next: string
}

/** The host of each URL, and words that are addresses themselves. */
function findHosts(text: string): Host[] {
  const hosts: Host[] = []
  if (mayHaveUrl.test(text)) {
    for (const { 0: whole, 1: host, index } of text.matchAll(urlHost)) {
      const end = index + whole.length
      const form = text[index - 1] === ':' ? 'url' : 'no-scheme'
      hosts.push({ host: host!, form, start: end - host!.length, next: text[end] ?? '' })
      if (hosts.length >= maxHosts) return hosts
    }
  }
  if (mayHaveAddress.test(text)) {
    for (const { 0: host, index } of text.matchAll(bareHost)) {
      hosts.push({ host, form: 'bare', start: index, next: text[index + host.length] ?? '' })
      if (hosts.length >= maxHosts) return hosts
    }
  }
  return hosts
}

/** Every match of `urlHost` and `bareHost` contains one of these. Most arguments do not, and `matchAll` copies the pattern. */
const mayHaveUrl = /[/\\]{2}/
const mayHaveAddress = /:|\.\d|0x|localhost|metadata\.google/i

/**
 * What follows `//`, without user name and password. Browsers also take backslashes for slashes. A single letter before the
 * colon is a drive of Windows.
 */
const urlHost =
  /(?<=[\w+.-][a-z\d]:|^|[\s"'=(])[/\\]{2}(?:[^\s/\\?#@]{0,200}@)?(\[[\da-f:.%\w]{2,60}\]|[^\s/\\?#:@"'`<>(){}[\],;$]{1,253})/gi

/**
 * Whether `//word` without a scheme names a host. In code it begins a comment, and `\\word` is an escaped backslash, so it has
 * to be the whole argument, or an address, or a name with a dot.
 */
function isReference({ host, start }: Host, text: string, first: number, last: number): boolean {
  if (addressOrDomain.test(host)) return true
  const isWhole = last - first <= maxReference && !/\s/.test(text.slice(first, last).trim())
  return (
    isWhole && (text[start - 1] === '/' || /^\\[^\s\\]/.test(text.slice(start + host.length, start + host.length + 2)))
  )
}

/** Numbers with fewer dots or digits are amounts: `//0.5`. */
const addressOrDomain =
  /^(?:localhost\.?|\[.*|\d{9,10}|0x[\da-f]{8}|\w{1,12}(?:\.\w{1,12}){3}\.?|(?=[^.]{0,63}[a-z])[^.]{1,63}(?:\.[^.]{1,63})+\.?)$/i

const maxReference = 2_000

const bareHost =
  /(?<![\w.:/\\@-])(?:localhost|metadata\.google\.internal|(?:0x[\da-f]{1,8}|\d{1,10})(?:\.(?:0x[\da-f]{1,8}|\d{1,8})){3}|0x[\da-f]{8}|\[?[\da-f]{0,4}:[\da-f:]{1,40}[\da-f.]{0,20}\]?)(?![\w.-]*[\w])/gi

function checkHost({ host: written, form, next }: Host, isMentioned: boolean, where: string): Finding | undefined {
  const parsed = parseHost(written)
  // An address is one, whatever follows.
  if (parsed === undefined || (parsed.isName && isTemplate(next))) return undefined
  const { kind, isDisguised } = parsed
  const description = descriptions[kind]
  // In a text, a name without a dot is a word, and a number with colons may be a time.
  if (description === undefined || (form === 'bare' && !isLiteralAddress(written))) return undefined
  const isDangerous = isDisguised || (!isMentioned && (kind === 'cloud-metadata' || kind === 'link-local'))
  const message = `The address ${description}${isDisguised ? ', written in a form that hides it' : ''}.`
  return {
    rule: 'private-address',
    severity: isDangerous ? 'high' : 'low',
    where,
    message,
    excerpt: toExcerpt(written, 80),
  }
}

const descriptions: Partial<Record<AddressKind, string>> = {
  loopback: 'is on this machine',
  unspecified: 'is on this machine',
  private: 'is in a private network',
  shared: 'is in a shared network',
  'unique-local': 'is in a private network',
  'link-local': 'is link-local, where clouds serve the credentials of their machines',
  'cloud-metadata': 'serves the credentials of cloud machines',
}

/** Whether a sentence mentions an address: words are around it, and no path or port follows that a request would need. */
function isMention({ host, start, next }: Host, text: string, first: number, last: number): boolean {
  if (next === '/' || next === ':' || next === '\\') return false
  const before = text.slice(Math.max(first, start - maxSentence), start)
  const after = text.slice(start + host.length, Math.min(last, start + host.length + maxSentence))
  const words = `${before} ${after}`.match(/(?<=^|[\s("'])\p{L}+(?=[.,;:!?)"']*(?:\s|$))/gu)
  return words !== null && words.length >= minWords
}

const maxSentence = 200
/** Commands have a word or two, but then options and paths. */
const minWords = 3

/** `https://service.<region>.example` and `http://api-${name}/` name no host yet. */
function isTemplate(next: string): boolean {
  return next !== '' && '<{[$'.includes(next)
}

interface ParsedHost {
  readonly kind: AddressKind
  readonly isDisguised: boolean
  /** A name such as `intranet`, and not an address. */
  readonly isName?: boolean
}

/** `URL` reads every spelling that clients accept, so its form tells whether another one was used. */
function parseHost(written: string): ParsedHost | undefined {
  const isV6 = written.includes(':')
  const text = isV6 && !written.startsWith('[') ? `[${written}]` : written
  const url = `http://${text.replace(/%[\w]*\]$/, ']')}/`
  if (!URL.canParse(url)) return undefined
  const { hostname } = new URL(url)
  const kind = kindOfHost(hostname)
  if (kind === 'embedded') return { kind: kindOfAddress(embeddedV4(hostname)), isDisguised: true }
  if (kind === 'name') return wildcardDns(hostname)
  const isDisguised = !isV6 && withoutLastDot(hostname) !== withoutLastDot(written.toLowerCase())
  return { kind, isDisguised, isName: kind === 'private' && !isLiteral(hostname) }
}

/** A dot at the end of a name ends the search for it in DNS, and hides nothing. */
function withoutLastDot(hostname: string): string {
  return hostname.replace(/\.$/, '')
}

/** The IPv4 address in the last 32 bits, or for 6to4 in the second and third group. */
function embeddedV4(hostname: string): string {
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail.split(':').filter(Boolean)
  const groups = [...before, ...new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
  const [high, low] = (groups[0] === '2002' ? groups.slice(1, 3) : groups.slice(6, 8)).map((group) =>
    Number.parseInt(group, 16),
  )
  return [high! >> 8, high! & 255, low! >> 8, low! & 255].join('.')
}

/** Services that resolve a name to the address in it. */
function wildcardDns(hostname: string): ParsedHost | undefined {
  const match = /(?:^|[.-])(\d{1,3}[.-]\d{1,3}[.-]\d{1,3}[.-]\d{1,3})\.(?:nip|sslip|xip)\.io$/.exec(hostname)
  return match ? { kind: kindOfAddress(match[1]!.replaceAll('-', '.')), isDisguised: true } : undefined
}

function isLiteralAddress(written: string): boolean {
  if (/^(?:localhost|metadata\.google\.internal)$/i.test(written)) return true
  return written.includes(':') ? /^\[?(?:::|[\da-f]{1,4}:)/i.test(written) && /::|(?:[^:]*:){7}/.test(written) : true
}
