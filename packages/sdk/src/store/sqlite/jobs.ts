import type { Database, Statement } from './database.ts'

/** A task that a worker has. */
export interface Claim {
  readonly key: number
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
  readonly #nextDue: Statement
  readonly #due: Statement
  readonly #take: Statement
  readonly #renew: Statement
  readonly #remove: Statement
  readonly #end: Statement
  readonly #letGo: Statement
  readonly #failures: Statement
  readonly #postpone: Statement
  readonly #prefix = crypto.randomUUID()
  #claims = 0

  constructor(database: Database, now: () => number) {
    this.#now = now
    this.#makeReady = database.prepare(
      `INSERT INTO job (task, due_at) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET
         is_again = claim IS NOT NULL,
         due_at = CASE WHEN claim IS NULL THEN min(due_at, excluded.due_at) ELSE due_at END`,
    )
    this.#nextDue = database.prepare('SELECT min(due_at) AS due_at FROM job')
    this.#due = database.prepare(
      `SELECT job.task, job.claim, task.id, task.expires_at FROM job LEFT JOIN task ON task.key = job.task
       WHERE job.due_at <= ? ORDER BY job.due_at, job.task LIMIT ?`,
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
  }

  /** A task that runs is run again afterwards; one that was left alone for a while is not any more. */
  makeReady(key: number): void {
    this.#makeReady.run(key, this.#now())
  }

  /** Milliseconds until there is something to take: 0 when there is, undefined when nothing is to be done at all. */
  untilDue(): number | undefined {
    const dueAt = this.#nextDue.get()?.due_at
    return dueAt == null ? undefined : Math.max(0, Number(dueAt) - this.#now())
  }

  /** @param isMine Whether the worker runs what has this token: its lease is over, but nobody took the task yet. */
  claim(limit: number, leaseMs: number, isMine: (token: string) => boolean): Claim[] {
    const now = this.#now()
    const claims: Claim[] = []
    for (const { task, claim, id, expires_at } of this.#due.all(now, limit)) {
      const key = Number(task)
      if (id == null || (expires_at != null && Number(expires_at) <= now)) this.#remove.run(key)
      else if (claim != null && isMine(String(claim))) this.#renew.run(now + leaseMs, key, String(claim))
      else claims.push(this.#takeOne(key, String(id), now + leaseMs))
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

  #takeOne(key: number, id: string, dueAt: number): Claim {
    const token = `${this.#prefix}/${++this.#claims}`
    this.#take.run(token, dueAt, key)
    return { key, id, token }
  }
}
