import { closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { McpError } from '../../errors.ts'

/** What a column holds, and what a statement is given. */
export type Value = string | number | null

export type Row = Readonly<Record<string, Value>>

export interface Statement {
  /** For statements that give no rows. */
  run(...values: Value[]): { changes: number; rowid: number }
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

/** As much of SQLite as the stores need, of whichever package. */
export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** `node:sqlite` where the runtime has it, else the package `libsql`. A new file can be read by its owner only. */
export function openDatabase(path: string): Database {
  const open = findDriver()
  try {
    if (path !== ':memory:') createFile(path)
    return open(path)
  } catch (error) {
    throw new McpError('invalid-argument', `Cannot open the store ${path}: ${reasonOf(error)}`, { cause: error })
  }
}

/** What the database said, without the wrapping that a package puts around it. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The number by which SQLite names a failure, without its details; undefined for a failure that is not SQLite's. */
export function failureOf(error: unknown): number | undefined {
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
  // Not an import, because older runtimes do not have the module, and some have it only when a flag asks for it.
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: DatabaseClass } | undefined
  if (builtIn) return (path) => adapt(new builtIn.DatabaseSync(path))
  const Libsql = loadLibsql()
  return (path) => guard(adapt(new Libsql(path)))
}

function loadLibsql(): DatabaseClass {
  try {
    return createRequire(import.meta.url)('libsql')
  } catch (error) {
    throw new McpError(
      'invalid-argument',
      'The SQLite store needs the package libsql on this runtime: npm install libsql (or use Node 22.13 or newer)',
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

/** What libsql cannot take: other types end the process, and of text it gives back what is before a null character. */
function guard(database: Database): Database {
  const checked = (values: Value[]) => {
    for (const value of values) {
      if (value === null || typeof value === 'string' || typeof value === 'number') continue
      throw new McpError('invalid-argument', `A store keeps text, numbers and null, not a ${typeof value}`)
    }
    return values
  }
  return {
    ...database,
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => {
          refuseNull(values)
          return statement.run(...checked(values))
        },
        get: (...values) => statement.get(...checked(values)),
        all: (...values) => statement.all(...checked(values)),
      }
    },
  }
}

function refuseNull(values: Value[]): void {
  for (const value of values) {
    if (typeof value !== 'string' || !value.includes('\0')) continue
    throw new McpError('invalid-argument', 'A text with the character U+0000 cannot be kept in this store')
  }
}

function createFile(path: string): void {
  // Never opened when it is there: closing it again would drop the locks that another store of this process has on it.
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error
  }
}
