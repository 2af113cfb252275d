import type { Database } from './database.ts'

/**
 * Removes the oldest rows of a table. Rows are removed in the order of their numbers, so that the rest has no gaps, and the
 * newest row is never removed. Returns true if there may be more to remove.
 */
export type Trim = (untilMs: number, limit: number) => boolean

/** @param table A table with the columns `number` and `at`. */
export function createTrim(database: Database, table: string): Trim {
  const oldest = database.prepare(`SELECT number, at FROM ${table} ORDER BY number LIMIT ?`)
  const remove = database.prepare(
    `DELETE FROM ${table} WHERE number <= ? AND number < (SELECT max(number) FROM ${table})`,
  )
  return (untilMs, limit) => {
    let last: number | undefined
    let count = 0
    for (const { number, at } of oldest.all(limit)) {
      if (Number(at) > untilMs) break
      last = Number(number)
      count++
    }
    if (last !== undefined) remove.run(last)
    return count === limit
  }
}
