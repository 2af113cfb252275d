import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import type {
  RunTask,
  TaskEntry,
  TaskPosition,
  TaskStore,
  TaskStoreUsage,
  TaskStoreWorker,
  TaskSummary,
  TaskWriteOptions,
  WorkOptions,
} from '../ports.ts'
import { admitTask, bytesOf, evictFinished, noLimits, overloadError, type TaskInventory } from '../task-limits.ts'
import { TaskIndex } from './task-index.ts'
import { MemoryTaskWorker } from './task-worker.ts'

/** Options of `MemoryTaskStore`. */
export interface MemoryTaskStoreOptions {
  /** Maximum number of tasks. The tasks that finished first make room for new ones. Default 10,000. */
  maxTasks?: number | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

const firstRetryMs = 100
const longestRetryMs = 30_000

/** Keeps tasks in the memory of this process. They are lost when it exits. */
export class MemoryTaskStore implements TaskStore {
  readonly #maxTasks: number
  readonly #now: () => number
  readonly #tasks = new Map<string, StoredTask>()
  readonly #index = new TaskIndex()
  /** Ready tasks by owner, the owner whose turn it is first. Tasks are in the order in which they became ready. */
  readonly #ready = new Map<string, Set<string>>()
  readonly #workers = new Set<MemoryTaskWorker>()
  readonly #listeners = new Set<(id: string, text?: string) => void>()
  readonly #inventory: TaskInventory = {
    usage: (owner) => this.#index.usage(owner),
    removeOldestFinished: (owner, except) => this.#removeOldestFinished(owner, except),
  }

  constructor({ maxTasks = 10_000, now = () => clock.now() }: MemoryTaskStoreOptions = {}) {
    this.#maxTasks = maxTasks
    this.#now = now
  }

  async create(entry: TaskEntry, change: TaskWriteOptions = {}): Promise<void> {
    this.#removeExpired()
    if (this.#tasks.has(entry.id)) throw new TypeError(`Task "${entry.id}" already exists`)
    const { notes = [], isReady = false, limits = noLimits } = change
    const noteBytes = bytesOf(...notes)
    const bytes = noteBytes + bytesOf(entry.summary, entry.body)
    const overload = admitTask(this.#inventory, entry.owner, bytes, limits)
    if (overload) throw overloadError(overload, limits)
    this.#makeRoom()
    this.#tasks.set(entry.id, {
      entry,
      notes: [...notes],
      noteBytes,
      bytes,
      isReady: false,
      isRunning: false,
      failures: 0,
      retry: undefined,
    })
    this.#index.add(entry, bytes)
    if (!entry.isOpen) evictFinished(this.#inventory, entry.owner, limits, { except: entry.id })
    this.#changed(entry.id, isReady)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    return this.#find(id)?.entry
  }

  async replace(entry: TaskEntry, change: TaskWriteOptions = {}): Promise<boolean> {
    const task = this.#find(entry.id)
    if (task?.entry.version !== entry.version - 1) return false
    const { notes = [], isReady = false, limits = noLimits } = change
    this.#index.remove(task.entry, task.bytes)
    task.entry = entry
    for (const note of notes) task.notes.push(note)
    task.noteBytes += bytesOf(...notes)
    task.bytes = task.noteBytes + bytesOf(entry.summary, entry.body)
    this.#index.add(entry, task.bytes)
    if (!entry.isOpen) evictFinished(this.#inventory, entry.owner, limits, { except: entry.id })
    this.#changed(entry.id, isReady)
    return true
  }

  async notes(id: string): Promise<string[]> {
    return [...(this.#find(id)?.notes ?? [])]
  }

  async list(
    listedFor: string,
    { after, limit }: { after?: TaskPosition | undefined; limit: number },
  ): Promise<TaskSummary[]> {
    this.#removeExpired()
    return this.#index.page(listedFor, after, limit).flatMap(({ id }) => {
      const task = this.#tasks.get(id)
      if (!task) return []
      const { body: _body, ...summary } = task.entry
      return [summary]
    })
  }

  async countOpen(owner?: string): Promise<number> {
    this.#removeExpired()
    return this.#index.usage(owner).open
  }

  async usage(): Promise<TaskStoreUsage> {
    this.#removeExpired()
    const { open, finished, bytes } = this.#index.usage()
    let queued = 0
    for (const ids of this.#ready.values()) queued += ids.size
    let oldest = Number.POSITIVE_INFINITY
    for (const { entry } of this.#tasks.values()) if (entry.isOpen) oldest = Math.min(oldest, entry.createdAt)
    return { open, finished, bytes, queued, oldestOpenAt: open > 0 ? oldest : undefined }
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskStoreWorker> {
    const worker = new MemoryTaskWorker(run, options, {
      take: (hasCapacity) => this.#take(hasCapacity),
      finish: (id, succeeded) => this.#finish(id, succeeded),
    })
    this.#workers.add(worker)
    worker.wake()
    return {
      stop: () => {
        this.#workers.delete(worker)
        return worker.stop()
      },
    }
  }

  async watch(listener: (id: string, text?: string) => void): Promise<() => void> {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  publish(id: string, text: string): void {
    for (const listener of this.#listeners) listener(id, text)
  }

  #find(id: string): StoredTask | undefined {
    this.#removeExpired()
    return this.#tasks.get(id)
  }

  #removeExpired(): void {
    const now = this.#now()
    for (let id = this.#index.expired(now); id !== undefined; id = this.#index.expired(now)) this.#remove(id)
  }

  #makeRoom(): void {
    while (this.#tasks.size >= this.#maxTasks) {
      if (this.#removeOldestFinished(undefined, undefined)) continue
      throw new McpError('overloaded', `Task limit reached: this server keeps ${this.#maxTasks}. Try again later.`)
    }
  }

  #changed(id: string, isReady: boolean): void {
    if (isReady) this.#makeReady(id)
    for (const listener of this.#listeners) listener(id)
  }

  #makeReady(id: string): void {
    const task = this.#find(id)
    if (!task) return
    task.isReady = true
    scheduler.clearTimeout(task.retry)
    if (task.isRunning) return
    const { owner } = task.entry
    this.#ready.set(owner, (this.#ready.get(owner) ?? new Set()).add(id))
    for (const worker of this.#workers) worker.wake()
  }

  /** Round robin: after one of its tasks was taken, an owner goes to the end of the line. */
  #take(hasCapacity: (owner: string) => boolean): { id: string; owner: string } | undefined {
    for (const [owner, ids] of this.#ready) {
      if (!hasCapacity(owner)) continue
      this.#ready.delete(owner)
      const id = this.#takeFirst(ids)
      if (ids.size > 0) this.#ready.set(owner, ids)
      if (id !== undefined) return { id, owner }
    }
    return undefined
  }

  #takeFirst(ids: Set<string>): string | undefined {
    for (const id of ids) {
      ids.delete(id)
      const task = this.#find(id)
      if (!task) continue
      task.isReady = false
      task.isRunning = true
      return id
    }
    return undefined
  }

  #finish(id: string, succeeded: boolean): void {
    const task = this.#find(id)
    if (!task) return
    task.isRunning = false
    task.failures = succeeded ? 0 : task.failures + 1
    if (task.isReady) return this.#makeReady(id)
    if (succeeded) return
    const delayMs = Math.min(firstRetryMs * 2 ** (task.failures - 1), longestRetryMs)
    task.retry = scheduler.setTimeout(() => this.#makeReady(id), delayMs)
    scheduler.unref(task.retry)
  }

  #removeOldestFinished(owner: string | undefined, except: string | undefined): boolean {
    const id = this.#index.oldestFinished(owner, except)
    if (id !== undefined) this.#remove(id)
    return id !== undefined
  }

  #remove(id: string): void {
    const task = this.#tasks.get(id)
    if (!task) return
    scheduler.clearTimeout(task.retry)
    this.#index.remove(task.entry, task.bytes)
    this.#tasks.delete(id)
    this.#ready.get(task.entry.owner)?.delete(id)
  }
}

interface StoredTask {
  entry: TaskEntry
  readonly notes: string[]
  noteBytes: number
  bytes: number
  isReady: boolean
  isRunning: boolean
  /** Consecutive failed runs. */
  failures: number
  /** The timer for the next run after a failure. */
  retry: Timer | undefined
}
