import { Counter } from '../../util/counter.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import type { RunTask, TaskStoreWorker, WorkOptions } from '../ports.ts'
import type { Claim, Jobs } from './jobs.ts'
import type { WriteBatch } from './write-batch.ts'

/** The longest an idle worker sleeps before it checks again, in case the clock was changed. */
const longestSleepMs = 1000

interface Run {
  readonly claim: Claim
  readonly controller: AbortController
  isLost: boolean
}

/** What workers of one store share. */
export interface WorkerParts {
  readonly jobs: Jobs
  readonly writes: WriteBatch
  /** Wakes all workers of this process. */
  wakeAll(): void
}

/** Runs ready tasks, up to `concurrency` at a time, and renews their leases. */
export class SqliteTaskWorker implements TaskStoreWorker {
  readonly #run: RunTask
  readonly #options: WorkOptions
  readonly #parts: WorkerParts
  readonly #runs = new Map<string, Run>()
  readonly #perOwner = new Counter()
  readonly #finishing = new Set<Promise<void>>()
  #claiming: Promise<void> | undefined
  #sleep: Timer | undefined
  #heartbeat: Timer | undefined
  #isStopped = false
  #isAbandoned = false

  constructor(run: RunTask, options: WorkOptions, parts: WorkerParts) {
    this.#run = run
    this.#options = options
    this.#parts = parts
  }

  /** Checks for tasks that are due. */
  wake(): void {
    if (this.#isStopped || this.#claiming || this.#capacity() === 0) return
    scheduler.clearTimeout(this.#sleep)
    try {
      const untilDue = this.#parts.jobs.untilDue((owner) => this.#capacityFor(owner) > 0)
      if (untilDue === 0) this.#claiming = this.#claim()
      else if (untilDue !== undefined) this.#sleepFor(untilDue)
    } catch (error) {
      this.#report(error)
      this.#sleepFor(longestSleepMs)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    scheduler.clearTimeout(this.#sleep)
    await this.#claiming
    await Promise.all(this.#finishing)
  }

  /** Stops without waiting. The leases of running tasks are not renewed, so other workers take over. */
  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
    scheduler.clearTimeout(this.#sleep)
    for (const run of this.#runs.values()) abort(run)
    this.#runs.clear()
    this.#updateHeartbeat()
  }

  #capacity(): number {
    return Math.max(0, this.#options.concurrency - this.#runs.size)
  }

  #capacityFor(owner: string): number {
    const { concurrency, maxPerOwner = concurrency } = this.#options
    return maxPerOwner - this.#perOwner.of(owner)
  }

  #sleepFor(ms: number): void {
    this.#sleep = scheduler.setTimeout(() => this.wake(), Math.min(Math.max(ms, 1), longestSleepMs))
    scheduler.unref(this.#sleep)
  }

  async #claim(): Promise<void> {
    const { jobs, writes } = this.#parts
    const { leaseMs } = this.#options
    try {
      const claims = await writes.add(() => {
        if (this.#isStopped) return []
        return jobs.claim(this.#capacity(), {
          leaseMs,
          isMine: (token) => this.#runs.has(token),
          maxOf: (owner) => this.#capacityFor(owner),
        })
      })
      if (this.#isStopped) await writes.add(() => void claims.map((claim) => jobs.release(claim)))
      else for (const claim of claims) this.#start(claim)
      this.#claiming = undefined
      this.wake()
    } catch (error) {
      this.#claiming = undefined
      this.#report(error)
      if (!this.#isStopped) this.#sleepFor(longestSleepMs)
    }
  }

  #start(claim: Claim): void {
    const run: Run = { claim, controller: new AbortController(), isLost: false }
    this.#runs.set(claim.token, run)
    this.#perOwner.add(claim.owner, 1)
    this.#updateHeartbeat()
    const finishing = this.#runOne(run).then(() => void this.#finishing.delete(finishing))
    this.#finishing.add(finishing)
  }

  async #runOne(run: Run): Promise<void> {
    const { jobs } = this.#parts
    try {
      await this.#run(run.claim.id, run.controller.signal)
      await this.#finish(run, () => jobs.complete(run.claim))
    } catch (error) {
      // A run that lost its lease was aborted, so its error is expected.
      if (!run.isLost) this.#report(error)
      await this.#finish(run, () => jobs.fail(run.claim))
    }
  }

  /** @param write Returns true if the task will run again. */
  async #finish(run: Run, write: () => boolean): Promise<void> {
    this.#runs.delete(run.claim.token)
    this.#perOwner.add(run.claim.owner, -1)
    this.#updateHeartbeat()
    if (run.isLost) return this.wake()
    try {
      const ended = this.#parts.writes.add(write)
      // Wake now, so that the next task is claimed in the same transaction.
      this.wake()
      if (await ended) this.#parts.wakeAll()
    } catch (error) {
      this.#report(error)
    }
  }

  #updateHeartbeat(): void {
    const isNeeded = this.#runs.size > 0
    if (isNeeded === (this.#heartbeat !== undefined)) return
    scheduler.clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
    if (!isNeeded) return
    this.#heartbeat = scheduler.setInterval(() => void this.#renewLeases(), Math.max(1, this.#options.leaseMs / 3))
    scheduler.unref(this.#heartbeat)
  }

  async #renewLeases(): Promise<void> {
    const { jobs, writes } = this.#parts
    try {
      const runs = [...this.#runs.values()]
      const renewed = await writes.add(() => runs.map(({ claim }) => jobs.renew(claim, this.#options.leaseMs)))
      for (const [index, run] of runs.entries()) if (!renewed[index] && this.#runs.has(run.claim.token)) abort(run)
    } catch (error) {
      this.#report(error)
    }
  }

  #report(error: unknown): void {
    if (this.#isAbandoned) return
    try {
      this.#options.onError(error)
    } catch {
      // A failing error handler must not stop the worker.
    }
  }
}

function abort(run: Run): void {
  run.isLost = true
  run.controller.abort(new Error('The task was removed, or another worker has taken it over'))
}
