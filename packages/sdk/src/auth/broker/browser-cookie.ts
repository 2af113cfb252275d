import { random } from '../../util/random.ts'
import type { Sealer } from '../../util/sealer.ts'
import type { EndpointRequest } from '../http.ts'

/** Ties a login to a browser. */
export interface Binding {
  /** The id of the login. */
  readonly id: string
  /** The number of the cookie that holds it. */
  readonly slot: number
  /** A random value, new for each step. */
  readonly key: string
  /** The hash of the client id. */
  readonly client: string
}

/** The number of logins that one browser can have pending. */
const slots = 8

/**
 * Ties a login to the browser in which it started, from the consent page to the callback of the provider. A link into the
 * login of another user does not work (security best practices, confused deputy).
 */
export class BrowserCookie {
  readonly #sealer: Sealer
  readonly #purpose: string
  readonly #maxAgeSeconds: number
  readonly #isSecure: boolean

  constructor(sealer: Sealer, issuer: string, maxAgeSeconds: number) {
    this.#sealer = sealer
    this.#purpose = `cookie of ${issuer}`
    this.#maxAgeSeconds = maxAgeSeconds
    // Browsers do not accept `Secure` cookies over plain http, which is possible only on loopback addresses.
    this.#isSecure = issuer.startsWith('https:')
  }

  /** Returns a slot that no login of this browser uses, so that several can be pending; any slot if all are used. */
  freeSlot(request: EndpointRequest): number {
    const cookies = request.header('cookie') ?? ''
    const all = Array.from({ length: slots }, (_, slot) => slot)
    const free = all.filter((slot) => !readCookie(cookies, this.#name(slot)))
    const candidates = free.length > 0 ? free : all
    return candidates[Math.floor(random.fraction() * candidates.length)] ?? 0
  }

  async set(binding: Binding): Promise<Record<string, string>> {
    return this.#header(binding.slot, await this.#sealer.seal(binding, this.#purpose), this.#maxAgeSeconds)
  }

  clear({ slot }: Binding): Record<string, string> {
    return this.#header(slot, '', 0)
  }

  async matches(request: EndpointRequest, { id, slot, key, client }: Binding): Promise<boolean> {
    const value = readCookie(request.header('cookie') ?? '', this.#name(slot))
    const found = (value && (await this.#sealer.open(value, this.#purpose))) as Binding | undefined
    return found?.id === id && found.key === key && found.client === client
  }

  #header(slot: number, value: string, maxAge: number): Record<string, string> {
    const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`
    return { 'set-cookie': `${this.#name(slot)}=${value}; ${attributes}` }
  }

  /** The number of names is limited, so that the browser cannot be filled with cookies. */
  #name(slot: number): string {
    return `${this.#isSecure ? '__Host-' : ''}tenon-login-${slot}`
  }
}

function readCookie(cookies: string, name: string): string | undefined {
  for (const cookie of cookies.split(';')) {
    const [found, value] = cookie.trim().split(/=(.*)/s)
    if (found === name) return value
  }
  return undefined
}
