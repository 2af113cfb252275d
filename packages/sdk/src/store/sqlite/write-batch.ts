import { ClosedError } from '../../errors.ts'
import type { Database } from './database.ts'

/** Changes in one transaction. More would keep other processes waiting, and this one from doing anything else. */
const longestLot = 500

/** A change does not wait longer than this for its commit, however long the turn of the event loop takes. */
const longestWaitMs = 3

interface Waiting {
  work(): unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Group commit: changes of the same few milliseconds share one transaction, because the commit is what costs most. A promise
 * resolves after the commit that holds its change, so nothing that was promised is lost when the process dies.
 */
export class WriteBatch {
  readonly #database: Database
  readonly #tidy: () => void
  #waiting: Waiting[] = []
  /** When the oldest waiting change was added. */
  #waitingSince = 0
  #timer: NodeJS.Immediate | undefined
  #isClosed = false

  /** @param tidy Called in every transaction. */
  constructor(database: Database, tidy: () => void) {
    this.#database = database
    this.#tidy = tidy
  }

  /**
   * @param work Makes the change, and does nothing else: it is done once more, alone, when a change that shares its
   * transaction fails.
   */
  add<T>(work: () => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedStore())
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) this.#waitingSince = performance.now()
      this.#waiting.push({ work, resolve: resolve as Waiting['resolve'], reject })
      this.#timer ??= setImmediate(() => this.#writeLot())
      this.commitIfDue()
    })
  }

  /**
   * Commits changes that have waited long enough. Readers call it: thousands of polls can fill a turn of the event loop for
   * hundreds of milliseconds, and the work that they ask about must not stand still meanwhile.
   */
  commitIfDue(): void {
    if (this.#waiting.length > 0 && performance.now() - this.#waitingSince >= longestWaitMs) this.#writeLot()
  }

  /** Writes what waits, and takes no more. */
  close(): void {
    while (this.#waiting.length > 0) this.#writeLot()
    this.#isClosed = true
    clearImmediate(this.#timer)
  }

  #writeLot(): void {
    const lot = this.#waiting.splice(0, longestLot)
    clearImmediate(this.#timer)
    this.#timer = this.#waiting.length > 0 ? setImmediate(() => this.#writeLot()) : undefined
    this.#write(lot)
  }

  #write(lot: Waiting[]): void {
    let hasBegun = false
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      hasBegun = true
      const results = lot.map(({ work }) => work())
      this.#tidy()
      this.#database.exec('COMMIT')
      for (const [index, { resolve }] of lot.entries()) resolve(results[index])
    } catch (error) {
      if (hasBegun) this.#rollBack()
      // Each on its own, so that a bad one costs nobody else his change.
      if (hasBegun && lot.length > 1) for (const one of lot) this.#write([one])
      else for (const { reject } of lot) reject(error)
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

export function closedStore(): ClosedError {
  return new ClosedError('The store is closed')
}
