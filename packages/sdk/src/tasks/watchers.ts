import type { Params } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { TaskStore } from '../store/ports.ts'

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
    const _meta = { ...(params._meta as object), [metaKeys.relatedTask]: { taskId: id } }
    const notification: TaskNotification = { method, params: { ...params, _meta } }
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
