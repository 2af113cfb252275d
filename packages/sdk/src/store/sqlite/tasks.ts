import { McpError } from '../../errors.ts'
import type {
  RunTask,
  TaskEntry,
  TaskLimits,
  TaskPosition,
  TaskStore,
  TaskStoreUsage,
  TaskStoreWorker,
  TaskSummary,
  TaskWriteOptions,
  WorkOptions,
} from '../ports.ts'
import {
  admitTask,
  bytesOf,
  evictFinished,
  noLimits,
  type Overload,
  overloadError,
  type TaskInventory,
  type TaskUsage,
} from '../task-limits.ts'
import { ChangeFeed } from './change-feed.ts'
import type { Database, Row, Statement } from './database.ts'
import { Jobs } from './jobs.ts'
import { SqliteTaskWorker } from './task-worker.ts'
import { closedStore, type WriteBatch } from './write-batch.ts'

const summaryColumns = 'id, owner, listed_for, version, created_at, expires_at, is_open, summary'
/** Maximum expired tasks to remove to make room for a new one. */
const evictRows = 1_000
const isAlive = '(expires_at IS NULL OR expires_at > ?)'

/** Stores tasks in SQLite. */
export class SqliteTaskStore implements TaskStore {
  readonly #writes: WriteBatch
  readonly #now: () => number
  readonly #jobs: Jobs
  readonly #changes: ChangeFeed
  readonly #workers = new Set<SqliteTaskWorker>()
  readonly #insert: Statement
  readonly #update: Statement
  readonly #get: Statement
  readonly #find: Statement
  readonly #list: Statement
  readonly #listAfter: Statement
  readonly #usage: Statement
  readonly #total: Statement
  readonly #expiredOpen: Statement
  readonly #expiredOpenOf: Statement
  readonly #oldestOpen: Statement
  readonly #expiredOf: Statement
  readonly #oldestFinished: Statement
  readonly #oldestFinishedOf: Statement
  readonly #insertNote: Statement
  readonly #notes: Statement
  readonly #expired: Statement
  readonly #delete: Statement
  readonly #deleteNotes: Statement
  readonly #inventory: TaskInventory = {
    usage: (owner) => this.#usageOf(owner),
    removeOldestFinished: (owner, except) => this.#removeOldestFinished(owner, except),
  }
  #isClosed = false

  constructor(database: Database, writes: WriteBatch, now: () => number) {
    this.#writes = writes
    this.#now = now
    this.#jobs = new Jobs(database, now)
    this.#changes = new ChangeFeed(database, now)
    this.#insert = database.prepare(
      `INSERT INTO task (id, owner, listed_for, version, created_at, expires_at, is_open, finished_at, bytes, note_bytes,
         summary, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    this.#update = database.prepare(
      `UPDATE task SET owner = ?, listed_for = ?, version = ?, created_at = ?, expires_at = ?, is_open = ?,
         finished_at = ?, bytes = ?, note_bytes = note_bytes + ?, summary = ?, body = ?
       WHERE id = ? AND version = ? AND ${isAlive}`,
    )
    this.#get = database.prepare(`SELECT key, ${summaryColumns}, body FROM task WHERE id = ? AND ${isAlive}`)
    this.#find = database.prepare('SELECT key, expires_at FROM task WHERE id = ?')
    const order = 'ORDER BY created_at, id LIMIT ?'
    this.#list = database.prepare(`SELECT ${summaryColumns} FROM task WHERE listed_for = ? AND ${isAlive} ${order}`)
    this.#listAfter = database.prepare(
      `SELECT ${summaryColumns} FROM task WHERE listed_for = ? AND (created_at, id) > (?, ?) AND ${isAlive} ${order}`,
    )
    this.#usage = database.prepare('SELECT open, finished, bytes FROM usage WHERE owner = ?')
    this.#total = database.prepare('SELECT open, finished, bytes FROM total')
    const expiredOpen = 'SELECT count(*) AS number FROM task WHERE is_open = 1 AND expires_at <= ?'
    this.#expiredOpen = database.prepare(expiredOpen)
    this.#expiredOpenOf = database.prepare(`${expiredOpen} AND owner = ?`)
    this.#oldestOpen = database.prepare(`SELECT min(created_at) AS at FROM task WHERE is_open = 1 AND ${isAlive}`)
    this.#expiredOf = database.prepare(
      'SELECT key FROM task WHERE is_open = 1 AND owner = ? AND expires_at <= ? LIMIT ?',
    )
    const oldestFinished = 'ORDER BY finished_at, key LIMIT 2'
    this.#oldestFinished = database.prepare(`SELECT key, id FROM task WHERE is_open = 0 ${oldestFinished}`)
    this.#oldestFinishedOf = database.prepare(
      `SELECT key, id FROM task WHERE is_open = 0 AND owner = ? ${oldestFinished}`,
    )
    this.#insertNote = database.prepare('INSERT INTO note (task, text) VALUES (?, ?)')
    this.#notes = database.prepare('SELECT text FROM note WHERE task = ? ORDER BY key')
    this.#expired = database.prepare('SELECT key FROM task WHERE expires_at <= ? LIMIT ?')
    this.#delete = database.prepare('DELETE FROM task WHERE key = ?')
    this.#deleteNotes = database.prepare('DELETE FROM note WHERE task = ?')
  }

  async create(entry: TaskEntry, options: TaskWriteOptions = {}): Promise<void> {
    const refused = await this.#writes.add(() => this.#insertEntry(entry, options))
    if (refused === 'exists') throw new McpError('invalid-argument', `Task "${entry.id}" already exists`)
    if (refused) throw overloadError(refused, options.limits ?? noLimits)
    this.#committed(entry.id, options)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    this.#assertOpen()
    this.#writes.commitIfDue()
    const row = this.#get.get(id, this.#now())
    return row && toEntry(row)
  }

  async replace(entry: TaskEntry, options: TaskWriteOptions = {}): Promise<boolean> {
    const isReplaced = await this.#writes.add(() => this.#replaceEntry(entry, options))
    if (isReplaced) this.#committed(entry.id, options)
    return isReplaced
  }

  async notes(id: string): Promise<string[]> {
    this.#assertOpen()
    const row = this.#get.get(id, this.#now())
    return row ? this.#notes.all(Number(row.key)).map(({ text }) => String(text)) : []
  }

  async list(listedFor: string, options: { after?: TaskPosition | undefined; limit: number }): Promise<TaskSummary[]> {
    this.#assertOpen()
    const { after, limit } = options
    const rows = after
      ? this.#listAfter.all(listedFor, after.createdAt, after.id, this.#now(), limit)
      : this.#list.all(listedFor, this.#now(), limit)
    return rows.map(toSummary)
  }

  async countOpen(owner?: string): Promise<number> {
    this.#assertOpen()
    // The counter includes expired tasks until they are removed.
    const now = this.#now()
    const expired = owner === undefined ? this.#expiredOpen.get(now) : this.#expiredOpenOf.get(now, owner)
    return this.#inventory.usage(owner).open - Number(expired?.number)
  }

  async usage(): Promise<TaskStoreUsage> {
    const open = await this.countOpen()
    const { finished, bytes } = this.#usageOf(undefined)
    const oldest = this.#oldestOpen.get(this.#now())?.at
    return {
      open,
      finished,
      bytes,
      queued: this.#jobs.waiting(),
      oldestOpenAt: oldest == null ? undefined : Number(oldest),
    }
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskStoreWorker> {
    this.#assertOpen()
    const wakeAll = () => this.#wakeAll()
    const worker = new SqliteTaskWorker(run, options, { jobs: this.#jobs, writes: this.#writes, wakeAll })
    const stopListening = this.#changes.onForeignWrite(() => worker.wake())
    this.#workers.add(worker)
    worker.wake()
    return {
      stop: async () => {
        stopListening()
        this.#workers.delete(worker)
        await worker.stop()
      },
    }
  }

  async watch(listener: (id: string, text?: string) => void): Promise<() => void> {
    this.#assertOpen()
    return this.#changes.listen(listener)
  }

  async publish(id: string, text: string): Promise<void> {
    await this.#writes.add(() => this.#changes.record(id, text))
    this.#changes.notify(id, text)
  }

  /** Removes some expired rows. Call it in a transaction. Returns true if there may be more. */
  tidy(limit: number): boolean {
    const rows = this.#expired.all(this.#now(), limit)
    for (const { key } of rows) this.#remove(Number(key))
    return this.#changes.tidy(limit) || rows.length === limit
  }

  /** Makes every later call fail, removes watchers and abandons running tasks. */
  close(): void {
    this.#isClosed = true
    this.#changes.close()
    for (const worker of this.#workers) worker.abandon()
    this.#workers.clear()
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedStore()
  }

  /** Returns the reason if the task is refused. */
  #insertEntry(entry: TaskEntry, options: TaskWriteOptions): Overload | 'exists' | undefined {
    const { id, owner, listedFor, version, createdAt, expiresAt, isOpen, summary, body } = entry
    const { notes = [], limits = noLimits } = options
    if (this.#find.get(id) && !this.#removeExpired(id)) return 'exists'
    const [bytes, noteBytes] = [bytesOf(summary, body), bytesOf(...notes)]
    const overload = this.#admit(owner, bytes + noteBytes, limits)
    if (overload) return overload
    const state = [Number(isOpen), this.#finishedAt(entry), bytes, noteBytes, summary, body]
    const { rowid } = this.#insert.run(id, owner, listedFor, version, createdAt, expiresAt, ...state)
    this.#apply(entry, rowid, options)
    return undefined
  }

  #replaceEntry(entry: TaskEntry, options: TaskWriteOptions): boolean {
    const { id, owner, listedFor, version, createdAt, expiresAt, isOpen, summary, body } = entry
    const noteBytes = bytesOf(...(options.notes ?? []))
    const state = [Number(isOpen), this.#finishedAt(entry), bytesOf(summary, body), noteBytes, summary, body]
    const values = [owner, listedFor, version, createdAt, expiresAt, ...state, id, version - 1, this.#now()]
    if (this.#update.run(...values).changes === 0) return false
    this.#apply(entry, Number(this.#find.get(id)?.key), options)
    return true
  }

  #apply({ id, owner, isOpen }: TaskEntry, key: number, options: TaskWriteOptions): void {
    const { notes = [], isReady = false, limits } = options
    for (const text of notes) this.#insertNote.run(key, text)
    if (isReady) this.#jobs.makeReady(key, owner)
    if (!isOpen && limits) evictFinished(this.#inventory, owner, limits, { except: id })
    this.#changes.record(id)
  }

  #finishedAt({ isOpen }: TaskEntry): number | null {
    return isOpen ? null : this.#now()
  }

  #admit(owner: string, bytes: number, limits: TaskLimits): Overload | undefined {
    const overload = admitTask(this.#inventory, owner, bytes, limits)
    if (!overload) return undefined
    // Expired tasks count until they are removed.
    const expired = this.#expiredOf.all(owner, this.#now(), evictRows)
    for (const { key } of expired) this.#remove(Number(key))
    return expired.length > 0 ? admitTask(this.#inventory, owner, bytes, limits) : overload
  }

  #usageOf(owner: string | undefined): TaskUsage {
    const row = owner === undefined ? this.#total.get() : this.#usage.get(owner)
    return { open: Number(row?.open ?? 0), finished: Number(row?.finished ?? 0), bytes: Number(row?.bytes ?? 0) }
  }

  #removeOldestFinished(owner: string | undefined, except: string | undefined): boolean {
    const rows = owner === undefined ? this.#oldestFinished.all() : this.#oldestFinishedOf.all(owner)
    const oldest = rows.find(({ id }) => id !== except)
    if (oldest) this.#remove(Number(oldest.key))
    return oldest !== undefined
  }

  #committed(id: string, { isReady }: TaskWriteOptions): void {
    if (isReady) this.#wakeAll()
    this.#changes.notify(id)
  }

  #wakeAll(): void {
    for (const worker of this.#workers) worker.wake()
  }

  #removeExpired(id: string): boolean {
    const row = this.#find.get(id)
    if (row?.expires_at == null || Number(row.expires_at) > this.#now()) return false
    this.#remove(Number(row.key))
    return true
  }

  #remove(key: number): void {
    this.#deleteNotes.run(key)
    this.#jobs.remove(key)
    this.#delete.run(key)
  }
}

function toSummary(row: Row): TaskSummary {
  return {
    id: String(row.id),
    owner: String(row.owner),
    listedFor: row.listed_for == null ? null : String(row.listed_for),
    version: Number(row.version),
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at == null ? null : Number(row.expires_at),
    isOpen: row.is_open === 1,
    summary: String(row.summary),
  }
}

function toEntry(row: Row): TaskEntry {
  return { ...toSummary(row), body: String(row.body) }
}
