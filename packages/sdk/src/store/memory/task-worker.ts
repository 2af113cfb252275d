import { Counter } from '../../util/counter.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { RunTask, WorkOptions } from '../ports.ts'

/** Where a worker gets its tasks. */
export interface TaskQueue {
  /** Takes the next ready task of an owner that `hasCapacity` accepts. */
  take(hasCapacity: (owner: string) => boolean): { id: string; owner: string } | undefined
  /** Reports the end of a run. */
  finish(id: string, succeeded: boolean): void
}

/** Runs ready tasks, up to `concurrency` at a time. */
export class MemoryTaskWorker {
  readonly #run: RunTask
  readonly #options: WorkOptions
  readonly #queue: TaskQueue
  readonly #running = new Set<Promise<void>>()
  readonly #perOwner = new Counter()
  #isStopped = false
  #isWoken = false

  constructor(run: RunTask, options: WorkOptions, queue: TaskQueue) {
    this.#run = run
    this.#options = options
    this.#queue = queue
  }

  /** Looks for tasks in a later turn of the event loop, so that `create` returns before its task runs. */
  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    scheduler.setTimeout(() => {
      this.#isWoken = false
      this.#startReady()
    }, 0)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  #startReady(): void {
    while (!this.#isStopped && this.#running.size < this.#options.concurrency) {
      const next = this.#queue.take((owner) => this.#hasCapacity(owner))
      if (!next) return
      const { id, owner } = next
      this.#perOwner.add(owner, 1)
      const running = this.#runOne(id).then(() => {
        this.#running.delete(running)
        this.#perOwner.add(owner, -1)
        this.#startReady()
      })
      this.#running.add(running)
    }
  }

  #hasCapacity(owner: string): boolean {
    const { concurrency, maxPerOwner = concurrency } = this.#options
    return this.#perOwner.of(owner) < maxPerOwner
  }

  async #runOne(id: string): Promise<void> {
    try {
      // No other process shares this store, so a run never loses its lease and the signal never aborts.
      await this.#run(id, new AbortController().signal)
      this.#queue.finish(id, true)
    } catch (error) {
      this.#options.onError(error)
      this.#queue.finish(id, false)
    }
  }
}
