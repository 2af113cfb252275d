import type { KnownTask, TaskIdStore } from '../../util/task-ids.ts'
import type { Database, Statement } from './database.ts'
import { closedStore, type WriteBatch } from './write-batch.ts'

/** The ids of tasks that a client created at a server. */
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

  of(server: string): TaskIdStore {
    return {
      add: ({ taskId, tool, createdAt }) =>
        this.#writes.add(() => void this.#insert.run(server, taskId, tool, createdAt)),
      delete: (taskId) => this.#writes.add(() => void this.#delete.run(server, taskId)),
      list: () => this.#tasksOf(server),
    }
  }

  end(): void {
    this.#isClosed = true
  }

  #tasksOf(server: string): KnownTask[] {
    if (this.#isClosed) throw closedStore()
    return this.#list.all(server).map(({ id, tool, created_at }) => {
      return { taskId: String(id), tool: String(tool), createdAt: Number(created_at) }
    })
  }
}
