import { networkOf } from '../../util/account.ts'
import { clock } from '../../util/clock.ts'
import { OAuthError } from '../server/oauth-error.ts'
import type { Vault } from './encrypted-store.ts'

interface Pending {
  /** The form that was answered. */
  readonly form: string
  /** What the login is kept under. */
  readonly login: string
  /** Where the browser is, as far as that is known. */
  readonly network: string | undefined
  /** In milliseconds since 1970. */
  readonly until: number
}

/**
 * People who are on their way through the provider: the first that is kept of somebody whom nobody knows, so there is a bound
 * to how many there can be at a time. Each answer to a consent page counts once.
 */
export class PendingLogins {
  readonly #vault: Vault
  readonly #max: number
  readonly #keptMs: number
  /** By their forms, in the order in which they are forgotten. */
  readonly #pending = new Map<string, Pending>()

  constructor(vault: Vault, max: number, keptMs: number) {
    this.#vault = vault
    this.#max = max
    this.#keptMs = keptMs
  }

  /** Whether the answer to a form has led somebody to the provider, from where they have not come back to this process. */
  has(form: string): boolean {
    return this.#pending.has(form)
  }

  /**
   * Keeps a login until somebody comes back with its name. False when its form was answered before, here or in another process.
   * @param peer The address of the browser, where it is known.
   */
  async begin(form: string, login: string, value: unknown, peer: string | undefined): Promise<boolean> {
    this.#forgetOld()
    if (this.#pending.has(form)) return false
    const network = peer === undefined ? undefined : networkOf(peer)
    const dropped = this.#makeRoom(network)
    this.#pending.set(form, { form, login, network, until: clock.now() + this.#keptMs })
    if (dropped) await this.#vault.delete('login', dropped.login)
    if ((await this.#vault.get('form', form)) !== undefined) {
      this.#pending.delete(form)
      return false
    }
    await this.#vault.set('form', form, true, this.#keptMs)
    await this.#vault.set('login', login, value, this.#keptMs)
    return true
  }

  /** Of several who come back with the same name, one gets the login. */
  async finish<T extends { readonly binding: { readonly id: string } }>(login: string): Promise<T | undefined> {
    const found = await this.#vault.take<T>('login', login)
    if (found) this.#pending.delete(found.binding.id)
    return found
  }

  /**
   * When all places are taken, whoever has most of them gives one to somebody with fewer, so that one flood does not keep all
   * others out. Behind a proxy all have one address, and are told to wait.
   */
  #makeRoom(network: string | undefined): Pending | undefined {
    if (this.#pending.size < this.#max) return undefined
    const counts = new Map<string | undefined, number>()
    for (const pending of this.#pending.values()) counts.set(pending.network, (counts.get(pending.network) ?? 0) + 1)
    const [greediest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), [undefined, 0])
    if (most <= (counts.get(network) ?? 0) + 1) {
      throw new OAuthError('temporarily_unavailable', 'Too many people are signing in just now: try again later', 503, {
        'retry-after': '60',
      })
    }
    const oldest = [...this.#pending.values()].find((pending) => pending.network === greediest)!
    this.#pending.delete(oldest.form)
    return oldest
  }

  #forgetOld(): void {
    const now = clock.now()
    for (const [form, { until }] of this.#pending) {
      if (until > now) return
      this.#pending.delete(form)
    }
  }
}
