import { McpError } from '../errors.ts'
import { unref } from '../util/unref.ts'
import type { RunTask, TaskChange, TaskEntry, TaskPlace, TaskStore, TaskWorker, WorkOptions } from './ports.ts'

export interface MemoryTaskStoreOptions {
  /** Tasks kept in all; the oldest that have ended make room for new ones. Default 10,000. */
  maxTasks?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

interface Kept {
  entry: TaskEntry
  readonly notes: string[]
  isReady: boolean
  isRunning: boolean
  /** Runs that failed, one after another. */
  failures: number
  /** Until it is run again after a failure. */
  pause: ReturnType<typeof setTimeout> | undefined
}

const firstPauseMs = 100
const longestPauseMs = 30_000

/** Tasks in this process, gone with it. */
export class MemoryTaskStore implements TaskStore {
  readonly #maxTasks: number
  readonly #now: () => number
  /** In the order of their creation. */
  readonly #tasks = new Map<string, Kept>()
  readonly #ready = new Set<string>()
  readonly #workers = new Set<Worker>()
  readonly #listeners = new Set<(id: string, said?: string) => void>()

  constructor({ maxTasks = 10_000, now = Date.now }: MemoryTaskStoreOptions = {}) {
    this.#maxTasks = maxTasks
    this.#now = now
  }

  async create(entry: TaskEntry, { notes = [], isReady = false }: TaskChange = {}): Promise<void> {
    if (this.#find(entry.id)) throw new TypeError(`There is a task ${entry.id} already`)
    if (this.#tasks.size >= this.#maxTasks) this.#makeRoom()
    if (this.#tasks.size >= this.#maxTasks) {
      throw new McpError('overloaded', `This server keeps at most ${this.#maxTasks} tasks; try again later`)
    }
    this.#tasks.set(entry.id, {
      entry,
      notes: [...notes],
      isReady: false,
      isRunning: false,
      failures: 0,
      pause: undefined,
    })
    this.#changed(entry.id, isReady)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    return this.#find(id)?.entry
  }

  async replace(entry: TaskEntry, { notes = [], isReady = false }: TaskChange = {}): Promise<boolean> {
    const kept = this.#find(entry.id)
    if (kept?.entry.version !== entry.version - 1) return false
    kept.entry = entry
    kept.notes.push(...notes)
    this.#changed(entry.id, isReady)
    return true
  }

  async notes(id: string): Promise<string[]> {
    return [...(this.#find(id)?.notes ?? [])]
  }

  async list(owner: string, { after, limit }: { after?: TaskPlace | undefined; limit: number }): Promise<TaskEntry[]> {
    return this.#of(owner)
      .filter((entry) => !after || compare(entry, after) > 0)
      .sort(compare)
      .slice(0, limit)
  }

  async countOpen(owner: string): Promise<number> {
    const now = this.#now()
    let count = 0
    for (const { entry } of this.#tasks.values()) {
      if (entry.isOpen && entry.owner === owner && !isExpired(entry, now)) count++
    }
    return count
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskWorker> {
    const worker = new Worker(
      run,
      options,
      () => this.#next(),
      (id, isDone) => this.#ended(id, isDone),
    )
    this.#workers.add(worker)
    worker.wake()
    return {
      stop: () => {
        this.#workers.delete(worker)
        return worker.stop()
      },
    }
  }

  async watch(listener: (id: string, said?: string) => void): Promise<() => void> {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  say(id: string, text: string): void {
    for (const listener of this.#listeners) listener(id, text)
  }

  #find(id: string): Kept | undefined {
    const kept = this.#tasks.get(id)
    if (!kept || !this.#isOver(kept)) return kept
    this.#forget(id)
    return undefined
  }

  #of(owner: string): TaskEntry[] {
    const now = this.#now()
    return [...this.#tasks.values()]
      .map(({ entry }) => entry)
      .filter((entry) => entry.owner === owner && !isExpired(entry, now))
  }

  #changed(id: string, isReady: boolean): void {
    if (isReady) this.#makeReady(id)
    for (const listener of this.#listeners) listener(id)
  }

  #makeReady(id: string): void {
    const kept = this.#find(id)
    if (!kept) return
    kept.isReady = true
    clearTimeout(kept.pause)
    if (kept.isRunning) return
    this.#ready.add(id)
    for (const worker of this.#workers) worker.wake()
  }

  #next(): string | undefined {
    for (const id of this.#ready) {
      this.#ready.delete(id)
      const kept = this.#find(id)
      if (!kept) continue
      kept.isReady = false
      kept.isRunning = true
      return id
    }
    return undefined
  }

  #ended(id: string, isDone: boolean): void {
    const kept = this.#find(id)
    if (!kept) return
    kept.isRunning = false
    kept.failures = isDone ? 0 : kept.failures + 1
    if (kept.isReady) return this.#makeReady(id)
    if (isDone) return
    const pauseMs = Math.min(firstPauseMs * 2 ** (kept.failures - 1), longestPauseMs)
    kept.pause = setTimeout(() => this.#makeReady(id), pauseMs)
    unref(kept.pause)
  }

  /** Forgets what has expired; and of what has ended the oldest tenth, so that this is not done for every task. */
  #makeRoom(): void {
    for (const [id, kept] of this.#tasks) if (this.#isOver(kept)) this.#forget(id)
    const wanted = Math.ceil(this.#maxTasks * 0.9)
    for (const [id, { entry }] of this.#tasks) {
      if (this.#tasks.size < wanted) return
      if (!entry.isOpen) this.#forget(id)
    }
  }

  #isOver({ entry }: Kept): boolean {
    return isExpired(entry, this.#now())
  }

  #forget(id: string): void {
    clearTimeout(this.#tasks.get(id)?.pause)
    this.#tasks.delete(id)
    this.#ready.delete(id)
  }
}

/** Runs what is ready, so many at a time. */
class Worker {
  readonly #run: RunTask
  readonly #options: WorkOptions
  readonly #next: () => string | undefined
  readonly #ended: (id: string, isDone: boolean) => void
  readonly #running = new Set<Promise<void>>()
  #isStopped = false
  #isWoken = false

  constructor(
    run: RunTask,
    options: WorkOptions,
    next: () => string | undefined,
    ended: (id: string, isDone: boolean) => void,
  ) {
    this.#run = run
    this.#options = options
    this.#next = next
    this.#ended = ended
  }

  /** In a later turn, so that whoever created a task is answered before it runs. */
  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    setTimeout(() => {
      this.#isWoken = false
      this.#fill()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  #fill(): void {
    while (!this.#isStopped && this.#running.size < this.#options.concurrency) {
      const id = this.#next()
      if (id === undefined) return
      const running = this.#runOne(id).then(() => {
        this.#running.delete(running)
        this.#fill()
      })
      this.#running.add(running)
    }
  }

  async #runOne(id: string): Promise<void> {
    try {
      // Nobody else can take it: it is never aborted.
      await this.#run(id, new AbortController().signal)
      this.#ended(id, true)
    } catch (error) {
      this.#options.onError(error)
      this.#ended(id, false)
    }
  }
}

function isExpired({ expiresAt }: TaskEntry, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}

function compare(one: TaskPlace, other: TaskPlace): number {
  return one.createdAt - other.createdAt || (one.id < other.id ? -1 : Number(one.id > other.id))
}
