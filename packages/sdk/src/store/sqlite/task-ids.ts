import type { KnownTask, TaskIdStore } from '../ports.ts'
import type { Database, Statement } from './database.ts'
import { closedStore, type WriteBatch } from './write-batch.ts'

/** Stores the ids of tasks that a client created on servers. */
export class SqliteTaskIds {
  readonly #writes: WriteBatch
  readonly #insert: Statement
  readonly #delete: Statement
  readonly #list: Statement
  #isClosed = false

  constructor(database: Database, writes: WriteBatch) {
    this.#writes = writes
    this.#insert = database.prepare(
      'INSERT INTO task_id (server, id, tool, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
    this.#delete = database.prepare('DELETE FROM task_id WHERE server = ? AND id = ?')
    this.#list = database.prepare('SELECT id, tool, created_at FROM task_id WHERE server = ? ORDER BY created_at, id')
  }

  /** Returns the store for one server. */
  of(server: string): TaskIdStore {
    return {
      add: ({ taskId, tool, createdAt }) =>
        this.#writes.add(() => void this.#insert.run(server, taskId, tool, createdAt)),
      delete: (taskId) => this.#writes.add(() => void this.#delete.run(server, taskId)),
      list: () => this.#tasksOf(server),
    }
  }

  close(): void {
    this.#isClosed = true
  }

  #tasksOf(server: string): KnownTask[] {
    if (this.#isClosed) throw closedStore()
    return this.#list.all(server).map(({ id, tool, created_at }) => {
      return { taskId: String(id), tool: String(tool), createdAt: Number(created_at) }
    })
  }
}
