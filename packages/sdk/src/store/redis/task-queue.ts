import type { Queue } from 'bullmq'
import { settle } from '../../util/settle.ts'
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
  readonly #waiting = new Set<string>()
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

  /** Adds the job of a task soon, with others in one go. If that fails, workers find out that it has none. */
  add(id: string): void {
    this.#waiting.add(id)
    this.#adding ??= settle(() => this.#addWaiting(), this.#report).finally(() => {
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
    for (let ids = this.#take(); ids.length > 0; ids = this.#take()) {
      await this.#queue.addBulk(
        ids.map((id) => ({
          name: 'run',
          data: { id },
          opts: { jobId: jobIdOf(id), attempts: 2 ** 31, backoff: { type: 'growing' }, stackTraceLimit: 0 },
        })),
      )
    }
  }

  #take(): string[] {
    const ids: string[] = []
    for (const id of this.#waiting) {
      if (ids.length === lot) break
      ids.push(id)
      this.#waiting.delete(id)
    }
    return ids
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
