import type { RunTask, TaskEntry, WorkOptions } from '../../src/store/ports.ts'
import { deferred } from '../../src/util/deferred.ts'

export const ready = { isReady: true }

/** A `run` function that records its calls. */
export class Runs {
  readonly ids: string[] = []
  readonly done: Promise<void>
  readonly #total: number
  readonly #resolve: () => void

  constructor(total: number) {
    const { promise, resolve } = deferred<void>()
    this.#total = total
    this.done = promise
    this.#resolve = () => resolve()
  }

  readonly run: RunTask = async (id) => {
    this.ids.push(id)
    if (this.ids.length === this.#total) this.#resolve()
  }
}

export function entry(id: string, other: Partial<TaskEntry> = {}): TaskEntry {
  return {
    id,
    owner: 'somebody',
    listedFor: 'somebody',
    version: 1,
    createdAt: 1,
    expiresAt: null,
    isOpen: true,
    summary: '{}',
    body: '{}',
    ...other,
  }
}

export function options(other: Partial<WorkOptions> = {}): WorkOptions {
  return { concurrency: 4, leaseMs: 10_000, onError: () => {}, ...other }
}
