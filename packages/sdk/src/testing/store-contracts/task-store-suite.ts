import type { RunTask, TaskEntry, TaskStore, TaskWriteOptions, WorkOptions } from '../../store/ports.ts'
import { clock } from '../../util/clock.ts'
import type { Driver, TestRunner } from './suite.ts'

export interface TaskStoreDriver extends Driver<TaskStore> {
  /** Advances the time of the store: moves the clock that it uses, or waits. */
  advance(ms: number): void | Promise<void>
  /** The clock of the store, in milliseconds. Default: the system clock. */
  now?(): number
  /**
   * Opens the same store again, as in another process. The suite closes it with `close`, like the first one. Closing it
   * while it works simulates a crash of its process. Default: the tests use one end, and skip what needs two.
   */
  join?(store: TaskStore): TaskStore | Promise<TaskStore>
}

export interface Suite {
  /** @param far Another end of the store, or the same one if the driver has no `join`. */
  it(title: string, body: (near: TaskStore, far: TaskStore) => Promise<void>): void
  readonly expect: TestRunner['expect']
  readonly driver: TaskStoreDriver
  /** Creates a task of the owner `somebody`. By default each one is created a second after the previous one. */
  entry(id: string, other?: Partial<TaskEntry>): TaskEntry
}

export const ready: TaskWriteOptions = { isReady: true }

export function options(other: Partial<WorkOptions> = {}): WorkOptions {
  return { concurrency: 4, leaseMs: 10_000, onError: () => {}, ...other }
}

export function testsOf(runner: TestRunner, driver: TaskStoreDriver): Suite['it'] {
  return (title, body) => {
    runner.it(title, async () => {
      const near = await driver.open()
      const far = driver.join ? await driver.join(near) : near
      try {
        await body(near, far)
      } finally {
        if (far !== near) await driver.close?.(far)
        await driver.close?.(near)
      }
    })
  }
}

export function entriesOf(driver: TaskStoreDriver): Suite['entry'] {
  const createdAt = new Map<string, number>()
  let latest = driver.now?.() ?? clock.now()
  return (id, other = {}) => {
    const { version = 1 } = other
    if (version === 1 || !createdAt.has(id)) {
      latest += 1000
      createdAt.set(id, other.createdAt ?? latest)
    }
    return {
      id,
      owner: 'somebody',
      version,
      createdAt: createdAt.get(id) ?? 0,
      expiresAt: null,
      isOpen: true,
      listedFor: other.owner ?? 'somebody',
      summary: `{"summary":${JSON.stringify(id)}}`,
      body: `{"id":${JSON.stringify(id)}}`,
      ...other,
    }
  }
}

export async function isRefused(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    () => true,
  )
}

/** A `run` function that records its calls, and that tests can wait for. */
export class Runs {
  /** The ids in the order in which the runs began. */
  readonly order: string[] = []
  /** Tasks that began while they were already running. */
  readonly overlaps: string[] = []
  running = 0
  /** The maximum number of concurrent runs. */
  most = 0
  readonly #work: RunTask
  readonly #runningIds = new Set<string>()
  readonly #ended = new Map<string, number>()
  readonly #waiting = new Set<() => void>()

  constructor(work: RunTask = async () => {}) {
    this.#work = work
  }

  readonly run: RunTask = async (id, signal) => {
    this.order.push(id)
    if (this.#runningIds.has(id)) this.overlaps.push(id)
    this.#runningIds.add(id)
    this.most = Math.max(this.most, ++this.running)
    this.#look()
    try {
      await this.#work(id, signal)
    } finally {
      this.running--
      this.#runningIds.delete(id)
      this.#ended.set(id, (this.#ended.get(id) ?? 0) + 1)
      this.#look()
    }
  }

  /** How often a task began to run. */
  count(id: string): number {
    return this.order.filter((one) => one === id).length
  }

  begun(id: string): Promise<void> {
    return this.#until(() => this.order.includes(id))
  }

  /** Waits until this many runs of a task have ended, successfully or not. */
  over(id: string, times = 1): Promise<void> {
    return this.#until(() => (this.#ended.get(id) ?? 0) >= times)
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
      })
    }
  }

  #look(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/** A listener that tests can wait for. */
export class TaskEar {
  readonly heard: Array<{ id: string; said: string | undefined }> = []
  #next = 0
  #wake: (() => void) | undefined

  readonly listener = (id: string, said?: string): void => {
    this.heard.push({ id, said })
    this.#wake?.()
  }

  /** Waits for a notification of the task, after all that were waited for before. */
  async hearing(id: string): Promise<void> {
    for (;;) {
      for (; this.#next < this.heard.length; ) if (this.heard[this.#next++]?.id === id) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
