import { unref } from '../../util/unref.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Database, Statement } from './database.ts'
import { createTrim, type Trim } from './trim.ts'

type Listener = (id: string, said?: string) => void

/** How often it is looked whether another process wrote something. A look takes about ten microseconds. */
const lookEveryMs = 25

/** How long changes are kept for other processes to hear of them. One that is stopped for longer misses some. */
const keptMs = 30_000

/** What happens to tasks, told to everyone who watches in this process and in others. */
export class Changes {
  readonly #now: () => number
  readonly #dataVersion: Statement
  readonly #insert: Statement
  readonly #newest: Statement
  readonly #after: Statement
  readonly #trim: Trim
  /** Whose changes need not be read, because they were heard of already. */
  readonly #source = crypto.randomUUID()
  readonly #listeners = new Set<{ listener: Listener }>()
  readonly #wakers = new Set<() => void>()
  #timer: ReturnType<typeof setInterval> | undefined
  #seenVersion = 0
  #seenNumber = 0

  constructor(database: Database, now: () => number) {
    this.#now = now
    this.#dataVersion = database.prepare('PRAGMA data_version')
    this.#insert = database.prepare('INSERT INTO change (task, said, source, at) VALUES (?, ?, ?, ?)')
    this.#newest = database.prepare('SELECT max(number) AS number FROM change')
    this.#after = database.prepare('SELECT number, task, said, source FROM change WHERE number > ? ORDER BY number')
    this.#trim = createTrim(database, 'change')
  }

  /** In a transaction. Who listens here is told when it is committed, by `tell`. */
  record(id: string, said: string | null = null): void {
    this.#insert.run(id, said, this.#source, this.#now())
  }

  tell(id: string, said?: string): void {
    // A copy: who begins to listen now hears of the next change first.
    for (const entry of [...this.#listeners]) {
      if (this.#listeners.has(entry)) call(() => entry.listener(id, said))
    }
  }

  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#seenNumber = Number(this.#newest.get()?.number ?? 0)
    const entry = { listener }
    this.#listeners.add(entry)
    this.#lookWhileNeeded()
    return () => {
      this.#listeners.delete(entry)
      this.#lookWhileNeeded()
    }
  }

  /** Calls when another process wrote anything. Gives the way to stop. */
  onForeign(wake: () => void): () => void {
    this.#wakers.add(wake)
    this.#lookWhileNeeded()
    return () => {
      this.#wakers.delete(wake)
      this.#lookWhileNeeded()
    }
  }

  /** In a transaction: removes some of what everyone has heard of, and says whether there may be more. */
  tidy(limit: number): boolean {
    return this.#trim(this.#now() - keptMs, limit)
  }

  end(): void {
    this.#listeners.clear()
    this.#wakers.clear()
    this.#lookWhileNeeded()
  }

  #lookWhileNeeded(): void {
    const isNeeded = this.#listeners.size + this.#wakers.size > 0
    if (isNeeded === (this.#timer !== undefined)) return
    clearInterval(this.#timer)
    this.#timer = undefined
    if (!isNeeded) return
    this.#timer = setInterval(() => call(() => this.#look()), lookEveryMs)
    unref(this.#timer)
  }

  #look(): void {
    // Changes with what others commit, and only then.
    const version = Number(this.#dataVersion.get()?.data_version)
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    if (this.#listeners.size > 0) this.#hear()
    for (const wake of this.#wakers) wake()
  }

  #hear(): void {
    for (const { number, task, said, source } of this.#after.all(this.#seenNumber)) {
      this.#seenNumber = Number(number)
      if (source !== this.#source) this.tell(String(task), said === null ? undefined : String(said))
    }
  }
}

function call(work: () => void): void {
  try {
    work()
  } catch (error) {
    warnOnce('task-watcher', `Hearing of a change of a task failed: ${error}`)
  }
}
