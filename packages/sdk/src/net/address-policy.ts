import { HttpError } from '../errors.ts'
import { isLoopbackHost } from '../util/loopback.ts'

/** Where requests may go besides public addresses. */
export interface Permissions {
  /** Allow private networks (RFC 1918, RFC 6598, unique local addresses). Default false. */
  allowPrivate?: boolean | undefined
  /** Allow this machine; `'http'` also without TLS, if the URL names it literally. Default false. */
  allowLoopback?: boolean | 'http' | undefined
}

/** The rule that a request or its response broke. */
export type GuardRule =
  | 'url'
  | 'scheme'
  | 'credentials'
  | 'method'
  | 'address'
  | 'redirect'
  | 'size'
  | 'encoding'
  | 'status'

/** A request was not sent, or its response rejected, by `guardedFetch`. It names the host and nothing else of the URL. */
export class GuardError extends HttpError {
  override name = 'GuardError'
  readonly rule: GuardRule
  readonly host: string

  constructor(rule: GuardRule, host: string, message: string, status?: number) {
    super(message, { outcome: status === undefined ? 'not-sent' : 'refused', status })
    this.rule = rule
    this.host = host
  }
}

/** The option that allows a kind of address. Kinds that are not listed are never allowed. */
const permissions: Partial<Record<AddressKind, 'allowPrivate' | 'allowLoopback'>> = {
  private: 'allowPrivate',
  shared: 'allowPrivate',
  'unique-local': 'allowPrivate',
  loopback: 'allowLoopback',
}

/** Decides where requests may go. */
export class AddressPolicy {
  readonly #allowed: Record<'allowPrivate' | 'allowLoopback', boolean>
  readonly #allowsPlainLoopback: boolean

  constructor({ allowPrivate = false, allowLoopback = false }: Permissions) {
    this.#allowed = { allowPrivate, allowLoopback: allowLoopback !== false }
    this.#allowsPlainLoopback = allowLoopback === 'http'
  }

  /** Throws if requests may not go to this URL, as far as that is known without DNS. */
  checkUrl(url: URL): void {
    const { host, protocol, username, password, hostname } = url
    if (protocol !== 'https:' && protocol !== 'http:') {
      throw new GuardError('scheme', host, `Scheme not allowed: ${protocol}. Only https: is`)
    }
    if (username !== '' || password !== '') {
      throw new GuardError('credentials', host, `The URL of ${host} contains a user name or password`)
    }
    if (protocol === 'http:' && !(this.#allowsPlainLoopback && isLoopbackUrl(url))) {
      const hint = isLoopbackUrl(url) ? `. Pass allowLoopback: 'http' to allow it on this machine` : ''
      throw new GuardError('scheme', host, `Scheme not allowed for ${host}: http:. Only https: is${hint}`)
    }
    const kind = kindOfHost(hostname)
    if (kind !== 'name') this.#check(host, kind)
  }

  /** Throws if requests may not go to this address, which DNS returned for the host of the URL. */
  checkAddress(url: URL, address: string): void {
    const kind = kindOfAddress(address)
    this.#check(url.host, kind)
    // A name for this machine that resolves to another one would send local traffic, perhaps without TLS, to a network.
    if (kindOfHost(url.hostname) === 'loopback' && kind !== 'loopback') {
      throw new GuardError('address', url.host, `Address not allowed for ${url.host}: it is not on this machine`)
    }
  }

  #check(host: string, kind: AddressKind): void {
    if (kind === 'public') return
    const permission = permissions[kind]
    if (permission && this.#allowed[permission]) return
    const hint = permission ? `. Pass ${permission} to allow it` : ''
    throw new GuardError('address', host, `Address not allowed for ${host}: ${descriptions[kind]}${hint}`)
  }
}

const descriptions: Record<Exclude<AddressKind, 'public'>, string> = {
  loopback: 'it is on this machine (loopback)',
  private: 'it is in a private network',
  shared: 'it is in a shared network (RFC 6598)',
  'unique-local': 'it is in a private network (unique local address)',
  'link-local': 'it is a link-local address, where clouds serve the credentials of their machines',
  'cloud-metadata': 'it serves the credentials of cloud machines',
  unspecified: 'it is the unspecified address',
  multicast: 'it is a multicast address',
  embedded: 'it is an IPv4 address inside an IPv6 address',
  reserved: 'it is a reserved address',
}

/** The kind of an address, or of a name that stands for an address without DNS. */
export type AddressKind =
  | 'public'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'unique-local'
  | 'link-local'
  | 'cloud-metadata'
  | 'unspecified'
  | 'multicast'
  | 'embedded'
  | 'reserved'

/**
 * The kind of a URL's host, as far as it is known without DNS; otherwise `'name'`.
 *
 * @param hostname As in `URL.hostname`, which has already normalized decimal, octal, hexadecimal and short forms.
 */
export function kindOfHost(hostname: string): AddressKind | 'name' {
  if (hostname.startsWith('[')) return kindOfV6(hostname.slice(1, -1))
  const v4 = parseV4(hostname)
  return v4 === undefined ? kindOfName(hostname.toLowerCase().replace(/\.+$/, '')) : kindOfV4(v4)
}

/** The kind of an address that DNS returned. */
export function kindOfAddress(address: string): AddressKind {
  const v4 = parseV4(address)
  if (v4 !== undefined) return kindOfV4(v4)
  const groups = parseV6(address)
  // On networks without IPv4, DNS64 maps every IPv4 address into this range (RFC 6147), so the address inside counts.
  if (groups && isNat64(groups)) return kindOfV4(joinV4(groups[6]!, groups[7]!))
  return kindOfV6(address)
}

/** True if a URL names this machine literally, which no name server can change. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  return isLoopbackHost(hostname)
}

/** True for https: URLs, and for http: URLs of this machine, whose traffic no network can read. */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(url))
}

/** True if the host of a URL is an address, not a name. */
export function isLiteral(hostname: string): boolean {
  return hostname.startsWith('[') || parseV4(hostname) !== undefined
}

/** Names of this machine (RFC 6761), and names that are never public: mDNS, `.internal`, home networks, names without a dot. */
function kindOfName(name: string): AddressKind | 'name' {
  if (name === '') return 'reserved'
  const last = name.slice(name.lastIndexOf('.') + 1)
  if (last === 'localhost') return 'loopback'
  if (name === 'metadata.google.internal') return 'cloud-metadata'
  if (last === name || last === 'local' || last === 'internal' || name.endsWith('.home.arpa')) return 'private'
  return 'name'
}

interface Block {
  readonly first: number
  readonly bits: number
  readonly kind: AddressKind
}

/** From the IANA special-purpose registries (RFC 6890 and its updates). The first matching block counts. */
const blocksV4: readonly Block[] = [
  // Metadata services of Azure, Alibaba and Oracle; other clouds use link-local addresses.
  block('168.63.129.16/32', 'cloud-metadata'),
  block('100.100.100.200/32', 'cloud-metadata'),
  block('192.0.0.192/32', 'cloud-metadata'),
  block('0.0.0.0/8', 'unspecified'),
  block('10.0.0.0/8', 'private'),
  block('100.64.0.0/10', 'shared'),
  block('127.0.0.0/8', 'loopback'),
  block('169.254.0.0/16', 'link-local'),
  block('172.16.0.0/12', 'private'),
  block('192.0.0.0/24', 'reserved'),
  block('192.0.2.0/24', 'reserved'),
  block('192.88.99.0/24', 'reserved'),
  block('192.168.0.0/16', 'private'),
  // For network benchmarks; some VPN clients resolve every name to an address of this block.
  block('198.18.0.0/15', 'private'),
  block('198.51.100.0/24', 'reserved'),
  block('203.0.113.0/24', 'reserved'),
  block('224.0.0.0/4', 'multicast'),
  block('240.0.0.0/4', 'reserved'),
]

function block(range: string, kind: AddressKind): Block {
  const [address, bits] = range.split('/')
  return { first: parseV4(address!)!, bits: Number(bits), kind }
}

function kindOfV4(address: number): AddressKind {
  const found = blocksV4.find(({ first, bits }) => Math.floor((address - first) / 2 ** (32 - bits)) === 0)
  return found?.kind ?? 'public'
}

/** Metadata services of AWS and Google. */
const metadataV6: ReadonlySet<string> = new Set(['fd00:ec2:0:0:0:0:0:254', 'fd20:ce:0:0:0:0:0:254'])

function kindOfV6(address: string): AddressKind {
  const groups = parseV6(address)
  if (!groups) return 'reserved'
  const [a, b] = groups as [number, number]
  if (metadataV6.has(groups.map((group) => group.toString(16)).join(':'))) return 'cloud-metadata'
  if (groups.slice(0, 7).every((group) => group === 0)) {
    if (groups[7] === 0) return 'unspecified'
    if (groups[7] === 1) return 'loopback'
  }
  if (embedsV4(groups)) return 'embedded'
  if (a >= 0xff00) return 'multicast'
  if ((a & 0xffc0) === 0xfe80) return 'link-local'
  if ((a & 0xfe00) === 0xfc00) return 'unique-local'
  // Only 2000::/3 has been allocated; it includes blocks for IETF protocols (2001::/23) and documentation.
  const isGlobal = (a & 0xe000) === 0x2000
  const isSpecial = (a === 0x2001 && b < 0x200) || (a === 0x2001 && b === 0xdb8) || (a === 0x3fff && b < 0x1000)
  return isGlobal && !isSpecial ? 'public' : 'reserved'
}

/**
 * Other spellings of IPv4 addresses: compatible (::/96), mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96), NAT64
 * (64:ff9b::/96 and 64:ff9b:1::/48), 6to4 (2002::/16) and Teredo (2001::/32).
 */
function embedsV4(groups: readonly number[]): boolean {
  const [a, b, c, d, e, f] = groups as [number, number, number, number, number, number]
  if (a === 0 && b === 0 && c === 0 && d === 0)
    return (e === 0 && (f === 0 || f === 0xffff)) || (e === 0xffff && f === 0)
  return isNat64(groups) || (a === 0x64 && b === 0xff9b && c === 1) || a === 0x2002 || (a === 0x2001 && b === 0)
}

/** The well-known prefix of RFC 6052. */
function isNat64([a, b, ...rest]: readonly number[]): boolean {
  return a === 0x64 && b === 0xff9b && rest.slice(0, 4).every((group) => group === 0)
}

/** Parses four decimal numbers, the form that `URL` and DNS use; undefined for everything else. */
function parseV4(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number)
  if (!parts || parts.some((part) => part > 255)) return undefined
  return parts.reduce((sum, part) => sum * 256 + part, 0)
}

/** Parses eight groups; undefined if it is not an address. `URL` normalizes all spellings. */
function parseV6(text: string): number[] | undefined {
  // A link-local address may have a zone id.
  const bare = text.replace(/%.*$/, '')
  if (!/^[\da-f:.]+$/i.test(bare) || !URL.canParse(`http://[${bare}]/`)) return undefined
  const [head, tail] = new URL(`http://[${bare}]/`).hostname.slice(1, -1).split('::')
  const before = toGroups(head)
  const after = toGroups(tail)
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function toGroups(text: string | undefined): number[] {
  return text ? text.split(':').map((group) => Number.parseInt(group, 16)) : []
}

function joinV4(high: number, low: number): number {
  return high * 65_536 + low
}
