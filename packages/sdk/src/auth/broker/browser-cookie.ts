import type { Sealer } from '../../util/sealer.ts'
import type { AuthCall } from '../http.ts'

/** What a browser has to have to go on with a login. */
export interface Binding {
  /** Names the login. */
  readonly id: string
  /** Which of the few cookies that a browser may have for us it is in. */
  readonly slot: number
  /** Random, and another one for each step. */
  readonly key: string
  /** The hash of the id of the client that it is for. */
  readonly client: string
}

/** Logins that one browser can have under way. */
const slots = 8

/**
 * Ties a login to the browser in which it began, from the consent page to the way back from the provider: a link to the
 * middle of somebody else's login leads nowhere (security best practices, confused deputy).
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
    // On plain http, which is possible on this machine only, browsers take no `Secure` cookies.
    this.#isSecure = issuer.startsWith('https:')
  }

  /** One that no login of this browser is in, so that several may go on at once; any when all are taken. */
  freeSlot(call: AuthCall): number {
    const cookies = call.header('cookie') ?? ''
    const all = Array.from({ length: slots }, (_, slot) => slot)
    const free = all.filter((slot) => !cookieIn(cookies, this.#name(slot)))
    const choice = free.length > 0 ? free : all
    return choice[Math.floor(Math.random() * choice.length)]!
  }

  async set(binding: Binding): Promise<Record<string, string>> {
    return this.#header(binding.slot, await this.#sealer.seal(binding, this.#purpose), this.#maxAgeSeconds)
  }

  clear({ slot }: Binding): Record<string, string> {
    return this.#header(slot, '', 0)
  }

  async isIn(call: AuthCall, { id, slot, key, client }: Binding): Promise<boolean> {
    const value = cookieIn(call.header('cookie') ?? '', this.#name(slot))
    const found = (value && (await this.#sealer.open(value, this.#purpose))) as Binding | undefined
    return found?.id === id && found.key === key && found.client === client
  }

  #header(slot: number, value: string, maxAge: number): Record<string, string> {
    const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`
    return { 'set-cookie': `${this.#name(slot)}=${value}; ${attributes}` }
  }

  /** One of a few, so that nobody can fill a browser with them. */
  #name(slot: number): string {
    return `${this.#isSecure ? '__Host-' : ''}tenon-login-${slot}`
  }
}

function cookieIn(cookies: string, name: string): string | undefined {
  for (const cookie of cookies.split(';')) {
    const [found, value] = cookie.trim().split(/=(.*)/s)
    if (found === name) return value
  }
  return undefined
}
