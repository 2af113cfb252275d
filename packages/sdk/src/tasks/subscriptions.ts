import { principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import type { TaskFeed } from '../era/server.ts'
import { ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import { extensionDialect } from './extension-dialect.ts'
import { ownerOf, type TaskRepository } from './repository.ts'
import type { Task } from './task.ts'
import type { TaskWatchers } from './watchers.ts'

/** Tasks that one owner can follow, over all its streams. Others are not accepted, and the client polls them. */
const maxFollowedPerOwner = 20_000

export interface TaskSubscriptionsOptions {
  readonly repository: TaskRepository
  readonly watchers: TaskWatchers
  /** Throws if the caller has no such task. */
  find(id: string, call: Pick<Call, 'stream' | 'link'>): Promise<Task>
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
