import type { ValueStore } from '../ports.ts'
import type { TtlTable } from './ttl-table.ts'

export class SqliteValueStore implements ValueStore {
  readonly #texts: TtlTable

  constructor(texts: TtlTable) {
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
