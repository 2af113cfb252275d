import { HttpError } from '../errors.ts'
import { type AddressKind, isLoopbackUrl, kindOfAddress, kindOfHost } from './addresses.ts'

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
