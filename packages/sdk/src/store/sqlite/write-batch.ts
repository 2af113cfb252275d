import { ClosedError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { Database } from './database.ts'

/** Maximum changes per transaction. More would block other processes, and the event loop of this one. */
const maxBatch = 500

/** The longest a change waits for its commit, however long the turn of the event loop takes. */
const longestWaitMs = 3

interface PendingWrite {
  work(): unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Group commit: changes within a few milliseconds share one transaction, because the commit costs most. A promise
 * resolves after the commit of its change, so a change that was confirmed survives a crash of the process.
 */
export class WriteBatch {
  readonly #database: Database
  readonly #tidy: () => void
  #pending: PendingWrite[] = []
  /** When the oldest pending change was added. */
  #pendingSince = 0
  #timer: NodeJS.Immediate | undefined
  #isClosed = false

  /** @param tidy Runs in every transaction. */
  constructor(database: Database, tidy: () => void) {
    this.#database = database
    this.#tidy = tidy
  }

  /**
   * Adds a change to the next transaction.
   * @param work Makes the change, without other side effects: it runs again, alone, if another change in the same
   * transaction fails.
   */
  add<T>(work: () => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedStore())
    return new Promise<T>((resolve, reject) => {
      if (this.#pending.length === 0) this.#pendingSince = clock.monotonic()
      this.#pending.push({ work, resolve: resolve as PendingWrite['resolve'], reject })
      this.#timer ??= scheduler.setImmediate(() => this.#writeBatch())
      this.commitIfDue()
    })
  }

  /**
   * Commits pending changes that have waited long enough. Readers call it, because thousands of polls can block the
   * event loop for hundreds of milliseconds, and the tasks they poll for must progress meanwhile.
   */
  commitIfDue(): void {
    if (this.#pending.length > 0 && clock.monotonic() - this.#pendingSince >= longestWaitMs) this.#writeBatch()
  }

  /** Writes pending changes and rejects later ones. */
  close(): void {
    while (this.#pending.length > 0) this.#writeBatch()
    this.#isClosed = true
    scheduler.clearImmediate(this.#timer)
  }

  #writeBatch(): void {
    const batch = this.#pending.splice(0, maxBatch)
    scheduler.clearImmediate(this.#timer)
    this.#timer = this.#pending.length > 0 ? scheduler.setImmediate(() => this.#writeBatch()) : undefined
    this.#write(batch)
  }

  #write(batch: PendingWrite[]): void {
    let hasBegun = false
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      hasBegun = true
      const results = batch.map(({ work }) => work())
      this.#tidy()
      this.#database.exec('COMMIT')
      for (const [index, { resolve }] of batch.entries()) resolve(results[index])
    } catch (error) {
      if (hasBegun) this.#rollBack()
      // Retry each change alone, so that one failure does not affect the others.
      if (hasBegun && batch.length > 1) for (const one of batch) this.#write([one])
      else for (const { reject } of batch) reject(error)
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // Some failures end the transaction by themselves.
    }
  }
}

/** Returns the error for calls after `close`. */
export function closedStore(): ClosedError {
  return new ClosedError('The store is closed')
}
