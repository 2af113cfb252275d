import { McpError } from '../../errors.ts'
import { runDetached } from '../../util/maybe-async.ts'
import { random } from '../../util/random.ts'
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
import { noLimits, overloadError } from '../task-limits.ts'
import type { Channels } from './channels.ts'
import { type Client, type Connections, isConnected, load } from './connections.ts'
import type { Keys } from './keys.ts'
import { runScript } from './scripts.ts'
import { type BullMq, jobIdOf, TaskQueue } from './task-queue.ts'
import { countOpenTasks, createTask, listTasks, overloads, replaceTask, taskUsage } from './task-scripts.ts'
import { RedisTaskWorker } from './task-worker.ts'

/**
 * Stores tasks in Redis and runs them through BullMQ. Every change is one script, so it is atomic. It includes whether
 * the task is ready, and jobs are created from that as often as necessary. Data that Redis loses is lost: configure it
 * to write its log before it answers (`appendonly yes`, `appendfsync always`) if tasks must survive the loss of a
 * machine, and not to evict keys (`maxmemory-policy noeviction`).
 */
export class RedisTaskStore implements TaskStore {
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #keys: Keys
  readonly #report: (error: unknown) => void
  readonly #workers = new Set<RedisTaskWorker>()
  #connected: Promise<Connected> | undefined

  constructor(connections: Connections, channels: Channels, keys: Keys, report: (error: unknown) => void) {
    this.#connections = connections
    this.#channels = channels
    this.#keys = keys
    this.#report = report
  }

  async create(entry: TaskEntry, options: TaskWriteOptions = {}): Promise<void> {
    const { client, queue } = await this.#open()
    const { keys, args, notes } = this.#scriptInput(entry, options)
    const [created, openCount] = (await runScript(client, createTask, ...keys, ...args, '', '', ...notes)) as number[]
    if (created === 0) throw new McpError('invalid-argument', `Task "${entry.id}" already exists`)
    const overload = overloads[-1 - created!]
    if (overload) throw overloadError(overload, options.limits ?? noLimits)
    if (options.isReady) queue.add(entry.id, openCount!)
  }

  async get(id: string): Promise<TaskEntry | undefined> {
    const { client } = await this.#open()
    const [body, ...fields] = await client.hmget(this.#keys.task(id), 'body', ...summaryFields)
    const summary = toSummary([...fields, id])
    return summary && typeof body === 'string' ? { ...summary, body } : undefined
  }

  async replace(entry: TaskEntry, options: TaskWriteOptions = {}): Promise<boolean> {
    const { client, queue } = await this.#open()
    const { keys, args, notes } = this.#scriptInput(entry, options)
    const last = [String(entry.version - 1), jobIdOf(entry.id)]
    const reply = await runScript(client, replaceTask, ...keys, queue.delayed, ...args, ...last, ...notes)
    const [done, openCount] = reply as number[]
    if (done === 0) return false
    if (options.isReady) queue.add(entry.id, openCount!)
    if (done === 2) void runDetached(() => queue.promote(entry.id), this.#report)
    return true
  }

  async notes(id: string): Promise<string[]> {
    const { client } = await this.#open()
    return client.lrange(this.#keys.notes(id), 0, -1)
  }

  async list(
    listedFor: string,
    { after, limit }: { after?: TaskPosition | undefined; limit: number },
  ): Promise<TaskSummary[]> {
    const { client } = await this.#open()
    const position = after ? [after.createdAt, after.id] : []
    const key = this.#keys.list(listedFor)
    const found = await runScript(client, listTasks, key, this.#keys.root, listedFor, limit, ...position)
    return (found as string[][]).map(toSummary).filter((summary) => summary !== undefined)
  }

  async countOpen(owner?: string): Promise<number> {
    const { client } = await this.#open()
    return Number(await runScript(client, countOpenTasks, this.#keys.open(owner)))
  }

  async usage(): Promise<TaskStoreUsage> {
    const { client, queue } = await this.#open()
    const reply = await runScript(client, taskUsage, this.#keys.open(), this.#keys.due, queue.active, this.#keys.root)
    const [open, finished, bytes, queued, oldest] = reply as [number, number, number, number, string]
    return { open, finished, bytes, queued, oldestOpenAt: oldest === '' ? undefined : Number(oldest) }
  }

  async work(run: RunTask, options: WorkOptions): Promise<TaskStoreWorker> {
    const { bull, client, queue } = await this.#open()
    const connection = await this.#connections.openBlocking()
    const worker = new RedisTaskWorker({
      bull,
      client,
      queue,
      connection,
      keys: this.#keys,
      run,
      options,
      onEnd: async () => {
        this.#workers.delete(worker)
        await this.#connections.release(connection)
      },
    })
    this.#workers.add(worker)
    return worker
  }

  watch(listener: (id: string, text?: string) => void): Promise<() => void> {
    return this.#channels.subscribe(this.#keys.changes, (message) => {
      const [id, text] = JSON.parse(message) as [string, string?]
      listener(id, text)
    })
  }

  async publish(id: string, text: string): Promise<void> {
    const client = await this.#connections.commands()
    await client.publish(this.#keys.changes, JSON.stringify([id, text]))
  }

  /** Closes without waiting for running tasks, which run again elsewhere. To wait for them, stop the workers first. */
  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => undefined)
    if (!connected) return
    await Promise.all([...this.#workers].map((worker) => worker.abandon()))
    if (isConnected(connected.client)) await connected.queue.flush()
    await connected.queue.close()
  }

  #open(): Promise<Connected> {
    this.#connected ??= this.#connect().catch((error) => {
      this.#connected = undefined
      throw error
    })
    return this.#connected
  }

  async #connect(): Promise<Connected> {
    const bull = await load(() => import('bullmq'), 'bullmq')
    const client = await this.#connections.commands()
    return { bull, client, queue: new TaskQueue(bull, client, this.#keys, this.#report) }
  }

  #scriptInput(entry: TaskEntry, { notes = [], isReady = false, limits = noLimits }: TaskWriteOptions) {
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
      random.uuid(),
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

interface Connected {
  readonly bull: BullMq
  readonly client: Client
  readonly queue: TaskQueue
}

/** In the same order as `listTasks` returns them. */
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
