import { clock } from '../../util/clock.ts'
import type { EventStore, SessionStore, TaskIdStore, TaskStore, ValueStore } from '../ports.ts'
import { type Database, openDatabase } from './database.ts'
import { SqliteEventStore } from './events.ts'
import { prepareSchema } from './schema.ts'
import { SqliteTaskIds } from './task-ids.ts'
import { SqliteTaskStore } from './tasks.ts'
import { SqliteSessionStore, SqliteValueStore, TtlTable } from './ttl-table.ts'
import { WriteBatch } from './write-batch.ts'

/** Options of `sqliteStore()`. */
export interface SqliteStoreOptions {
  /**
   * Waits until every change is on disk. Without it, changes survive a crash of the process, but the last moments
   * before a power failure may be lost. The file stays consistent in either case. Default false.
   */
  survivesPowerLoss?: boolean | undefined
  /** How long events are kept so that streams can be resumed. Default 5 minutes. */
  maxEventAgeMs?: number | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/** The stores of a server in one database file. */
export interface SqliteStore {
  readonly tasks: TaskStore
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly values: ValueStore
  /**
   * For clients: stores the ids of open tasks, so that a client can resume them after a restart (`taskIds` of
   * `connect`).
   * @param server Identifies the server, and the user if there are several. For example, the URL of the server.
   */
  taskIds(server: string): TaskIdStore
  /** Writes pending changes and closes the file. Stop the workers first, or other processes take over running tasks. */
  close(): Promise<void>
}

/** How often expired rows are removed. Happens together with other writes. */
const tidyEveryMs = 1000
const tidyRows = 200

/**
 * Opens a SQLite file as the store for tasks, sessions, events and values. Any number of processes on this machine can
 * share it. Requires the package `libsql` if the runtime has no `node:sqlite`.
 *
 * @param path Created if it does not exist, readable by its owner only. `:memory:` lasts as long as the process.
 *
 * @example
 * ```ts
 * const store = sqliteStore('./demo.db')
 * const server = new McpServer({ name: 'demo', version: '1.0.0' }, { tasks: tasks({ store: store.tasks }) })
 * await serveHttp(server, { sessionStore: store.sessions, eventStore: store.events })
 * ```
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): SqliteStore {
  const database = openDatabase(path)
  try {
    prepareSchema(database, path, { survivesPowerLoss: options.survivesPowerLoss ?? false })
  } catch (error) {
    database.close()
    throw error
  }
  return assemble(database, options)
}

function assemble(database: Database, options: SqliteStoreOptions): SqliteStore {
  const now = options.now ?? (() => clock.now())
  const writes = new WriteBatch(database, () => tidy())
  const tasks = new SqliteTaskStore(database, writes, now)
  const sessions = new TtlTable(database, 'session', writes, now)
  const values = new TtlTable(database, 'value', writes, now)
  const events = new SqliteEventStore(database, writes, { now, maxAgeMs: options.maxEventAgeMs ?? 5 * 60_000 })
  const taskIds = new SqliteTaskIds(database, writes)
  const parts = [tasks, sessions, values, events]
  let isClosed = false
  let tidyAt = 0

  const tidy = () => {
    // If the clock was set back, `tidyAt` is further away than it can be otherwise.
    if (now() < tidyAt && tidyAt - now() <= tidyEveryMs) return
    const hasMore = parts.map((part) => part.tidy(tidyRows)).includes(true)
    tidyAt = hasMore ? 0 : now() + tidyEveryMs
  }
  const close = async () => {
    if (isClosed) return
    isClosed = true
    for (const part of [...parts, taskIds]) part.close()
    writes.close()
    try {
      // A libsql connection lasts until its statements are garbage collected, so empty the log here.
      database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    } finally {
      database.close()
    }
  }
  return {
    tasks,
    sessions: new SqliteSessionStore(sessions),
    events,
    values: new SqliteValueStore(values),
    taskIds: (server) => taskIds.of(server),
    close,
  }
}
