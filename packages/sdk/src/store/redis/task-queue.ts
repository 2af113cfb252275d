import type { Queue } from 'bullmq'
import { runDetached } from '../../util/maybe-async.ts'
import type { Client } from './connections.ts'
import type { Keys } from './keys.ts'

/** The package `bullmq`. */
export type BullMq = typeof import('bullmq')

/** The data of a job: the task to run. */
export interface TaskJob {
  readonly id: string
}

/** The name of the BullMQ queue. */
export const queueName = 'tasks'

/** Jobs to add at a time. */
const maxBatch = 100

/** The largest number that BullMQ accepts. */
const lowestPriority = 2_097_152

/** The longest delay before a retry. */
const longestRetryMs = 30_000

/**
 * The BullMQ queue. A task has at most one job, so that BullMQ gives it to one worker at a time. Adding the job of a
 * task that already has one does nothing.
 */
export class TaskQueue {
  /** The key of delayed jobs. */
  readonly delayed: string
  /** The key of the jobs that workers run. */
  readonly active: string
  /** The prefix of the keys of jobs. */
  readonly jobs: string
  readonly #queue: Queue<TaskJob>
  readonly #report: (error: unknown) => void
  /** Tasks whose jobs will be added, with their priorities. */
  readonly #pending = new Map<string, number>()
  #adding: Promise<void> | undefined

  constructor({ Queue }: BullMq, client: Client, keys: Keys, report: (error: unknown) => void) {
    this.#report = report
    this.#queue = new Queue<TaskJob>(queueName, {
      connection: client,
      prefix: keys.root,
      // The events of single jobs are not used.
      streams: { events: { maxLen: 100 } },
    })
    this.#queue.on('error', report)
    this.delayed = this.#queue.toKey('delayed')
    this.active = this.#queue.toKey('active')
    this.jobs = this.#queue.toKey(jobIdOf(''))
  }

  /**
   * Adds the job of a task soon, in a batch with others. If that fails, workers detect the missing job.
   * @param openCount Open tasks of its owner. The more there are, the lower the priority, so that the first task of one
   * owner does not wait for the thousandth of another.
   */
  add(id: string, openCount: number): void {
    this.#pending.set(id, Math.min(Math.max(openCount, 1), lowestPriority))
    this.#adding ??= runDetached(() => this.#addPending(), this.#report).finally(() => {
      this.#adding = undefined
    })
  }

  /** Ends the retry delay of a failed task. */
  async promote(id: string): Promise<void> {
    const job = await this.#queue.getJob(jobIdOf(id))
    // The delay may be over by now.
    await job?.promote().catch(() => {})
  }

  /** Resolves when all jobs are added. */
  async flush(): Promise<void> {
    await this.#adding
  }

  async close(): Promise<void> {
    await this.#queue.close()
  }

  async #addPending(): Promise<void> {
    for (let jobs = this.#take(); jobs.length > 0; jobs = this.#take()) {
      await this.#queue.addBulk(
        jobs.map(([id, priority]) => ({
          name: 'run',
          data: { id },
          opts: { jobId: jobIdOf(id), priority, attempts: 2 ** 31, backoff: { type: 'growing' }, stackTraceLimit: 0 },
        })),
      )
    }
  }

  #take(): [id: string, priority: number][] {
    const jobs: [string, number][] = []
    for (const job of this.#pending) {
      if (jobs.length === maxBatch) break
      jobs.push(job)
      this.#pending.delete(job[0])
    }
    return jobs
  }
}

/**
 * Returns a job id that BullMQ accepts: not a number, without colons, and distinct from its own keys. Scripts build it
 * the same way.
 */
export function jobIdOf(id: string): string {
  return `t-${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`
}

/** Returns the delay before a retry. */
export function retryDelayMs(failures: number): number {
  return Math.min(longestRetryMs, 100 * 2 ** Math.min(20, failures - 1))
}
