import { McpError } from '../errors.ts'
import { unref } from '../util/unref.ts'
import type {
  RunTask,
  TaskChange,
  TaskEntry,
  TaskPlace,
  TaskStore,
  TaskSummary,
  TaskWorker,
  WorkOptions,
} from './ports.ts'
import { SortedList } from './sorted-list.ts'
import {
  admitTask,
  bytesOf,
  evictFinished,
  noLimits,
  overloadError,
  type TaskShelf,
  type TaskUsage,
} from './task-limits.ts'

export interface MemoryTaskStoreOptions {
  /** Tasks kept in all; those that finished first make room for new ones. Default 10,000. */
  maxTasks?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

interface Kept {
  entry: TaskEntry
  readonly notes: string[]
  noteBytes: number
  bytes: number
  isReady: boolean
  isRunning: boolean
  /** Runs that failed, one after another. */
  failures: number
  /** Until it is run again after a failure. */
  pause: ReturnType<typeof setTimeout> | undefined
}

interface Expiry {
  readonly at: number
  readonly id: string
}

const firstPauseMs = 100
const longestPauseMs = 30_000

/** Tasks in this process, gone with it. */
export class MemoryTaskStore implements TaskStore {
  readonly #maxTasks: number
  readonly #now: () => number
  readonly #tasks = new Map<string, Kept>()
  readonly #total = new Usage()
  readonly #owners = new Map<string, Usage>()
  readonly #lists = new Map<string, SortedList<TaskPlace>>()
  readonly #expiries = new SortedList<Expiry>((one, other) => one.at - other.at || compareText(one.id, other.id))
  /** By owner, whose turn it is first; their tasks in the order in which they became ready. */
  readonly #ready = new Map<string, Set<string>>()
  readonly #workers = new Set<Worker>()
  readonly #listeners = new Set<(id: string, said?: string) => void>()
  readonly #shelf: TaskShelf = {
    usage: (owner) => (owner === undefined ? this.#total : (this.#owners.get(owner) ?? nothing)),
    removeOldestFinished: (owner, except) => this.#removeOldestFinished(owner, except),
  }

  constructor({ maxTasks = 10_000, now = Date.now }: MemoryTaskStoreOptions = {}) {
    this.#maxTasks = maxTasks
    this.#now = now
  }

  async create(entry: TaskEntry, change: TaskChange = {}): Promise<void> {
    this.#expire()
    if (this.#tasks.has(entry.id)) throw new TypeError(`There is a task ${entry.id} already`)
    const { notes = [], isReady = false, limits = noLimits } = change
    const noteBytes = bytesOf(...notes)
    const bytes = noteBytes + bytesOf(entry.summary, entry.body)
    const overload = admitTask(this.#shelf, entry.owner, bytes, limits)
    if (overload) throw overloadError(overload, limits)
    while (this.#tasks.size >= this.#maxTasks) {
      if (this.#removeOldestFinished(undefined, undefined)) continue
      throw new McpError('overloaded', `This server keeps at most ${this.#maxTasks} tasks. Try again later.`)
    }
    const kept: Kept = {
      entry,
      notes: [...notes],
      noteBytes,
      bytes,
      isReady: false,
      isRunning: false,
      failures: 0,
      pause: undefined,
    }
    this.#tasks.set(entry.id, kept)
    this.#enter(kept)
    if (!entry.isOpen) evictFinished(this.#shelf, entry.owner, limits, { except: entry.id })
    this.#changed(entry.id, isReady)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    return this.#find(id)?.entry
  }

  async replace(entry: TaskEntry, change: TaskChange = {}): Promise<boolean> {
    const kept = this.#find(entry.id)
    if (kept?.entry.version !== entry.version - 1) return false
    const { notes = [], isReady = false, limits = noLimits } = change
    this.#leave(kept)
    kept.entry = entry
    for (const note of notes) kept.notes.push(note)
    kept.noteBytes += bytesOf(...notes)
    kept.bytes = kept.noteBytes + bytesOf(entry.summary, entry.body)
    this.#enter(kept)
    if (!entry.isOpen) evictFinished(this.#shelf, entry.owner, limits, { except: entry.id })
    this.#changed(entry.id, isReady)
    return true
  }

  async notes(id: string): Promise<string[]> {
    return [...(this.#find(id)?.notes ?? [])]
  }

  async list(
    listedFor: string,
    { after, limit }: { after?: TaskPlace | undefined; limit: number },
  ): Promise<TaskSummary[]> {
    this.#expire()
    const places = this.#lists.get(listedFor)?.after(after, limit) ?? []
    return places.map(({ id }) => {
      const { body: _body, ...summary } = this.#tasks.get(id)!.entry
      return summary
    })
  }

  async countOpen(owner?: string): Promise<number> {
    this.#expire()
    return this.#shelf.usage(owner).open
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskWorker> {
    const worker = new Worker(
      run,
      options,
      (isFree) => this.#next(isFree),
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
    this.#expire()
    return this.#tasks.get(id)
  }

  /** Forgets what has expired. */
  #expire(): void {
    const now = this.#now()
    for (let { first } = this.#expiries; first && first.at <= now; { first } = this.#expiries) this.#forget(first.id)
  }

  /** Puts a task into all indexes. */
  #enter({ entry, bytes }: Kept): void {
    const { id, owner, listedFor, expiresAt } = entry
    const usage = this.#owners.get(owner) ?? new Usage()
    this.#owners.set(owner, usage)
    for (const one of [usage, this.#total]) one.add(entry, bytes)
    if (expiresAt !== null) this.#expiries.add({ at: expiresAt, id })
    if (listedFor === null) return
    const list = this.#lists.get(listedFor) ?? new SortedList<TaskPlace>(compare)
    this.#lists.set(listedFor, list)
    list.add({ id, createdAt: entry.createdAt })
  }

  /** Takes a task out of all indexes. */
  #leave({ entry, bytes }: Kept): void {
    const { id, owner, listedFor, expiresAt } = entry
    const usage = this.#owners.get(owner)!
    for (const one of [usage, this.#total]) one.subtract(entry, bytes)
    if (usage.isEmpty) this.#owners.delete(owner)
    if (expiresAt !== null) this.#expiries.delete({ at: expiresAt, id })
    const list = listedFor === null ? undefined : this.#lists.get(listedFor)
    list?.delete(entry)
    if (list?.size === 0) this.#lists.delete(listedFor!)
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
    const { owner } = kept.entry
    this.#ready.set(owner, (this.#ready.get(owner) ?? new Set()).add(id))
    for (const worker of this.#workers) worker.wake()
  }

  /** Round robin: the owner whose task is taken goes to the end of the line. */
  #next(isFree: (owner: string) => boolean): { id: string; owner: string } | undefined {
    for (const [owner, ids] of this.#ready) {
      if (!isFree(owner)) continue
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

  #removeOldestFinished(owner: string | undefined, except: string | undefined): boolean {
    const { finishedIds } = owner === undefined ? this.#total : (this.#owners.get(owner) ?? nothing)
    for (const id of finishedIds) {
      if (id === except) continue
      this.#forget(id)
      return true
    }
    return false
  }

  #forget(id: string): void {
    const kept = this.#tasks.get(id)!
    clearTimeout(kept.pause)
    this.#leave(kept)
    this.#tasks.delete(id)
    this.#ready.get(kept.entry.owner)?.delete(id)
  }
}

class Usage implements TaskUsage {
  open = 0
  bytes = 0
  /** In the order in which they finished. */
  readonly finishedIds = new Set<string>()

  get finished(): number {
    return this.finishedIds.size
  }

  get isEmpty(): boolean {
    return this.open === 0 && this.finishedIds.size === 0
  }

  add({ id, isOpen }: TaskEntry, bytes: number): void {
    this.bytes += bytes
    if (isOpen) this.open++
    else this.finishedIds.add(id)
  }

  subtract({ id, isOpen }: TaskEntry, bytes: number): void {
    this.bytes -= bytes
    if (isOpen) this.open--
    else this.finishedIds.delete(id)
  }
}

const nothing = new Usage()

/** Runs what is ready, so many at a time. */
class Worker {
  readonly #run: RunTask
  readonly #options: WorkOptions
  readonly #next: (isFree: (owner: string) => boolean) => { id: string; owner: string } | undefined
  readonly #ended: (id: string, isDone: boolean) => void
  readonly #running = new Set<Promise<void>>()
  readonly #perOwner = new Map<string, number>()
  #isStopped = false
  #isWoken = false

  constructor(
    run: RunTask,
    options: WorkOptions,
    next: (isFree: (owner: string) => boolean) => { id: string; owner: string } | undefined,
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
      const next = this.#next((owner) => this.#isFree(owner))
      if (!next) return
      const { id, owner } = next
      this.#perOwner.set(owner, (this.#perOwner.get(owner) ?? 0) + 1)
      const running = this.#runOne(id).then(() => {
        this.#running.delete(running)
        const left = this.#perOwner.get(owner)! - 1
        if (left > 0) this.#perOwner.set(owner, left)
        else this.#perOwner.delete(owner)
        this.#fill()
      })
      this.#running.add(running)
    }
  }

  #isFree(owner: string): boolean {
    const { concurrency, maxPerOwner = concurrency } = this.#options
    return (this.#perOwner.get(owner) ?? 0) < maxPerOwner
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

function compare(one: TaskPlace, other: TaskPlace): number {
  return one.createdAt - other.createdAt || compareText(one.id, other.id)
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
