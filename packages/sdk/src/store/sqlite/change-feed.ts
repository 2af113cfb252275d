import { random } from '../../util/random.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { warnOnce } from '../../util/warn.ts'
import type { Database, Statement } from './database.ts'
import { createTrim, type Trim } from './ttl-table.ts'

type Listener = (id: string, text?: string) => void

/** How often to check for writes by other processes. A check takes about ten microseconds. */
const pollIntervalMs = 25

/** How long changes are kept for other processes. A process that is suspended for longer misses some. */
const retentionMs = 30_000

/** Notifies watchers in this and other processes of changes to tasks. */
export class ChangeFeed {
  readonly #now: () => number
  readonly #dataVersion: Statement
  readonly #insert: Statement
  readonly #newest: Statement
  readonly #after: Statement
  readonly #trim: Trim
  /** Identifies the changes of this process, which were already delivered by `notify`. */
  readonly #source = random.uuid()
  readonly #listeners = new Set<{ listener: Listener }>()
  readonly #foreignWriteListeners = new Set<() => void>()
  #timer: Timer | undefined
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

  /** Writes a change for other processes. Call it in a transaction, then `notify` after the commit. */
  record(id: string, text: string | null = null): void {
    this.#insert.run(id, text, this.#source, this.#now())
  }

  /** Calls the listeners in this process. */
  notify(id: string, text?: string): void {
    // Iterate over a copy: a listener that is added during delivery starts with the next change.
    for (const entry of [...this.#listeners]) {
      if (this.#listeners.has(entry)) callSafely(() => entry.listener(id, text))
    }
  }

  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#seenNumber = Number(this.#newest.get()?.number ?? 0)
    const entry = { listener }
    this.#listeners.add(entry)
    this.#updatePolling()
    return () => {
      this.#listeners.delete(entry)
      this.#updatePolling()
    }
  }

  /** Calls the listener when another process wrote anything. Returns a function that stops it. */
  onForeignWrite(wake: () => void): () => void {
    this.#foreignWriteListeners.add(wake)
    this.#updatePolling()
    return () => {
      this.#foreignWriteListeners.delete(wake)
      this.#updatePolling()
    }
  }

  /** Removes some old changes. Call it in a transaction. Returns true if there may be more. */
  tidy(limit: number): boolean {
    return this.#trim(this.#now() - retentionMs, limit)
  }

  close(): void {
    this.#listeners.clear()
    this.#foreignWriteListeners.clear()
    this.#updatePolling()
  }

  #updatePolling(): void {
    const isNeeded = this.#listeners.size + this.#foreignWriteListeners.size > 0
    if (isNeeded === (this.#timer !== undefined)) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
    if (!isNeeded) return
    this.#timer = scheduler.setInterval(() => callSafely(() => this.#poll()), pollIntervalMs)
    scheduler.unref(this.#timer)
  }

  #poll(): void {
    // The data version changes only when another connection commits.
    const version = Number(this.#dataVersion.get()?.data_version)
    if (version === this.#seenVersion) return
    this.#seenVersion = version
    if (this.#listeners.size > 0) this.#readChanges()
    for (const wake of this.#foreignWriteListeners) wake()
  }

  #readChanges(): void {
    for (const { number, task, said, source } of this.#after.all(this.#seenNumber)) {
      this.#seenNumber = Number(number)
      if (source !== this.#source) this.notify(String(task), said === null ? undefined : String(said))
    }
  }
}

function callSafely(work: () => void): void {
  try {
    work()
  } catch (error) {
    warnOnce('task-watcher', `A task watcher threw an error: ${error}`)
  }
}
