import { McpError } from '../../errors.ts'
import { runDetached } from '../../util/run-detached.ts'
import type {
  RunTask,
  TaskChange,
  TaskEntry,
  TaskPlace,
  TaskStore,
  TaskSummary,
  TaskWorker,
  WorkOptions,
} from '../ports.ts'
import { noLimits, overloadError } from '../task-limits.ts'
import type { Channels } from './channels.ts'
import { type Client, type Connections, isConnected, load } from './connections.ts'
import type { Keys } from './keys.ts'
import { runScript } from './scripts.ts'
import { type BullMq, jobIdOf, TaskQueue } from './task-queue.ts'
import { countOpenTasks, createTask, listTasks, overloads, replaceTask } from './task-scripts.ts'
import { RedisTaskWorker } from './task-worker.ts'

/**
 * Tasks in Redis, run through BullMQ. A change is one script, so it happens as a whole or not at all; that a task is ready
 * is part of it, and jobs are made from that as often as it takes. What Redis itself loses is lost: it must write its log
 * before it answers (`appendonly yes`, `appendfsync always`) for a task to survive the loss of its machine, and must not
 * evict keys (`maxmemory-policy noeviction`).
 */
export class RedisTaskStore implements TaskStore {
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #keys: Keys
  readonly #report: (error: unknown) => void
  readonly #workers = new Set<RedisTaskWorker>()
  #opened: Promise<Opened> | undefined

  constructor(connections: Connections, channels: Channels, keys: Keys, report: (error: unknown) => void) {
    this.#connections = connections
    this.#channels = channels
    this.#keys = keys
    this.#report = report
  }

  async create(entry: TaskEntry, change: TaskChange = {}): Promise<void> {
    const { client, queue } = await this.#open()
    const { keys, args, notes } = this.#putting(entry, change)
    const [made, openCount] = (await runScript(client, createTask, ...keys, ...args, '', '', ...notes)) as number[]
    if (made === 0) throw new McpError('invalid-argument', `There is a task ${entry.id} already`)
    const overload = overloads[-1 - made!]
    if (overload) throw overloadError(overload, change.limits ?? noLimits)
    if (change.isReady) queue.add(entry.id, openCount!)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    const { client } = await this.#open()
    const [body, ...fields] = await client.hmget(this.#keys.task(id), 'body', ...summaryFields)
    const summary = toSummary([...fields, id])
    return summary && typeof body === 'string' ? { ...summary, body } : undefined
  }

  async replace(entry: TaskEntry, change: TaskChange = {}): Promise<boolean> {
    const { client, queue } = await this.#open()
    const { keys, args, notes } = this.#putting(entry, change)
    const last = [String(entry.version - 1), jobIdOf(entry.id)]
    const said = await runScript(client, replaceTask, ...keys, queue.delayed, ...args, ...last, ...notes)
    const [done, openCount] = said as number[]
    if (done === 0) return false
    if (change.isReady) queue.add(entry.id, openCount!)
    if (done === 2) void runDetached(() => queue.hasten(entry.id), this.#report)
    return true
  }

  async notes(id: string): Promise<string[]> {
    const { client } = await this.#open()
    return client.lrange(this.#keys.notes(id), 0, -1)
  }

  async list(
    listedFor: string,
    { after, limit }: { after?: TaskPlace | undefined; limit: number },
  ): Promise<TaskSummary[]> {
    const { client } = await this.#open()
    const place = after ? [after.createdAt, after.id] : []
    const key = this.#keys.list(listedFor)
    const found = await runScript(client, listTasks, key, this.#keys.root, listedFor, limit, ...place)
    return (found as string[][]).map(toSummary).filter((summary) => summary !== undefined)
  }

  async countOpen(owner?: string): Promise<number> {
    const { client } = await this.#open()
    return Number(await runScript(client, countOpenTasks, this.#keys.open(owner)))
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskWorker> {
    const { bull, client, queue } = await this.#open()
    const connection = await this.#connections.another()
    const worker = new RedisTaskWorker({
      bull,
      client,
      queue,
      connection,
      keys: this.#keys,
      run,
      options,
      ended: async () => {
        this.#workers.delete(worker)
        await this.#connections.release(connection)
      },
    })
    this.#workers.add(worker)
    return worker
  }

  watch(listener: (id: string, said?: string) => void): Promise<() => void> {
    return this.#channels.subscribe(this.#keys.changes, (message) => {
      const [id, said] = JSON.parse(message) as [string, string?]
      listener(id, said)
    })
  }

  async say(id: string, text: string): Promise<void> {
    const client = await this.#connections.commands()
    await client.publish(this.#keys.changes, JSON.stringify([id, text]))
  }

  /** Without waiting for tasks that run: those are run again elsewhere. To wait for them, stop the workers first. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    if (!opened) return
    await Promise.all([...this.#workers].map((worker) => worker.abandon()))
    if (isConnected(opened.client)) await opened.queue.flush()
    await opened.queue.close()
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#connect().catch((error) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #connect(): Promise<Opened> {
    const bull = await load(() => import('bullmq'), 'bullmq')
    const client = await this.#connections.commands()
    return { bull, client, queue: new TaskQueue(bull, client, this.#keys, this.#report) }
  }

  #putting(entry: TaskEntry, { notes = [], isReady = false, limits = noLimits }: TaskChange) {
    const { id } = entry
    const keys = [this.#keys.task(id), this.#keys.notes(id), this.#keys.due]
    const args = [
      this.#keys.root,
      id,
      entry.owner,
      entry.listedFor === null ? '-' : `+${entry.listedFor}`,
      entry.version,
      entry.createdAt,
      entry.expiresAt ?? '',
      entry.isOpen ? 1 : 0,
      entry.summary,
      entry.body,
      crypto.randomUUID(),
      isReady ? 1 : 0,
      JSON.stringify([id]),
      notes.length,
      ...[limits.maxOpenPerOwner, limits.maxOpen, limits.maxFinishedPerOwner, limits.maxFinished].map(toLimit),
      ...[limits.maxBytesPerOwner, limits.maxBytes].map(toLimit),
    ]
    return { keys, args, notes }
  }
}

function toLimit(value: number): string {
  return Number.isFinite(value) ? String(value) : ''
}

interface Opened {
  readonly bull: BullMq
  readonly client: Client
  readonly queue: TaskQueue
}

/** In the order in which `listTasks` gives them too. */
const summaryFields = ['owner', 'listed', 'version', 'createdAt', 'expiresAt', 'isOpen', 'summary']

function toSummary(fields: Array<string | null>): TaskSummary | undefined {
  const [owner, listed, version, createdAt, expiresAt, isOpen, summary, id] = fields
  if (typeof owner !== 'string' || typeof summary !== 'string' || typeof id !== 'string') return undefined
  return {
    id,
    owner,
    listedFor: listed?.startsWith('+') ? listed.slice(1) : null,
    version: Number(version),
    createdAt: Number(createdAt),
    expiresAt: expiresAt ? Number(expiresAt) : null,
    isOpen: isOpen === '1',
    summary,
  }
}
