import { McpError } from '../../errors.ts'
import { type EventReceiver, type EventStore, UnknownEventError } from '../ports.ts'
import type { Database, Statement } from './database.ts'
import { createTrim, type Trim } from './ttl-table.ts'
import { closedStore, type WriteBatch } from './write-batch.ts'

/** Events to read at a time, so that a long stream is never in memory as a whole. */
const pageLength = 100

/** Stores events in SQLite. */
export class SqliteEventStore implements EventStore {
  readonly #writes: WriteBatch
  readonly #now: () => number
  readonly #maxAgeMs: number
  readonly #insert: Statement
  readonly #find: Statement
  readonly #last: Statement
  readonly #after: Statement
  readonly #forget: Statement
  readonly #trim: Trim
  #isClosed = false

  constructor(database: Database, writes: WriteBatch, options: { now: () => number; maxAgeMs: number }) {
    this.#writes = writes
    this.#now = options.now
    this.#maxAgeMs = options.maxAgeMs
    this.#insert = database.prepare('INSERT INTO event (stream, message, at) VALUES (?, ?, ?)')
    this.#find = database.prepare('SELECT number FROM event WHERE number = ? AND stream = ? AND at > ?')
    this.#last = database.prepare('SELECT max(number) AS number FROM event WHERE stream = ?')
    this.#after = database.prepare(
      'SELECT number, message FROM event WHERE stream = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?',
    )
    this.#forget = database.prepare('DELETE FROM event WHERE stream = ? OR (stream >= ? AND stream < ?)')
    this.#trim = createTrim(database, 'event')
  }

  async storeEvent(streamId: string, message: unknown): Promise<string> {
    const text = JSON.stringify(message)
    if (text === undefined) throw new McpError('invalid-argument', 'An event must be text or a JSON value')
    const number = await this.#writes.add(() => this.#insert.run(streamId, text, this.#now()).rowid)
    return `${streamId}/${number}`
  }

  async replayEventsAfter(lastEventId: string, to: EventReceiver): Promise<string> {
    const { streamId, number } = this.#locate(lastEventId)
    // Stop at the newest event at the start, so that a receiver that stores events does not make this endless.
    const last = Number(this.#last.get(streamId)?.number)
    for (let from = number; from < last; ) {
      if (this.#isClosed) throw closedStore()
      // Events are removed only at the start of a stream, so while this one exists nothing after it is missing.
      if (!this.#exists(streamId, from)) throw new UnknownEventError(`${streamId}/${from}`)
      for (const row of this.#after.all(streamId, from, last, pageLength)) {
        from = Number(row.number)
        await to.send(`${streamId}/${from}`, JSON.parse(String(row.message)))
      }
    }
    return streamId
  }

  async forget(prefix: string): Promise<void> {
    const parent = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
    // "0" is the character after "/".
    await this.#writes.add(() => void this.#forget.run(prefix, `${parent}/`, `${parent}0`))
  }

  /** Removes some expired rows. Call it in a transaction. Returns true if there may be more. */
  tidy(limit: number): boolean {
    return this.#trim(this.#now() - this.#maxAgeMs, limit)
  }

  /** Makes every later call fail. */
  close(): void {
    this.#isClosed = true
  }

  #locate(eventId: string): { streamId: string; number: number } {
    if (this.#isClosed) throw closedStore()
    const slash = eventId.lastIndexOf('/')
    const streamId = eventId.slice(0, Math.max(0, slash))
    const number = Number(eventId.slice(slash + 1))
    // Compare the whole id: a number can be written in several ways, and only one was issued.
    const isIssued = `${streamId}/${number}` === eventId && Number.isSafeInteger(number)
    if (!isIssued || !this.#exists(streamId, number)) throw new UnknownEventError(eventId)
    return { streamId, number }
  }

  #exists(streamId: string, number: number): boolean {
    return this.#find.get(number, streamId, this.#now() - this.#maxAgeMs) !== undefined
  }
}
