/**
 * Keeps what a client has got from authorization servers: tokens, registrations, flows under way. Values are JSON text and
 * secret. Every method but `lock` may answer at once or with a promise.
 */
export interface TokenStore {
  get(key: string): string | undefined | Promise<string | undefined>
  set(key: string, value: string): void | Promise<void>
  delete(key: string): void | Promise<void>
  /** Does the work while nobody else who shares the store, in this process or another, does any under the same key. */
  lock<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Lives as long as the process. */
export class MemoryTokenStore implements TokenStore {
  readonly #values = new Map<string, string>()
  readonly #last = new Map<string, Promise<unknown>>()

  get(key: string): string | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: string): void {
    this.#values.set(key, value)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  async lock<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const over = mine.catch(() => {})
    this.#last.set(key, over)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === over) this.#last.delete(key)
    }
  }
}
