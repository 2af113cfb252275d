import type { SessionRecord, SessionStore } from '../ports.ts'
import type { TtlTable } from './ttl-table.ts'

/** Stores sessions in SQLite. */
export class SqliteSessionStore implements SessionStore {
  readonly #table: TtlTable

  constructor(table: TtlTable) {
    this.#table = table
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    const text = await this.#table.get(id)
    return text === undefined ? undefined : JSON.parse(text)
  }

  set(record: SessionRecord, ttlMs: number): Promise<void> {
    return this.#table.set(record.id, JSON.stringify(record), ttlMs)
  }

  replace(record: SessionRecord, ttlMs: number, before: SessionRecord): Promise<boolean> {
    return this.#table.replace(record.id, JSON.stringify(record), ttlMs, JSON.stringify(before))
  }

  touch(id: string, ttlMs: number): Promise<boolean> {
    return this.#table.touch(id, ttlMs)
  }

  delete(id: string): Promise<boolean> {
    return this.#table.delete(id)
  }
}
