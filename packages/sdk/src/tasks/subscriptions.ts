import { principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import type { TaskFeed } from '../era/server.ts'
import { ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import { withRelatedTask } from '../protocol/task-augmentation.ts'
import type { TaskStore } from '../store/ports.ts'
import { toCoreTask } from './core-dialect.ts'
import { extensionDialect } from './extension-dialect.ts'
import { ownerOf, type TaskRepository } from './repository.ts'
import { isFinal, type Task } from './task.ts'

/** Tasks that one owner can follow, over all its streams. Others are not accepted, and the client polls them. */
const maxFollowedPerOwner = 20_000

export interface TaskSubscriptionsOptions {
  readonly repository: TaskRepository
  readonly watchers: TaskWatchers
  /** Throws if the caller has no such task. */
  find(id: string, call: Pick<Call, 'stream' | 'link' | 'request'>): Promise<Task>
  reportError(error: unknown): void
}

/** Sends changes of tasks to `subscriptions/listen` streams (2026-07-28 tasks extension, notifications). */
export class TaskSubscriptions implements TaskFeed {
  readonly #options: TaskSubscriptionsOptions
  readonly #followed = new Map<string, number>()

  constructor(options: TaskSubscriptionsOptions) {
    this.#options = options
  }

  async accept(ids: readonly string[], exchange: Exchange, caller: Caller): Promise<string[]> {
    extensionDialect.checkCaller(caller)
    const room = maxFollowedPerOwner - (this.#followed.get(ownerOf(principalOf(exchange))) ?? 0)
    const wanted = [...new Set(ids)].slice(0, Math.max(room, 0))
    const found = await Promise.all(wanted.map((id) => this.#options.find(id, exchange).catch(unlessNotFound)))
    return wanted.filter((_, index) => found[index])
  }

  follow(ids: readonly string[], exchange: Exchange, caller: Caller, notify: (task: ResultObject) => void): () => void {
    const owner = ownerOf(principalOf(exchange))
    this.#count(owner, ids.length)
    const stops = ids.map((id) => this.#followOne(id, caller, notify))
    return () => {
      this.#count(owner, -ids.length)
      for (const stop of stops) stop()
    }
  }

  #followOne(id: string, caller: Caller, notify: (task: ResultObject) => void): () => void {
    const { repository, watchers, reportError } = this.#options
    let version = 0
    let lastSent = ''
    const notifyIfChanged = async () => {
      const task = await repository.get(id)
      // Changes may be reported in another order than they happened.
      if (!task || task.version <= version) return
      version = task.version
      // Most changes are internal: a run started, or a result of `ctx.once` was stored.
      const { status, statusMessage, questions } = task
      const visible = JSON.stringify([status, statusMessage, Object.keys(questions)])
      if (visible === lastSent) return
      lastSent = visible
      notify(extensionDialect.described(task, repository.pollInterval, caller))
    }
    const onChange = () => void notifyIfChanged().catch(reportError)
    onChange()
    return watchers.on(id, (notification) => notification ?? onChange())
  }

  #count(owner: string, change: number): void {
    const count = (this.#followed.get(owner) ?? 0) + change
    if (count > 0) this.#followed.set(owner, count)
    else this.#followed.delete(owner)
  }
}

function unlessNotFound(error: unknown): undefined {
  if (!(error instanceof ProtocolError)) throw error
  return undefined
}

/** Notifies the session that created a task of its status, until one of them ends (2025-11-25 tasks, status notifications). */
export function sendTaskStatus(
  { id }: Task,
  { link }: Exchange,
  { repository, watchers }: { repository: TaskRepository; watchers: TaskWatchers },
  reportError: (error: unknown) => void,
): void {
  let lastSent = ''
  const sendIfChanged = async () => {
    const task = await repository.get(id)
    if (!task || isFinal(task.status) || link.closed) stop()
    if (!task || link.closed) return
    const params = toCoreTask(task, repository.pollInterval)
    const status = JSON.stringify([params.status, params.statusMessage])
    if (status !== lastSent) link.notify('notifications/tasks/status', { ...params })
    lastSent = status
  }
  const stop = watchers.on(id, (notification) => {
    if (notification) link.notify(notification.method, notification.params)
    else sendIfChanged().catch(reportError)
  })
}

/** Listeners in this process for changes of tasks by any process. */
export class TaskWatchers {
  readonly #store: TaskStore
  readonly #listeners = new Map<string, Set<TaskListener>>()
  #stop: Promise<() => void> | undefined

  constructor(store: TaskStore) {
    this.#store = store
  }

  /** @param onChange Called for every task, also those without a listener. */
  async start(onChange: (id: string) => void): Promise<void> {
    this.#stop ??= this.#store.watch((id, text) => {
      if (text === undefined) onChange(id)
      const notification = text === undefined ? undefined : (JSON.parse(text) as TaskNotification)
      for (const listener of [...(this.#listeners.get(id) ?? [])]) listener(notification)
    })
    try {
      await this.#stop
    } catch (error) {
      this.#stop = undefined
      throw error
    }
  }

  async stop(): Promise<void> {
    const stop = await this.#stop
    this.#stop = undefined
    stop?.()
  }

  /** @returns A function that removes the listener. */
  on(id: string, listener: TaskListener): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  /** Calls the listeners in this process as if the task had changed. */
  wake(id: string): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener()
  }

  /** Sends a notification about a task through the process that holds the connection of its client. */
  notifyClient(id: string, method: string, params: Params = {}): void {
    const notification: TaskNotification = { method, params: withRelatedTask(params, { taskId: id }) }
    void this.#store.publish(id, JSON.stringify(notification))
  }
}

/** Called after each change of a task, and with each notification for its client. */
export type TaskListener = (notification?: TaskNotification) => void

/** A notification for the client of a task. */
export interface TaskNotification {
  readonly method: string
  readonly params: Params
}
