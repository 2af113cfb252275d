import { OAuthError } from '../server/oauth-error.ts'
import type { Vault } from './vault.ts'

/**
 * Answers to the consent page count once. They are also the first that is kept of somebody whom nobody knows, so there is a
 * bound to how many there can be at a time.
 */
export class PendingForms {
  readonly #vault: Vault
  readonly #max: number
  readonly #keptMs: number
  /** In the order in which they are forgotten. */
  readonly #used = new Map<string, number>()

  constructor(vault: Vault, max: number, keptMs: number) {
    this.#vault = vault
    this.#max = max
    this.#keptMs = keptMs
  }

  /** False when it was used before, here or in another process. */
  async use(id: string): Promise<boolean> {
    this.#forgetOld()
    if (this.#used.has(id)) return false
    if (this.#used.size >= this.#max) {
      throw new OAuthError('temporarily_unavailable', 'Too many people are signing in just now: try again later', 503, {
        'retry-after': '60',
      })
    }
    this.#used.set(id, Date.now() + this.#keptMs)
    if ((await this.#vault.get('form', id)) !== undefined) return false
    await this.#vault.set('form', id, true, this.#keptMs)
    return true
  }

  #forgetOld(): void {
    const now = Date.now()
    for (const [id, until] of this.#used) {
      if (until > now) return
      this.#used.delete(id)
    }
  }
}
