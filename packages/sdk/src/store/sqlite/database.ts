import { closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { McpError } from '../../errors.ts'

/** A value of a column or a parameter. */
export type Value = string | number | null

/** A row of a result. */
export type Row = Readonly<Record<string, Value>>

/** A prepared statement. */
export interface Statement {
  /** Runs a statement that returns no rows. */
  run(...values: Value[]): { changes: number; rowid: number }
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

/** The part of SQLite that the stores need, whichever package provides it. */
export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/**
 * Opens a file with `node:sqlite`, or with the package `libsql` if the runtime has no SQLite. New files are readable by
 * their owner only.
 */
export function openDatabase(path: string): Database {
  const open = findDriver()
  try {
    if (path !== ':memory:') createFile(path)
    return open(path)
  } catch (error) {
    throw new McpError('invalid-argument', `Cannot open the store "${path}": ${messageOf(error)}`, { cause: error })
  }
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the primary SQLite result code of an error, or undefined if the error is not from SQLite. */
export function resultCodeOf(error: unknown): number | undefined {
  const { rawCode, errcode } = error as { rawCode?: unknown; errcode?: unknown }
  const code = rawCode ?? errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

type Open = (path: string) => Database

interface NodeStatement {
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
}

interface NodeDatabase {
  exec(sql: string): void
  prepare(sql: string): NodeStatement
  close(): void
}

type DatabaseClass = new (path: string) => NodeDatabase

function findDriver(): Open {
  // Not an import: older runtimes do not have the module, and some have it only behind a flag.
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: DatabaseClass } | undefined
  if (builtIn) return (path) => adapt(new builtIn.DatabaseSync(path))
  const Libsql = loadLibsql()
  return (path) => withChecks(adapt(new Libsql(path)))
}

function loadLibsql(): DatabaseClass {
  try {
    return createRequire(import.meta.url)('libsql')
  } catch (error) {
    throw new McpError(
      'invalid-argument',
      'sqliteStore() requires the package "libsql" on this runtime. Run "npm install libsql", or use Node.js 22.13 or newer.',
      { cause: error },
    )
  }
}

function adapt(database: NodeDatabase): Database {
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => {
          const { changes, lastInsertRowid } = statement.run(...values)
          return { changes: Number(changes), rowid: Number(lastInsertRowid) }
        },
        get: (...values) => statement.get(...values) as Row | undefined,
        all: (...values) => statement.all(...values) as Row[],
      }
    },
    close: () => database.close(),
  }
}

/** Rejects values that libsql mishandles: other types crash the process, and text is cut at a null character. */
function withChecks(database: Database): Database {
  const checked = (values: Value[]) => {
    for (const value of values) {
      if (value === null || typeof value === 'string' || typeof value === 'number') continue
      throw new McpError('invalid-argument', `Cannot store a value of type ${typeof value}: use text, a number or null`)
    }
    return values
  }
  return {
    ...database,
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => {
          rejectNullCharacter(values)
          return statement.run(...checked(values))
        },
        get: (...values) => statement.get(...checked(values)),
        all: (...values) => statement.all(...checked(values)),
      }
    },
  }
}

function rejectNullCharacter(values: Value[]): void {
  for (const value of values) {
    if (typeof value !== 'string' || !value.includes('\0')) continue
    throw new McpError('invalid-argument', 'Cannot store text that contains the character U+0000')
  }
}

function createFile(path: string): void {
  // Do not open an existing file: closing it would drop the locks that another store in this process holds on it.
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error
  }
}
