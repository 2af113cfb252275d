import type { Params } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { TaskStore } from '../store/ports.ts'

/** Everyone in this process who wants to know of tasks: the store says which changed, whoever changed it. */
export class TaskWatchers {
  readonly #store: TaskStore
  readonly #listeners = new Map<string, Set<(said?: Said) => void>>()
  #stop: Promise<() => void> | undefined

  constructor(store: TaskStore) {
    this.#store = store
  }

  /** @param onChange Also for tasks that nobody here waits for. */
  async start(onChange: (id: string) => void): Promise<void> {
    this.#stop ??= this.#store.watch((id, text) => {
      if (text === undefined) onChange(id)
      const said = text === undefined ? undefined : (JSON.parse(text) as Said)
      for (const listener of [...(this.#listeners.get(id) ?? [])]) listener(said)
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

  /** @param listener Called after each change; and with what is said, where something is. */
  on(id: string, listener: (said?: Said) => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
    }
  }

  /** Has everyone here look at a task who waits for something to happen to it. */
  wake(id: string): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener()
  }

  /** Passes a notification that belongs to a task to whoever holds the connection of its client. */
  say(id: string, method: string, params: Params = {}): void {
    const _meta = { ...(params._meta as object), [metaKeys.relatedTask]: { taskId: id } }
    const said: Said = { method, params: { ...params, _meta } }
    void this.#store.say(id, JSON.stringify(said))
  }
}

/** A notification for the client of a task. */
export interface Said {
  readonly method: string
  readonly params: Params
}
