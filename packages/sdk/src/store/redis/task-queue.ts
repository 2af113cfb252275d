import type { Queue } from 'bullmq'
import { runDetached } from '../../util/run-detached.ts'
import type { Client } from './connections.ts'
import type { Keys } from './keys.ts'

export type BullMq = typeof import('bullmq')

/** What a job says: which task to run. */
export interface TaskJob {
  readonly id: string
}

export const queueName = 'tasks'

/** Jobs that are added in one go. */
const lot = 100

/** The greatest number that BullMQ takes. */
const lowestPriority = 2_097_152

/** The longest that a task waits after a run that failed. */
const longestPauseMs = 30_000

/**
 * The queue of BullMQ. There is one job per task and never a second one, which is how BullMQ sees to it that a task is run
 * by one worker at a time. To add the job of a task that has one does nothing.
 */
export class TaskQueue {
  /** Where BullMQ keeps jobs that wait until a time. */
  readonly delayed: string
  /** What the keys of jobs begin with. */
  readonly jobs: string
  readonly #queue: Queue<TaskJob>
  readonly #report: (error: unknown) => void
  /** Tasks whose jobs are to be added, and with which priority. */
  readonly #waiting = new Map<string, number>()
  #adding: Promise<void> | undefined

  constructor({ Queue }: BullMq, client: Client, keys: Keys, report: (error: unknown) => void) {
    this.#report = report
    this.#queue = new Queue<TaskJob>(queueName, {
      connection: client,
      prefix: keys.root,
      // Nobody listens to the events of single jobs.
      streams: { events: { maxLen: 100 } },
    })
    this.#queue.on('error', report)
    this.delayed = this.#queue.toKey('delayed')
    this.jobs = this.#queue.toKey(jobIdOf(''))
  }

  /**
   * Adds the job of a task soon, with others in one go. If that fails, workers find out that it has none.
   * @param openCount Open tasks of its owner. The more there are, the later it is run: so the first task of one owner does
   * not wait for the thousandth of another.
   */
  add(id: string, openCount: number): void {
    this.#waiting.set(id, Math.min(Math.max(openCount, 1), lowestPriority))
    this.#adding ??= runDetached(() => this.#addWaiting(), this.#report).finally(() => {
      this.#adding = undefined
    })
  }

  /** The job of a task that failed goes on at once. */
  async hasten(id: string): Promise<void> {
    const job = await this.#queue.getJob(jobIdOf(id))
    // It may have gone on by itself by now.
    await job?.promote().catch(() => {})
  }

  /** When everything is added. */
  async flush(): Promise<void> {
    await this.#adding
  }

  async close(): Promise<void> {
    await this.#queue.close()
  }

  async #addWaiting(): Promise<void> {
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
    for (const job of this.#waiting) {
      if (jobs.length === lot) break
      jobs.push(job)
      this.#waiting.delete(job[0])
    }
    return jobs
  }
}

/** BullMQ has keys of its own beside those of jobs, takes no numbers, and no colons. Scripts write it in the same way. */
export function jobIdOf(id: string): string {
  return `t-${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`
}

/** How long a task waits after so many runs that failed. */
export function pauseMs(failures: number): number {
  return Math.min(longestPauseMs, 100 * 2 ** Math.min(20, failures - 1))
}
