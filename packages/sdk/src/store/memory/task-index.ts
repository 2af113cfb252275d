import type { TaskEntry, TaskPosition } from '../ports.ts'
import type { TaskUsage } from '../task-limits.ts'
import { SortedList } from './sorted-list.ts'

/** The task ids of a store by owner, list, expiry and order of completion. */
export class TaskIndex {
  readonly #total = new Usage()
  readonly #owners = new Map<string, Usage>()
  readonly #lists = new Map<string, SortedList<TaskPosition>>()
  readonly #expiries = new SortedList<Expiry>((one, other) => one.at - other.at || compareText(one.id, other.id))

  add(entry: TaskEntry, bytes: number): void {
    const { id, owner, listedFor, expiresAt } = entry
    const usage = this.#owners.get(owner) ?? new Usage()
    this.#owners.set(owner, usage)
    usage.add(entry, bytes)
    this.#total.add(entry, bytes)
    if (expiresAt !== null) this.#expiries.add({ at: expiresAt, id })
    if (listedFor === null) return
    const list = this.#lists.get(listedFor) ?? new SortedList<TaskPosition>(compare)
    this.#lists.set(listedFor, list)
    list.add({ id, createdAt: entry.createdAt })
  }

  remove(entry: TaskEntry, bytes: number): void {
    const { id, owner, listedFor, expiresAt } = entry
    this.#total.subtract(entry, bytes)
    const usage = this.#owners.get(owner)
    usage?.subtract(entry, bytes)
    if (usage?.isEmpty) this.#owners.delete(owner)
    if (expiresAt !== null) this.#expiries.delete({ at: expiresAt, id })
    if (listedFor === null) return
    const list = this.#lists.get(listedFor)
    list?.delete(entry)
    if (list?.size === 0) this.#lists.delete(listedFor)
  }

  /** Returns what an owner uses, or all owners together. */
  usage(owner?: string): TaskUsage {
    return this.#usageOf(owner)
  }

  /** Returns one page of a list, oldest first. */
  page(listedFor: string, after: TaskPosition | undefined, limit: number): TaskPosition[] {
    return this.#lists.get(listedFor)?.after(after, limit) ?? []
  }

  /** Returns the id of a task that has expired, if there is one. */
  expired(now: number): string | undefined {
    const { first } = this.#expiries
    return first && first.at <= now ? first.id : undefined
  }

  /** Returns the id of the task that finished first, if there is one. */
  oldestFinished(owner: string | undefined, except: string | undefined): string | undefined {
    for (const id of this.#usageOf(owner).finishedIds) if (id !== except) return id
    return undefined
  }

  #usageOf(owner: string | undefined): Usage {
    return owner === undefined ? this.#total : (this.#owners.get(owner) ?? noUsage)
  }
}

interface Expiry {
  readonly at: number
  readonly id: string
}

class Usage implements TaskUsage {
  open = 0
  bytes = 0
  /** In order of completion. */
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

const noUsage = new Usage()

function compare(one: TaskPosition, other: TaskPosition): number {
  return one.createdAt - other.createdAt || compareText(one.id, other.id)
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
