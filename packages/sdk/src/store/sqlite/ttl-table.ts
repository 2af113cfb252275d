import type { SessionRecord, SessionStore, ValueStore } from '../ports.ts'
import type { Database, Statement } from './database.ts'
import { closedStore, type WriteBatch } from './write-batch.ts'

/** A table of texts with a time to live. */
export class TtlTable {
  readonly #writes: WriteBatch
  readonly #now: () => number
  readonly #get: Statement
  readonly #set: Statement
  readonly #touch: Statement
  readonly #delete: Statement
  readonly #expire: Statement
  #isClosed = false

  /** @param table A table with the columns `id`, `text` and `expires_at`. */
  constructor(database: Database, table: 'session' | 'value', writes: WriteBatch, now: () => number) {
    this.#writes = writes
    this.#now = now
    this.#get = database.prepare(`SELECT text FROM ${table} WHERE id = ? AND expires_at > ?`)
    this.#set = database.prepare(
      `INSERT INTO ${table} (id, text, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at`,
    )
    this.#touch = database.prepare(`UPDATE ${table} SET expires_at = ? WHERE id = ? AND expires_at > ?`)
    this.#delete = database.prepare(`DELETE FROM ${table} WHERE id = ? AND expires_at > ?`)
    this.#expire = database.prepare(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
    )
  }

  async get(id: string): Promise<string | undefined> {
    if (this.#isClosed) throw closedStore()
    return this.#find(id)
  }

  async set(id: string, text: string, ttlMs: number): Promise<void> {
    await this.#writes.add(() => void this.#set.run(id, text, this.#now() + ttlMs))
  }

  /** Replaces the text if it still equals `before`. */
  replace(id: string, text: string, ttlMs: number, before: string): Promise<boolean> {
    return this.#writes.add(() => {
      if (this.#find(id) !== before) return false
      this.#set.run(id, text, this.#now() + ttlMs)
      return true
    })
  }

  touch(id: string, ttlMs: number): Promise<boolean> {
    return this.#writes.add(() => this.#touch.run(this.#now() + ttlMs, id, this.#now()).changes > 0)
  }

  take(id: string): Promise<string | undefined> {
    return this.#writes.add(() => {
      const text = this.#find(id)
      return this.#remove(id) ? text : undefined
    })
  }

  delete(id: string): Promise<boolean> {
    return this.#writes.add(() => this.#remove(id))
  }

  /** Removes some expired rows. Call it in a transaction. Returns true if there may be more. */
  tidy(limit: number): boolean {
    return this.#expire.run(this.#now(), limit).changes === limit
  }

  /** Makes every later call fail. */
  close(): void {
    this.#isClosed = true
  }

  #find(id: string): string | undefined {
    const row = this.#get.get(id, this.#now())
    return row && String(row.text)
  }

  #remove(id: string): boolean {
    return this.#delete.run(id, this.#now()).changes > 0
  }
}

/**
 * Removes the oldest rows of a table. Rows are removed in the order of their numbers, so that the rest has no gaps, and
 * the newest row is never removed. Returns true if there may be more to remove.
 */
export type Trim = (untilMs: number, limit: number) => boolean

/** @param table A table with the columns `number` and `at`. */
export function createTrim(database: Database, table: string): Trim {
  const oldest = database.prepare(`SELECT number, at FROM ${table} ORDER BY number LIMIT ?`)
  const remove = database.prepare(
    `DELETE FROM ${table} WHERE number <= ? AND number < (SELECT max(number) FROM ${table})`,
  )
  return (untilMs, limit) => {
    let last: number | undefined
    let count = 0
    for (const { number, at } of oldest.all(limit)) {
      if (Number(at) > untilMs) break
      last = Number(number)
      count++
    }
    if (last !== undefined) remove.run(last)
    return count === limit
  }
}

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
