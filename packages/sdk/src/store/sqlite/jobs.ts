import type { Database, Statement } from './database.ts'

/** A task that a worker has. */
export interface Claim {
  readonly key: number
  readonly owner: string
  readonly id: string
  /** Given out once, so that a worker that was too late is told from the one that has the task now. */
  readonly token: string
}

const firstPauseMs = 100
const longestPauseMs = 30_000

/** How long a task that failed so often in a row is left alone. */
export function pauseMs(failures: number): number {
  return Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs)
}

/** The table of what is to be run. Everything that changes it is called in a transaction. */
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
  readonly #letGo: Statement
  readonly #failures: Statement
  readonly #postpone: Statement
  readonly #misdated: Statement
  readonly #redate: Statement
  readonly #prefix = crypto.randomUUID()
  #claims = 0
  /** Whose task was taken last: the next one is of the owner that comes after. */
  #lastOwner = ''
  /** A task waits longer than any pause takes: the clock was set back since it became ready. It is run at once. */
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
    this.#letGo = database.prepare(
      'UPDATE job SET claim = NULL, due_at = ?, is_again = 0, failures = 0 WHERE task = ? AND claim = ?',
    )
    this.#failures = database.prepare('SELECT failures FROM job WHERE task = ? AND claim = ?')
    this.#postpone = database.prepare(
      'UPDATE job SET claim = NULL, due_at = ?, is_again = 0, failures = ? WHERE task = ? AND claim = ?',
    )
    this.#misdated = database.prepare('SELECT task FROM job WHERE claim IS NULL AND due_at > ? LIMIT 1')
    this.#redate = database.prepare('UPDATE job SET due_at = ? WHERE claim IS NULL AND due_at > ?')
  }

  /** A task that runs is run again afterwards; one that was left alone for a while is not any more. */
  makeReady(key: number, owner: string): void {
    this.#makeReady.run(key, owner, this.#now())
  }

  /**
   * Milliseconds until there is something to take: 0 when there is, undefined when nothing is to be done at all.
   * @param isFree Whether the worker may take a task of this owner.
   */
  untilDue(isFree: (owner: string) => boolean): number | undefined {
    const now = this.#now()
    let first: number | undefined
    for (const owner of this.#owners()) {
      const dueAt = isFree(owner) ? this.#nextDue.get(owner)?.due_at : null
      if (dueAt == null) continue
      if (Number(dueAt) <= now) return 0
      first = Math.min(first ?? Number.POSITIVE_INFINITY, Number(dueAt) - now)
    }
    this.#isMisdated = first !== undefined && first > longestPauseMs && !!this.#misdated.get(now + longestPauseMs)
    return this.#isMisdated ? 0 : first
  }

  /** Takes up to `limit` tasks: in turn one of each owner. */
  claim(limit: number, { leaseMs, isMine, maxOf }: ClaimOptions): Claim[] {
    const now = this.#now()
    const claims: Claim[] = []
    if (this.#isMisdated) this.#redateWaiting(now)
    const taken = new Map<string, number>()
    for (let isAny = true; isAny && claims.length < limit; ) {
      isAny = false
      for (const owner of this.#owners()) {
        if (claims.length === limit) break
        const count = taken.get(owner) ?? 0
        if (count >= maxOf(owner)) continue
        const row = this.#due.get(owner, now)
        if (!row) continue
        isAny = true
        const key = Number(row.task)
        const isGone = row.id == null || (row.expires_at != null && Number(row.expires_at) <= now)
        if (isGone) this.#remove.run(key)
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

  /** False when somebody else has the task, or it is gone. */
  renew({ key, token }: Claim, leaseMs: number): boolean {
    return this.#renew.run(this.#now() + leaseMs, key, token).changes > 0
  }

  /** True when the task can be run again. */
  end({ key, token }: Claim): boolean {
    return this.#end.run(key, token).changes === 0 && this.letGo({ key, token })
  }

  letGo({ key, token }: Pick<Claim, 'key' | 'token'>): boolean {
    return this.#letGo.run(this.#now(), key, token).changes > 0
  }

  fail({ key, token }: Claim): boolean {
    const failures = Number(this.#failures.get(key, token)?.failures ?? 0) + 1
    return this.#postpone.run(this.#now() + pauseMs(failures), failures, key, token).changes > 0
  }

  remove(key: number): void {
    this.#remove.run(key)
  }

  #redateWaiting(now: number): void {
    this.#redate.run(now, now + longestPauseMs)
    this.#isMisdated = false
  }

  /** Everyone who has a row, beginning after the one whose turn it was last. Each step is one look into the index. */
  *#owners(): Generator<string> {
    const last = this.#lastOwner
    for (let row = this.#nextOwner.get(last); row; row = this.#nextOwner.get(String(row.owner))) yield String(row.owner)
    // No text is before the empty one, which is an owner too.
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

export interface ClaimOptions {
  readonly leaseMs: number
  /** Whether the worker runs what has this token: its lease is over, but nobody took the task yet. */
  isMine(token: string): boolean
  /** How many tasks of this owner may be taken. */
  maxOf(owner: string): number
}
