import type { Database } from './database.ts'

/**
 * Removes the oldest rows of a table whose rows have a number and a time, and always from the beginning, so that what is
 * left has no gaps. The newest one stays. Says whether there may be more to remove.
 */
export type Trim = (untilMs: number, limit: number) => boolean

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
