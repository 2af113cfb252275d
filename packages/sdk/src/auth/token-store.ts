/**
 * Stores tokens, client registrations and pending logins of a client. Values are JSON text and secret. Every method except
 * `lock` may return a value or a promise.
 */
export interface TokenStore {
  /** Returns the value of a key, or undefined. */
  get(key: string): string | undefined | Promise<string | undefined>
  /** Stores a value. */
  set(key: string, value: string): void | Promise<void>
  /** Removes a value. */
  delete(key: string): void | Promise<void>
  /** Runs `work` while no other user of the store, in this process or another, holds the lock of the same key. */
  lock<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Keeps tokens in memory, until the process ends. */
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
    const previous = this.#last.get(key) ?? Promise.resolve()
    const current = previous.then(work, work)
    const settled = current.catch(() => {})
    this.#last.set(key, settled)
    try {
      return await current
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
  }
}
