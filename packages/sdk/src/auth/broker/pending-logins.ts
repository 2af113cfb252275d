import { networkOf } from '../../util/account.ts'
import { clock } from '../../util/clock.ts'
import { OAuthError } from '../server/oauth-error.ts'
import type { EncryptedStore } from './encrypted-store.ts'

interface Pending {
  /** The id of the consent form. */
  readonly form: string
  /** The key of the stored login. */
  readonly login: string
  /** The network of the browser, if known. */
  readonly network: string | undefined
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/**
 * Logins of users who are at the provider. This is the first thing that is stored for an anonymous visitor, so their number is
 * limited. Each consent form can be sent once.
 */
export class PendingLogins {
  readonly #store: EncryptedStore
  readonly #max: number
  readonly #ttlMs: number
  /** By form id, in the order in which they expire. */
  readonly #pending = new Map<string, Pending>()

  constructor(store: EncryptedStore, max: number, ttlMs: number) {
    this.#store = store
    this.#max = max
    this.#ttlMs = ttlMs
  }

  /** Returns whether a login of this form is pending in this process. */
  has(form: string): boolean {
    return this.#pending.has(form)
  }

  /**
   * Stores a login until the user comes back from the provider. Resolves to false if the form has already been sent, here or
   * in another process.
   * @param peer The address of the browser, if known.
   */
  async begin(form: string, login: string, value: unknown, peer: string | undefined): Promise<boolean> {
    this.#removeExpired()
    if (this.#pending.has(form)) return false
    const network = peer === undefined ? undefined : networkOf(peer)
    const dropped = this.#makeRoom(network)
    this.#pending.set(form, { form, login, network, expiresAt: clock.now() + this.#ttlMs })
    if (dropped) await this.#store.delete('login', dropped.login)
    if ((await this.#store.get('form', form)) !== undefined) {
      this.#pending.delete(form)
      return false
    }
    await this.#store.set('form', form, true, this.#ttlMs)
    await this.#store.set('login', login, value, this.#ttlMs)
    return true
  }

  /** Returns and removes a login. Of several concurrent calls, only one gets it. */
  async finish<T extends { readonly binding: { readonly id: string } }>(login: string): Promise<T | undefined> {
    const found = await this.#store.take<T>('login', login)
    if (found) this.#pending.delete(found.binding.id)
    return found
  }

  /**
   * At the limit, evicts the oldest login of the network with the most logins, so that one network cannot lock out the others.
   * Behind a proxy all browsers have the same address, so new logins are refused instead.
   */
  #makeRoom(network: string | undefined): Pending | undefined {
    if (this.#pending.size < this.#max) return undefined
    const counts = new Map<string | undefined, number>()
    for (const pending of this.#pending.values()) counts.set(pending.network, (counts.get(pending.network) ?? 0) + 1)
    const [busiest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), [undefined, 0])
    if (most <= (counts.get(network) ?? 0) + 1) {
      throw new OAuthError('temporarily_unavailable', 'Too many pending logins. Try again later.', 503, {
        'retry-after': '60',
      })
    }
    const oldest = [...this.#pending.values()].find((pending) => pending.network === busiest)!
    this.#pending.delete(oldest.form)
    return oldest
  }

  #removeExpired(): void {
    const now = clock.now()
    for (const [form, { expiresAt }] of this.#pending) {
      if (expiresAt > now) return
      this.#pending.delete(form)
    }
  }
}
