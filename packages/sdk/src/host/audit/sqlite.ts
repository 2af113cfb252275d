import { McpError } from '../../errors.ts'
import type { Database, Statement } from '../../store/sqlite/database.ts'
import type { AuditHead, AuditLogOptions, ChainedAuditLog } from './audit.ts'
import { type AuditPosition, type AuditTarget, BatchedAuditLog } from './batched-log.ts'
import { type AuditLine, type Digest, parseLine } from './chain.ts'
import type { AuditSourceLine } from './verify.ts'

/** Options of `sqliteAudit`. */
export interface SqliteAuditOptions extends AuditLogOptions {
  /** Waits until every batch is on disk, so that it survives a power failure. Default false. */
  survivesPowerLoss?: boolean | undefined
}

/**
 * Opens an audit log in a SQLite file. Any number of processes on this machine can write to it; their entries form one chain.
 * Requires the package `libsql` if the runtime has no `node:sqlite`.
 *
 * @param path Created if it does not exist, readable by its owner only. Use a separate file, not the one of `sqliteStore`.
 *
 * @example
 * await using host = await createHost({ servers, audit: await sqliteAudit('audit.db') })
 */
export async function sqliteAudit(path: string, options: SqliteAuditOptions = {}): Promise<ChainedAuditLog> {
  const [{ openDatabase }, { nodeDigest }] = await Promise.all([
    import('../../store/sqlite/database.ts'),
    import('../node/audit-file.ts'),
  ])
  const digest = nodeDigest(options.key)
  const database = openDatabase(path)
  try {
    prepare(database, options.survivesPowerLoss ?? false)
    const target = new SqliteTarget(database)
    await checkHead(target.lastLine(), digest, path)
    return new BatchedAuditLog(target, digest, options)
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Returns the lines of an audit log in a SQLite file, for `verifyAudit`.
 *
 * @example
 * const { ok } = await verifyAudit(sqliteAuditLines('audit.db'))
 */
export async function* sqliteAuditLines(path: string): AsyncGenerator<AuditSourceLine> {
  const { openDatabase } = await import('../../store/sqlite/database.ts')
  const database = openDatabase(path)
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    const page = database.prepare(
      'SELECT position, line FROM audit_entry WHERE position > ? ORDER BY position LIMIT 1000',
    )
    let last = 0
    for (let line = 0; ; ) {
      const rows = page.all(last)
      for (const row of rows) yield { text: String(row.line), line: ++line }
      if (rows.length === 0) return
      last = Number(rows.at(-1)?.position)
    }
  } finally {
    database.close()
  }
}

/** The triggers prevent accidents. The hashes detect everything else. */
const schema = `
  CREATE TABLE IF NOT EXISTS audit_entry (position INTEGER PRIMARY KEY, line TEXT NOT NULL);
  CREATE TRIGGER IF NOT EXISTS audit_entry_update BEFORE UPDATE ON audit_entry
    BEGIN SELECT RAISE(ABORT, 'The audit log is append-only'); END;
  CREATE TRIGGER IF NOT EXISTS audit_entry_delete BEFORE DELETE ON audit_entry
    BEGIN SELECT RAISE(ABORT, 'The audit log is append-only'); END;`

function prepare(database: Database, survivesPowerLoss: boolean): void {
  database.exec('PRAGMA busy_timeout = 5000')
  try {
    database.prepare('PRAGMA journal_mode = WAL').get()
  } catch {
    // Fails while another process does the same. The mode is stored in the file, so this one uses it too.
  }
  database.exec(`PRAGMA synchronous = ${survivesPowerLoss ? 'FULL' : 'NORMAL'}`)
  database.exec(schema)
}

async function checkHead(text: string | undefined, digest: Digest, path: string): Promise<void> {
  if (text === undefined) return
  const line = parseLine(text)
  if (line && (await digest(line.body)) === line.hash) return
  throw new McpError(
    'invalid-argument',
    `Cannot continue the audit log "${path}": its last entry was changed, or the key is wrong. Pass the right key, or move the file away to start a new log.`,
  )
}

class SqliteTarget implements AuditTarget {
  readonly #database: Database
  readonly #insert: Statement
  readonly #last: Statement
  head: AuditHead | undefined

  constructor(database: Database) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO audit_entry (position, line) VALUES (?, ?)')
    this.#last = database.prepare('SELECT line FROM audit_entry ORDER BY position DESC LIMIT 1')
    this.head = parseLine(this.lastLine() ?? '')
  }

  lastLine(): string | undefined {
    const row = this.#last.get()
    return row === undefined ? undefined : String(row.line)
  }

  /**
   * The lines are composed before the transaction, which must not last longer than one turn of the event loop. If another writer
   * was faster, they are composed again.
   */
  async append(compose: (position: AuditPosition) => Promise<readonly AuditLine[]>): Promise<void> {
    for (;;) {
      const before = this.lastLine()
      const head = before === undefined ? undefined : headOf(before)
      const lines = await compose({ head, segment: head ? undefined : {}, roomBytes: Number.POSITIVE_INFINITY })
      if (!this.#insertAfter(before, lines)) continue
      this.head = lines.at(-1) ?? head
      return
    }
  }

  /** Returns false if there are entries after the given line. */
  #insertAfter(before: string | undefined, lines: readonly AuditLine[]): boolean {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const isNext = this.lastLine() === before
      if (isNext) for (const line of lines) this.#insert.run(line.seq, line.text)
      this.#database.exec('COMMIT')
      return isNext
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  async close(): Promise<void> {
    try {
      // A libsql connection lasts until its statements are garbage collected, so empty its log here.
      this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    } finally {
      this.#database.close()
    }
  }
}

function headOf(text: string): AuditHead {
  const line = parseLine(text)
  if (line) return { seq: line.seq, hash: line.hash }
  throw new McpError('invalid-argument', 'Cannot continue the audit log: its last entry was changed.')
}
