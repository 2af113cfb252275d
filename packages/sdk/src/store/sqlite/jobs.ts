import { random } from '../../util/random.ts'
import type { Database, Statement } from './database.ts'

/** A task that a worker has claimed. */
export interface Claim {
  readonly key: number
  readonly owner: string
  readonly id: string
  /** Unique to this claim, so that a worker that lost its lease cannot be mistaken for the current one. */
  readonly token: string
}

const firstRetryMs = 100
const longestRetryMs = 30_000

/** Returns the delay before a retry. */
export function retryDelayMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs)
}

/** The queue of tasks to run. Call every method that changes it in a transaction. */
export class Jobs {
  readonly #now: () => number
  readonly #makeReady: Statement
  readonly #nextOwner: Statement
  readonly #nextOwnerUpTo: Statement
  readonly #nextDue: Statement
  readonly #due: Statement
  readonly #take: Statement
  readonly #renew: Statement
  readonly #remove: Statement
  readonly #end: Statement
  readonly #release: Statement
  readonly #failures: Statement
  readonly #postpone: Statement
  readonly #misdated: Statement
  readonly #waiting: Statement
  readonly #redate: Statement
  readonly #prefix = random.uuid()
  #claims = 0
  /** The owner of the last claimed task. Owners take turns, so the next claim starts after this one. */
  #lastOwner = ''
  /** A task is due later than the longest retry delay, so the clock was set back since. Run it now. */
  #isMisdated = false

  constructor(database: Database, now: () => number) {
    this.#now = now
    this.#makeReady = database.prepare(
      `INSERT INTO job (task, owner, due_at) VALUES (?, ?, ?) ON CONFLICT (task) DO UPDATE SET
         owner = excluded.owner,
         is_again = claim IS NOT NULL,
         due_at = CASE WHEN claim IS NULL THEN min(due_at, excluded.due_at) ELSE due_at END`,
    )
    this.#nextOwner = database.prepare('SELECT owner FROM job WHERE owner > ? ORDER BY owner LIMIT 1')
    this.#nextOwnerUpTo = database.prepare(
      'SELECT owner FROM job WHERE owner > ? AND owner <= ? ORDER BY owner LIMIT 1',
    )
    this.#nextDue = database.prepare('SELECT min(due_at) AS due_at FROM job WHERE owner = ?')
    this.#due = database.prepare(
      `SELECT job.task, job.claim, task.id, task.expires_at FROM job LEFT JOIN task ON task.key = job.task
       WHERE job.owner = ? AND job.due_at <= ? ORDER BY job.due_at, job.task LIMIT 1`,
    )
    this.#take = database.prepare('UPDATE job SET claim = ?, due_at = ?, is_again = 0 WHERE task = ?')
    this.#renew = database.prepare('UPDATE job SET due_at = ? WHERE task = ? AND claim = ?')
    this.#remove = database.prepare('DELETE FROM job WHERE task = ?')
    this.#end = database.prepare('DELETE FROM job WHERE task = ? AND claim = ? AND is_again = 0')
    this.#release = database.prepare(
      'UPDATE job SET claim = NULL, due_at = ?, is_again = 0, failures = 0 WHERE task = ? AND claim = ?',
    )
    this.#failures = database.prepare('SELECT failures FROM job WHERE task = ? AND claim = ?')
    this.#postpone = database.prepare(
      'UPDATE job SET claim = NULL, due_at = ?, is_again = 0, failures = ? WHERE task = ? AND claim = ?',
    )
    this.#misdated = database.prepare('SELECT task FROM job WHERE claim IS NULL AND due_at > ? LIMIT 1')
    this.#waiting = database.prepare(
      `SELECT count(*) AS number FROM job JOIN task ON task.key = job.task
       WHERE (job.claim IS NULL OR job.due_at <= ?) AND (task.expires_at IS NULL OR task.expires_at > ?)`,
    )
    this.#redate = database.prepare('UPDATE job SET due_at = ? WHERE claim IS NULL AND due_at > ?')
  }

  /** Queues a task. If it is running, it runs again afterwards; if it waits for a retry, the wait ends. */
  makeReady(key: number, owner: string): void {
    this.#makeReady.run(key, owner, this.#now())
  }

  /**
   * Returns the milliseconds until a task is due: 0 if one is due now, undefined if the queue is empty.
   * @param hasCapacity Whether the worker may claim a task of this owner.
   */
  untilDue(hasCapacity: (owner: string) => boolean): number | undefined {
    const now = this.#now()
    let first: number | undefined
    for (const owner of this.#owners()) {
      const dueAt = hasCapacity(owner) ? this.#nextDue.get(owner)?.due_at : null
      if (dueAt == null) continue
      if (Number(dueAt) <= now) return 0
      first = Math.min(first ?? Number.POSITIVE_INFINITY, Number(dueAt) - now)
    }
    this.#isMisdated = first !== undefined && first > longestRetryMs && !!this.#misdated.get(now + longestRetryMs)
    return this.#isMisdated ? 0 : first
  }

  /** Returns the number of tasks that no worker runs: those that wait for their turn or a retry, or whose lease expired. */
  waiting(): number {
    const now = this.#now()
    return Number(this.#waiting.get(now, now)?.number)
  }

  /** Claims up to `limit` tasks. Owners take turns. */
  claim(limit: number, { leaseMs, isMine, maxOf }: ClaimOptions): Claim[] {
    const now = this.#now()
    const claims: Claim[] = []
    if (this.#isMisdated) this.#correctDates(now)
    const taken = new Map<string, number>()
    for (let foundAny = true; foundAny && claims.length < limit; ) {
      foundAny = false
      for (const owner of this.#owners()) {
        if (claims.length === limit) break
        const count = taken.get(owner) ?? 0
        if (count >= maxOf(owner)) continue
        const row = this.#due.get(owner, now)
        if (!row) continue
        foundAny = true
        const key = Number(row.task)
        const isExpired = row.id == null || (row.expires_at != null && Number(row.expires_at) <= now)
        if (isExpired) this.#remove.run(key)
        else if (row.claim != null && isMine(String(row.claim))) this.#renew.run(now + leaseMs, key, String(row.claim))
        else {
          claims.push(this.#takeOne(key, owner, String(row.id), now + leaseMs))
          taken.set(owner, count + 1)
          this.#lastOwner = owner
        }
      }
    }
    return claims
  }

  /** Extends the lease. Returns false if another worker has the task or it was removed. */
  renew({ key, token }: Claim, leaseMs: number): boolean {
    return this.#renew.run(this.#now() + leaseMs, key, token).changes > 0
  }

  /** Ends a successful run. Returns true if the task is due again. */
  complete({ key, token }: Claim): boolean {
    return this.#end.run(key, token).changes === 0 && this.release({ key, token })
  }

  /** Gives a task back to the queue. */
  release({ key, token }: Pick<Claim, 'key' | 'token'>): boolean {
    return this.#release.run(this.#now(), key, token).changes > 0
  }

  /** Ends a failed run and schedules a retry. Returns false if the claim was lost. */
  fail({ key, token }: Claim): boolean {
    const failures = Number(this.#failures.get(key, token)?.failures ?? 0) + 1
    return this.#postpone.run(this.#now() + retryDelayMs(failures), failures, key, token).changes > 0
  }

  /** Removes a task from the queue. */
  remove(key: number): void {
    this.#remove.run(key)
  }

  #correctDates(now: number): void {
    this.#redate.run(now, now + longestRetryMs)
    this.#isMisdated = false
  }

  /** All owners in the queue, starting after the one whose turn was last. Each step is one index lookup. */
  *#owners(): Generator<string> {
    const last = this.#lastOwner
    for (let row = this.#nextOwner.get(last); row; row = this.#nextOwner.get(String(row.owner))) yield String(row.owner)
    // The empty text is an owner too, and sorts first.
    yield ''
    for (let row = this.#nextOwnerUpTo.get('', last); row; row = this.#nextOwnerUpTo.get(String(row.owner), last)) {
      yield String(row.owner)
    }
  }

  #takeOne(key: number, owner: string, id: string, dueAt: number): Claim {
    const token = `${this.#prefix}/${++this.#claims}`
    this.#take.run(token, dueAt, key)
    return { key, owner, id, token }
  }
}

/** Options of `Jobs.claim`. */
export interface ClaimOptions {
  readonly leaseMs: number
  /** Whether this worker is running the claim. Its lease expired, but no other worker took the task. */
  isMine(token: string): boolean
  /** How many tasks of this owner may be claimed. */
  maxOf(owner: string): number
}
