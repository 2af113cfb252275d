import type { SessionRecord, SessionStore } from '../ports.ts'
import type { TtlTable } from './ttl-table.ts'

export class SqliteSessionStore implements SessionStore {
  readonly #texts: TtlTable

  constructor(texts: TtlTable) {
    this.#texts = texts
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    const text = await this.#texts.get(id)
    return text === undefined ? undefined : JSON.parse(text)
  }

  set(record: SessionRecord, ttlMs: number): Promise<void> {
    return this.#texts.set(record.id, JSON.stringify(record), ttlMs)
  }

  replace(record: SessionRecord, ttlMs: number, before: SessionRecord): Promise<boolean> {
    return this.#texts.replace(record.id, JSON.stringify(record), ttlMs, JSON.stringify(before))
  }

  touch(id: string, ttlMs: number): Promise<boolean> {
    return this.#texts.touch(id, ttlMs)
  }

  delete(id: string): Promise<boolean> {
    return this.#texts.delete(id)
  }
}
