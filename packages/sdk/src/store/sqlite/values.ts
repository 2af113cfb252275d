import type { ValueStore } from '../ports.ts'
import type { TtlTable } from './ttl-table.ts'

/** Stores values in SQLite. */
export class SqliteValueStore implements ValueStore {
  readonly #table: TtlTable

  constructor(table: TtlTable) {
    this.#table = table
  }

  get(key: string): Promise<string | undefined> {
    return this.#table.get(key)
  }

  set(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#table.set(key, value, ttlMs)
  }

  take(key: string): Promise<string | undefined> {
    return this.#table.take(key)
  }

  async delete(key: string): Promise<void> {
    await this.#table.delete(key)
  }
}
