import type { ValueStore } from '../ports.ts'
import type { ExpiringTexts } from './expiring.ts'

export class SqliteValueStore implements ValueStore {
  readonly #texts: ExpiringTexts

  constructor(texts: ExpiringTexts) {
    this.#texts = texts
  }

  get(key: string): Promise<string | undefined> {
    return this.#texts.get(key)
  }

  set(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#texts.set(key, value, ttlMs)
  }

  take(key: string): Promise<string | undefined> {
    return this.#texts.take(key)
  }

  async delete(key: string): Promise<void> {
    await this.#texts.delete(key)
  }
}
