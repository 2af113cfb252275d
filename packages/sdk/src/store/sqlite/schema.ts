import { McpError } from '../../errors.ts'
import { type Database, messageOf, resultCodeOf } from './database.ts'

/** Written to the file header, so that this library and other tools can identify the file. */
const applicationId = 0x54_45_4e_4f

/** Adds a row of `task` to the counters, or subtracts it. */
const count = (row: 'new' | 'old', sign: '+' | '-') => `
    INSERT INTO usage VALUES (${row}.owner, 0, 0, 0) ON CONFLICT (owner) DO NOTHING;
    UPDATE usage SET open = open ${sign} ${row}.is_open, finished = finished ${sign} (1 - ${row}.is_open),
      bytes = bytes ${sign} (${row}.bytes + ${row}.note_bytes) WHERE owner = ${row}.owner;
    DELETE FROM usage WHERE owner = ${row}.owner AND open = 0 AND finished = 0;
    UPDATE total SET open = open ${sign} ${row}.is_open, finished = finished ${sign} (1 - ${row}.is_open),
      bytes = bytes ${sign} (${row}.bytes + ${row}.note_bytes);`

/**
 * The migrations: each leads from one version of the schema to the next. Never change a released one.
 *
 * `job` has a row for every task that is ready or running. `due_at` is when a worker may take it: immediately, after a
 * retry delay, or when the lease of the current worker expires. So one index finds the next task to run.
 *
 * `usage` and `total` count tasks and bytes. Triggers update them in the transaction that changes a task, whichever
 * process runs it.
 *
 * `change` notifies other processes. Its newest row is never removed, because numbers continue from it.
 */
const migrations = [
  `
  CREATE TABLE task (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    listed_for TEXT,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    is_open INTEGER NOT NULL,
    finished_at INTEGER,
    bytes INTEGER NOT NULL,
    note_bytes INTEGER NOT NULL,
    summary TEXT NOT NULL,
    body TEXT NOT NULL
  );
  CREATE INDEX task_place ON task (listed_for, created_at, id) WHERE listed_for IS NOT NULL;
  CREATE INDEX task_open ON task (owner, expires_at) WHERE is_open = 1;
  CREATE INDEX task_open_expiry ON task (expires_at) WHERE is_open = 1 AND expires_at IS NOT NULL;
  CREATE INDEX task_finished ON task (owner, finished_at, key) WHERE is_open = 0;
  CREATE INDEX task_finished_first ON task (finished_at, key) WHERE is_open = 0;
  CREATE INDEX task_expiry ON task (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE usage (owner TEXT PRIMARY KEY, open INTEGER NOT NULL, finished INTEGER NOT NULL, bytes INTEGER NOT NULL)
    WITHOUT ROWID;
  CREATE TABLE total (key INTEGER PRIMARY KEY, open INTEGER NOT NULL, finished INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO total VALUES (1, 0, 0, 0);
  CREATE TRIGGER task_inserted AFTER INSERT ON task BEGIN
    ${count('new', '+')}
  END;
  CREATE TRIGGER task_deleted AFTER DELETE ON task BEGIN
    ${count('old', '-')}
  END;
  CREATE TRIGGER task_updated AFTER UPDATE OF owner, is_open, bytes, note_bytes ON task
  WHEN new.owner <> old.owner OR new.is_open <> old.is_open
    OR new.bytes + new.note_bytes <> old.bytes + old.note_bytes
  BEGIN
    ${count('old', '-')}
    ${count('new', '+')}
  END;

  CREATE TABLE note (key INTEGER PRIMARY KEY, task INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX note_task ON note (task);

  CREATE TABLE job (
    task INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    claim TEXT,
    is_again INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX job_due ON job (owner, due_at);

  CREATE TABLE change (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    said TEXT,
    source TEXT NOT NULL,
    at INTEGER NOT NULL
  );

  CREATE TABLE task_id (
    server TEXT NOT NULL,
    id TEXT NOT NULL,
    tool TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (server, id)
  ) WITHOUT ROWID;

  CREATE TABLE session (id TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL);
  CREATE INDEX session_expiry ON session (expires_at);

  CREATE TABLE value (id TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL);
  CREATE INDEX value_expiry ON value (expires_at);

  CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    message TEXT NOT NULL,
    at INTEGER NOT NULL
  );
  CREATE INDEX event_stream ON event (stream, number);
  `,
]

/** Options of `prepareSchema`. */
export interface PrepareOptions {
  survivesPowerLoss: boolean
}

/** Configures the connection and migrates the file. Throws if the file belongs to another program. */
export function prepareSchema(database: Database, path: string, { survivesPowerLoss }: PrepareOptions): void {
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    checkOwner(database, path)
    // With WAL, readers do not wait for writers and a transaction is one write to the log. Commits survive a crash of
    // the process in both modes; FULL also waits for the disk, so that they survive a power failure.
    retryWhileBusy(() => database.prepare('PRAGMA journal_mode = WAL').get())
    database.exec(`PRAGMA synchronous = ${survivesPowerLoss ? 'FULL' : 'NORMAL'}`)
    migrate(database, path)
  } catch (error) {
    if (error instanceof McpError) throw error
    throw new McpError('invalid-argument', `Cannot use the store "${path}": ${explain(error)}`, { cause: error })
  }
}

/** Changing the journal mode ignores `busy_timeout` and fails at once if another process does the same. */
function retryWhileBusy(work: () => void): void {
  for (let triesLeft = 100; ; triesLeft--) {
    try {
      return work()
    } catch (error) {
      if (resultCodeOf(error) !== sqliteBusy || triesLeft === 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    }
  }
}

function migrate(database: Database, path: string): void {
  if (versionOf(database) === migrations.length) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // Check again: another process may have migrated the file meanwhile.
    checkOwner(database, path)
    for (const migration of migrations.slice(versionOf(database))) database.exec(migration)
    database.exec(`PRAGMA application_id = ${applicationId}`)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

function checkOwner(database: Database, path: string): void {
  const version = versionOf(database)
  const owner = numberOf(database, 'SELECT application_id AS number FROM pragma_application_id')
  const isNew = owner === 0 && numberOf(database, 'SELECT count(*) AS number FROM sqlite_master') === 0
  if (!isNew && owner !== applicationId) {
    throw new McpError(
      'invalid-argument',
      `"${path}" is a database of another program. Use a separate file for the store.`,
    )
  }
  if (version > migrations.length) {
    throw new McpError(
      'invalid-argument',
      `"${path}" was created by a newer version of this library. Update the library, or use another file.`,
    )
  }
}

function versionOf(database: Database): number {
  return numberOf(database, 'SELECT user_version AS number FROM pragma_user_version')
}

function numberOf(database: Database, sql: string): number {
  return Number(database.prepare(sql).get()?.number)
}

const sqliteBusy = 5
const sqliteReadonly = 8
const sqliteCorrupt = 11
const sqliteCantOpen = 14
const sqliteNotADatabase = 26

function explain(error: unknown): string {
  switch (resultCodeOf(error)) {
    case sqliteReadonly:
    case sqliteCantOpen:
      return `${messageOf(error)}. The file and its folder must be writable, because SQLite writes its log next to the file.`
    case sqliteCorrupt:
      return `${messageOf(error)}. The file is damaged: restore a backup, or delete it to start with an empty store.`
    case sqliteNotADatabase:
      return `${messageOf(error)}. Use a separate file for the store.`
    default:
      return messageOf(error)
  }
}
