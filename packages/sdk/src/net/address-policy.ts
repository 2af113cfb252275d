import { HttpError } from '../errors.ts'
import { type AddressKind, isLoopbackUrl, kindOfAddress, kindOfHost } from './addresses.ts'

/** Where requests may go besides public addresses. */
export interface Permissions {
  /** Also go to private networks (RFC 1918, RFC 6598, unique local addresses). Default false. */
  allowPrivate?: boolean | undefined
  /** Also go to this machine; `'http'` without TLS too, if the URL names it literally. Default false. */
  allowLoopback?: boolean | 'http' | undefined
}

/** Which rule stood against a request. */
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

/** A request was not made, or its answer not taken, because of where it led. Names the host and nothing else of the URL. */
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

/** What may be gone to with any permission, and with which. Other kinds never. */
const permissions: Partial<Record<AddressKind, 'allowPrivate' | 'allowLoopback'>> = {
  private: 'allowPrivate',
  shared: 'allowPrivate',
  'unique-local': 'allowPrivate',
  loopback: 'allowLoopback',
}

/** Decides where requests may go. */
export class AddressPolicy {
  readonly #allowed: Record<'allowPrivate' | 'allowLoopback', boolean>
  readonly #plain: boolean

  constructor({ allowPrivate = false, allowLoopback = false }: Permissions) {
    this.#allowed = { allowPrivate, allowLoopback: allowLoopback !== false }
    this.#plain = allowLoopback === 'http'
  }

  url(url: URL): void {
    const { host, protocol, username, password, hostname } = url
    if (protocol !== 'https:' && protocol !== 'http:') {
      throw new GuardError('scheme', host, `Only https: is asked, not ${protocol}`)
    }
    if (username !== '' || password !== '') {
      throw new GuardError('credentials', host, `The URL at ${host} holds a user name or a password`)
    }
    if (protocol === 'http:' && !(this.#plain && isLoopbackUrl(url))) {
      const hint = isLoopbackUrl(url) ? `; this machine may be asked with allowLoopback: 'http'` : ''
      throw new GuardError('scheme', host, `${host} is not asked over http:, only https: is safe${hint}`)
    }
    const kind = kindOfHost(hostname)
    if (kind !== 'name') this.#judge(host, kind)
  }

  /** An address that DNS gave for the host of the URL. */
  address(url: URL, address: string): void {
    const kind = kindOfAddress(address)
    this.#judge(url.host, kind)
    // A name for this machine that leads elsewhere would take what is meant for it, perhaps without TLS, to a network.
    if (kindOfHost(url.hostname) === 'loopback' && kind !== 'loopback') {
      throw new GuardError('address', url.host, `${url.host} does not lead to this machine here`)
    }
  }

  #judge(host: string, kind: AddressKind): void {
    if (kind === 'public') return
    const permission = permissions[kind]
    if (permission && this.#allowed[permission]) return
    const hint = permission ? `; ${permission} permits it` : ''
    throw new GuardError('address', host, `${host} is not asked: ${descriptions[kind]}${hint}`)
  }
}

const descriptions: Record<Exclude<AddressKind, 'public'>, string> = {
  loopback: 'it leads to this machine',
  private: 'it leads to a private network',
  shared: 'it leads to a shared network (RFC 6598)',
  'unique-local': 'it leads to a private network (unique local address)',
  'link-local': 'it leads to the local link, where clouds keep credentials of their machines',
  'cloud-metadata': 'it leads to where a cloud keeps credentials of its machines',
  unspecified: 'it is the unspecified address',
  multicast: 'it is a multicast address',
  embedded: 'it is an IPv4 address inside an IPv6 address',
  reserved: 'it is a reserved address',
}
