import type { TaskIdStore } from '../../util/task-ids.ts'
import type { EventStore, SessionStore, TaskStore, ValueStore } from '../ports.ts'
import { type Database, openDatabase } from './database.ts'
import { SqliteEventStore } from './events.ts'
import { prepareSchema } from './schema.ts'
import { SqliteSessionStore } from './sessions.ts'
import { SqliteTaskIds } from './task-ids.ts'
import { SqliteTaskStore } from './tasks.ts'
import { TtlTable } from './ttl-table.ts'
import { SqliteValueStore } from './values.ts'
import { WriteBatch } from './write-batch.ts'

export interface SqliteStoreOptions {
  /**
   * Waits with every change until the disk has it. Without it, what was kept survives the death of the process, but the
   * last moments before a loss of power may be missing; the file is sound in either case. Default false.
   */
  survivesPowerLoss?: boolean | undefined
  /** How long events are kept for streams to be resumed. Default 5 minutes. */
  maxEventAgeMs?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** Everything that a server keeps, in one file. */
export interface SqliteStore {
  readonly tasks: TaskStore
  readonly sessions: SessionStore
  readonly events: EventStore
  readonly values: ValueStore
  /**
   * For clients: keeps the ids of open tasks, to come back to after a restart (`taskIds` of `connect`).
   * @param server Names the server, and the user where there are several: its URL, for example.
   */
  taskIds(server: string): TaskIdStore
  /** Writes what waits to be written. Tasks that run are left to other processes; stop the workers before. */
  close(): Promise<void>
}

/** How often the remains of what is over are removed, while something is written. */
const tidyEveryMs = 1000
const tidyAtATime = 200

/**
 * Keeps everything in a file, which any number of processes on this machine may share. Needs the package `libsql` where
 * the runtime has no `node:sqlite`.
 *
 * ```ts
 * const store = sqliteStore('./demo.db')
 * ```
 *
 * @param path Made when it is not there, for its owner only. `:memory:` is gone with the process.
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
  const now = options.now ?? Date.now
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
    // When the clock was set back, the next time is further away than it ever is.
    if (now() < tidyAt && tidyAt - now() <= tidyEveryMs) return
    const isMore = parts.map((part) => part.tidy(tidyAtATime)).includes(true)
    tidyAt = isMore ? 0 : now() + tidyEveryMs
  }
  const close = async () => {
    if (isClosed) return
    isClosed = true
    for (const part of [...parts, taskIds]) part.end()
    writes.close()
    try {
      // A connection of libsql lasts until its statements are collected as garbage, so the log is emptied here.
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
