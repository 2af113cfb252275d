import { unref } from '../../util/unref.ts'
import type { RunTask, TaskWorker, WorkOptions } from '../ports.ts'
import type { Claim, Jobs } from './jobs.ts'
import type { WriteBatch } from './write-batch.ts'

/** The longest that a worker with nothing to do relies on its timer, in case the clock was moved. */
const longestSleepMs = 1000

interface Run {
  readonly claim: Claim
  readonly controller: AbortController
  isLost: boolean
}

export interface WorkerParts {
  readonly jobs: Jobs
  readonly writes: WriteBatch
  /** Wakes all workers of this process. */
  wakeAll(): void
}

/** Runs what is ready, so many at a time, and keeps the leases of what it runs. */
export class SqliteWorker implements TaskWorker {
  readonly #run: RunTask
  readonly #options: WorkOptions
  readonly #parts: WorkerParts
  readonly #runs = new Map<string, Run>()
  readonly #perOwner = new Map<string, number>()
  readonly #ending = new Set<Promise<void>>()
  #claiming: Promise<void> | undefined
  #sleep: ReturnType<typeof setTimeout> | undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined
  #isStopped = false
  #isAbandoned = false

  constructor(run: RunTask, options: WorkOptions, parts: WorkerParts) {
    this.#run = run
    this.#options = options
    this.#parts = parts
  }

  /** Looks whether there is something to do. */
  wake(): void {
    if (this.#isStopped || this.#claiming || this.#free() === 0) return
    clearTimeout(this.#sleep)
    try {
      const untilDue = this.#parts.jobs.untilDue((owner) => this.#freeOf(owner) > 0)
      if (untilDue === 0) this.#claiming = this.#claim()
      else if (untilDue !== undefined) this.#sleepFor(untilDue)
    } catch (error) {
      this.#report(error)
      this.#sleepFor(longestSleepMs)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#sleep)
    await this.#claiming
    await Promise.all(this.#ending)
  }

  /** Does not wait: the leases of what runs are not kept any more, so others will run it. */
  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
    clearTimeout(this.#sleep)
    for (const run of this.#runs.values()) lose(run)
    this.#runs.clear()
    this.#beatWhileNeeded()
  }

  #free(): number {
    return Math.max(0, this.#options.concurrency - this.#runs.size)
  }

  #freeOf(owner: string): number {
    const { concurrency, maxPerOwner = concurrency } = this.#options
    return maxPerOwner - (this.#perOwner.get(owner) ?? 0)
  }

  #sleepFor(ms: number): void {
    this.#sleep = setTimeout(() => this.wake(), Math.min(Math.max(ms, 1), longestSleepMs))
    unref(this.#sleep)
  }

  async #claim(): Promise<void> {
    const { jobs, writes } = this.#parts
    const { leaseMs } = this.#options
    try {
      const claims = await writes.add(() => {
        if (this.#isStopped) return []
        return jobs.claim(this.#free(), {
          leaseMs,
          isMine: (token) => this.#runs.has(token),
          maxOf: (owner) => this.#freeOf(owner),
        })
      })
      if (this.#isStopped) await writes.add(() => void claims.map((claim) => jobs.letGo(claim)))
      else for (const claim of claims) this.#begin(claim)
      this.#claiming = undefined
      this.wake()
    } catch (error) {
      this.#claiming = undefined
      this.#report(error)
      if (!this.#isStopped) this.#sleepFor(longestSleepMs)
    }
  }

  #begin(claim: Claim): void {
    const run: Run = { claim, controller: new AbortController(), isLost: false }
    this.#runs.set(claim.token, run)
    this.#count(claim.owner, 1)
    this.#beatWhileNeeded()
    const ending = this.#runOne(run).then(() => void this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  async #runOne(run: Run): Promise<void> {
    const { jobs } = this.#parts
    try {
      await this.#run(run.claim.id, run.controller.signal)
      await this.#end(run, () => jobs.end(run.claim))
    } catch (error) {
      // What a run says that was told to end is no news.
      if (!run.isLost) this.#report(error)
      await this.#end(run, () => jobs.fail(run.claim))
    }
  }

  /** @param write True when the task will be run again. */
  async #end(run: Run, write: () => boolean): Promise<void> {
    this.#runs.delete(run.claim.token)
    this.#count(run.claim.owner, -1)
    this.#beatWhileNeeded()
    if (run.isLost) return this.wake()
    try {
      const ended = this.#parts.writes.add(write)
      // Now, so that the next task is taken in the transaction that ends this one.
      this.wake()
      if (await ended) this.#parts.wakeAll()
    } catch (error) {
      this.#report(error)
    }
  }

  #count(owner: string, change: 1 | -1): void {
    const count = (this.#perOwner.get(owner) ?? 0) + change
    if (count > 0) this.#perOwner.set(owner, count)
    else this.#perOwner.delete(owner)
  }

  #beatWhileNeeded(): void {
    const isNeeded = this.#runs.size > 0
    if (isNeeded === (this.#heartbeat !== undefined)) return
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
    if (!isNeeded) return
    this.#heartbeat = setInterval(() => void this.#beat(), Math.max(1, this.#options.leaseMs / 3))
    unref(this.#heartbeat)
  }

  async #beat(): Promise<void> {
    const { jobs, writes } = this.#parts
    try {
      const runs = [...this.#runs.values()]
      const kept = await writes.add(() => runs.map(({ claim }) => jobs.renew(claim, this.#options.leaseMs)))
      for (const [index, run] of runs.entries()) if (!kept[index] && this.#runs.has(run.claim.token)) lose(run)
    } catch (error) {
      this.#report(error)
    }
  }

  #report(error: unknown): void {
    if (this.#isAbandoned) return
    try {
      this.#options.onError(error)
    } catch {
      // Nobody is left to tell, and the work goes on.
    }
  }
}

function lose(run: Run): void {
  run.isLost = true
  run.controller.abort(new Error('The task is gone, or was given to another worker'))
}
