import { McpError } from '../../errors.ts'
import type { RunTask, TaskChange, TaskEntry, TaskPlace, TaskStore, TaskWorker, WorkOptions } from '../ports.ts'
import { Changes } from './changes.ts'
import type { Database, Row, Statement } from './database.ts'
import { Jobs } from './jobs.ts'
import { SqliteWorker } from './worker.ts'
import { closedStore, type Writes } from './writes.ts'

const columns = 'key, id, owner, version, created_at, expires_at, is_open, body'
const isAlive = '(expires_at IS NULL OR expires_at > ?)'

export class SqliteTaskStore implements TaskStore {
  readonly #writes: Writes
  readonly #now: () => number
  readonly #jobs: Jobs
  readonly #changes: Changes
  readonly #workers = new Set<SqliteWorker>()
  readonly #insert: Statement
  readonly #update: Statement
  readonly #get: Statement
  readonly #find: Statement
  readonly #list: Statement
  readonly #listAfter: Statement
  readonly #countOpen: Statement
  readonly #insertNote: Statement
  readonly #notes: Statement
  readonly #expired: Statement
  readonly #delete: Statement
  readonly #deleteNotes: Statement
  #isClosed = false

  constructor(database: Database, writes: Writes, now: () => number) {
    this.#writes = writes
    this.#now = now
    this.#jobs = new Jobs(database, now)
    this.#changes = new Changes(database, now)
    this.#insert = database.prepare(
      `INSERT INTO task (id, owner, version, created_at, expires_at, is_open, body) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    )
    this.#update = database.prepare(
      `UPDATE task SET owner = ?, version = ?, created_at = ?, expires_at = ?, is_open = ?, body = ?
       WHERE id = ? AND version = ? AND ${isAlive}`,
    )
    this.#get = database.prepare(`SELECT ${columns} FROM task WHERE id = ? AND ${isAlive}`)
    this.#find = database.prepare('SELECT key, expires_at FROM task WHERE id = ?')
    const order = 'ORDER BY created_at, id LIMIT ?'
    this.#list = database.prepare(`SELECT ${columns} FROM task WHERE owner = ? AND ${isAlive} ${order}`)
    this.#listAfter = database.prepare(
      `SELECT ${columns} FROM task WHERE owner = ? AND (created_at, id) > (?, ?) AND ${isAlive} ${order}`,
    )
    this.#countOpen = database.prepare(
      `SELECT count(*) AS number FROM task WHERE owner = ? AND is_open = 1 AND ${isAlive}`,
    )
    this.#insertNote = database.prepare('INSERT INTO note (task, text) VALUES (?, ?)')
    this.#notes = database.prepare('SELECT text FROM note WHERE task = ? ORDER BY key')
    this.#expired = database.prepare('SELECT key FROM task WHERE expires_at <= ? LIMIT ?')
    this.#delete = database.prepare('DELETE FROM task WHERE key = ?')
    this.#deleteNotes = database.prepare('DELETE FROM note WHERE task = ?')
  }

  async create(entry: TaskEntry, change: TaskChange = {}): Promise<void> {
    const isNew = await this.#writes.add(() => this.#insertEntry(entry, change))
    if (!isNew) throw new McpError('invalid-argument', `There is a task ${entry.id} already`)
    this.#committed(entry.id, change)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    this.#check()
    this.#writes.commitIfDue()
    const row = this.#get.get(id, this.#now())
    return row && toEntry(row)
  }

  async replace(entry: TaskEntry, change: TaskChange = {}): Promise<boolean> {
    const isReplaced = await this.#writes.add(() => this.#replaceEntry(entry, change))
    if (isReplaced) this.#committed(entry.id, change)
    return isReplaced
  }

  async notes(id: string): Promise<string[]> {
    this.#check()
    const row = this.#get.get(id, this.#now())
    return row ? this.#notes.all(Number(row.key)).map(({ text }) => String(text)) : []
  }

  async list(owner: string, options: { after?: TaskPlace | undefined; limit: number }): Promise<TaskEntry[]> {
    this.#check()
    const { after, limit } = options
    const rows = after
      ? this.#listAfter.all(owner, after.createdAt, after.id, this.#now(), limit)
      : this.#list.all(owner, this.#now(), limit)
    return rows.map(toEntry)
  }

  async countOpen(owner: string): Promise<number> {
    this.#check()
    return Number(this.#countOpen.get(owner, this.#now())?.number)
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskWorker> {
    this.#check()
    const wakeAll = () => this.#wakeAll()
    const worker = new SqliteWorker(run, options, { jobs: this.#jobs, writes: this.#writes, wakeAll })
    const deafen = this.#changes.onForeign(() => worker.wake())
    this.#workers.add(worker)
    worker.wake()
    return {
      stop: async () => {
        deafen()
        this.#workers.delete(worker)
        await worker.stop()
      },
    }
  }

  async watch(listener: (id: string, said?: string) => void): Promise<() => void> {
    this.#check()
    return this.#changes.listen(listener)
  }

  async say(id: string, text: string): Promise<void> {
    await this.#writes.add(() => this.#changes.record(id, text))
    this.#changes.tell(id, text)
  }

  /** In a transaction: removes some of what is over, and says whether there may be more. */
  tidy(limit: number): boolean {
    const rows = this.#expired.all(this.#now(), limit)
    for (const { key } of rows) this.#remove(Number(key))
    return this.#changes.tidy(limit) || rows.length === limit
  }

  /** From now on nothing is answered, heard or run. */
  end(): void {
    this.#isClosed = true
    this.#changes.end()
    for (const worker of this.#workers) worker.abandon()
    this.#workers.clear()
  }

  #check(): void {
    if (this.#isClosed) throw closedStore()
  }

  #insertEntry(entry: TaskEntry, change: TaskChange): boolean {
    const { id, owner, version, createdAt, expiresAt, isOpen, body } = entry
    const insert = () => this.#insert.run(id, owner, version, createdAt, expiresAt, Number(isOpen), body)
    let inserted = insert()
    if (inserted.changes === 0) {
      if (!this.#removeExpired(id)) return false
      inserted = insert()
    }
    this.#apply(id, inserted.rowid, change)
    return true
  }

  #replaceEntry(entry: TaskEntry, change: TaskChange): boolean {
    const { id, owner, version, createdAt, expiresAt, isOpen, body } = entry
    const values = [owner, version, createdAt, expiresAt, Number(isOpen), body, id, version - 1, this.#now()]
    if (this.#update.run(...values).changes === 0) return false
    this.#apply(id, Number(this.#find.get(id)?.key), change)
    return true
  }

  #apply(id: string, key: number, { notes = [], isReady = false }: TaskChange): void {
    for (const text of notes) this.#insertNote.run(key, text)
    if (isReady) this.#jobs.makeReady(key)
    this.#changes.record(id)
  }

  #committed(id: string, { isReady }: TaskChange): void {
    if (isReady) this.#wakeAll()
    this.#changes.tell(id)
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

function toEntry(row: Row): TaskEntry {
  return {
    id: String(row.id),
    owner: String(row.owner),
    version: Number(row.version),
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at == null ? null : Number(row.expires_at),
    isOpen: row.is_open === 1,
    body: String(row.body),
  }
}
