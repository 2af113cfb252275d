import { type AddressKind, kindOfAddress, kindOfHost } from '../../net/address-policy.ts'
import type { Finding } from './finding.ts'
import type { JoinedTexts } from './texts.ts'
import { toExcerpt } from './visible.ts'

/**
 * Finds addresses of cloud metadata, of this machine and of private networks, in URLs and on their own, also in decimal,
 * hexadecimal, octal and IPv6 forms. An ordinary address of this machine or of a private network is `low`.
 */
export function checkAddresses(texts: JoinedTexts): Finding[] {
  const findings: Finding[] = []
  for (const { host, isUrl, start } of findHosts(texts.text)) {
    const finding = checkHost(host, isUrl, texts.whereIs(start))
    if (finding) findings.push(finding)
    if (findings.length >= maxFindings) break
  }
  return findings
}

const maxFindings = 20
const maxHosts = 1_000

interface Host {
  readonly host: string
  readonly isUrl: boolean
  readonly start: number
}

/** The host of each URL, and words that are addresses themselves. */
function findHosts(text: string): Host[] {
  const hosts: Host[] = []
  if (mayHaveUrl.test(text)) {
    for (const { 0: whole, 1: host, index } of text.matchAll(urlHost)) {
      hosts.push({ host: host!, isUrl: true, start: index + whole.length - host!.length })
      if (hosts.length >= maxHosts) return hosts
    }
  }
  if (mayHaveAddress.test(text)) {
    for (const { 0: host, index } of text.matchAll(bareHost)) {
      hosts.push({ host, isUrl: false, start: index })
      if (hosts.length >= maxHosts) return hosts
    }
  }
  return hosts
}

/** Every match of `urlHost` and `bareHost` contains one of these. Most arguments do not, and `matchAll` copies the pattern. */
const mayHaveUrl = /[/\\]{2}/
const mayHaveAddress = /:|\.\d|0x|localhost|metadata\.google/i

/** What follows `//`, without user name and password. Browsers also take backslashes for slashes. */
const urlHost =
  /(?<=[a-z]:|^|[\s"'=(])[/\\]{2}(?:[^\s/\\?#@]{0,200}@)?(\[[\da-f:.%\w]{2,60}\]|[^\s/\\?#:@"'<>()[\],;]{1,253})/gi

const bareHost =
  /(?<![\w.:/@-])(?:localhost|metadata\.google\.internal|(?:0x[\da-f]{1,8}|\d{1,10})(?:\.(?:0x[\da-f]{1,8}|\d{1,8})){3}|0x[\da-f]{8}|\[?[\da-f]{0,4}:[\da-f:]{1,40}[\da-f.]{0,20}\]?)(?![\w.-]*[\w])/gi

function checkHost(written: string, isUrl: boolean, where: string): Finding | undefined {
  const parsed = parseHost(written)
  if (parsed === undefined) return undefined
  const { kind, isDisguised } = parsed
  const description = descriptions[kind]
  // In a text, a name without a dot is a word, and a number with colons may be a time.
  if (description === undefined || (!isUrl && !isLiteralAddress(written))) return undefined
  const isDangerous = kind === 'cloud-metadata' || kind === 'link-local' || isDisguised
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

/** `URL` reads every spelling that clients accept, so its form tells whether another one was used. */
function parseHost(written: string): { kind: AddressKind; isDisguised: boolean } | undefined {
  const isV6 = written.includes(':')
  const text = isV6 && !written.startsWith('[') ? `[${written}]` : written
  const url = `http://${text.replace(/%[\w]*\]$/, ']')}/`
  if (!URL.canParse(url)) return undefined
  const { hostname } = new URL(url)
  const kind = kindOfHost(hostname)
  if (kind === 'embedded') return { kind: kindOfAddress(embeddedV4(hostname)), isDisguised: true }
  if (kind === 'name') return wildcardDns(hostname)
  return { kind, isDisguised: !isV6 && hostname !== written.toLowerCase().replace(/\.+$/, '') }
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
function wildcardDns(hostname: string): { kind: AddressKind; isDisguised: boolean } | undefined {
  const match = /(?:^|[.-])(\d{1,3}[.-]\d{1,3}[.-]\d{1,3}[.-]\d{1,3})\.(?:nip|sslip|xip)\.io$/.exec(hostname)
  return match ? { kind: kindOfAddress(match[1]!.replaceAll('-', '.')), isDisguised: true } : undefined
}

function isLiteralAddress(written: string): boolean {
  if (/^(?:localhost|metadata\.google\.internal)$/i.test(written)) return true
  return written.includes(':') ? /^\[?(?:::|[\da-f]{1,4}:)/i.test(written) && /::|(?:[^:]*:){7}/.test(written) : true
}
