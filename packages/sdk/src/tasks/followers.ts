import { principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import type { Caller, TaskFeed } from '../era/server.ts'
import { ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { extensionDialect } from './extension-dialect.ts'
import { ownerOf, type TaskRepository } from './repository.ts'
import type { Task } from './task.ts'
import type { TaskWatchers } from './watchers.ts'

/** Tasks that one owner follows at a time, over all its streams. Others are not accepted, and the client polls them. */
const maxFollowedPerOwner = 20_000

export interface FollowersHost {
  readonly book: TaskRepository
  readonly watchers: TaskWatchers
  /** Throws when the caller has no such task. */
  find(id: string, call: Pick<Call, 'stream' | 'link'>): Promise<Task>
  reportError(error: unknown): void
}

/** Tells `subscriptions/listen` streams of changes of tasks (2026-07-28 tasks extension, notifications). */
export class TaskFollowers implements TaskFeed {
  readonly #host: FollowersHost
  readonly #followed = new Map<string, number>()

  constructor(host: FollowersHost) {
    this.#host = host
  }

  async accept(ids: readonly string[], exchange: Exchange, caller: Caller): Promise<string[]> {
    extensionDialect.checkCaller(caller)
    const room = maxFollowedPerOwner - (this.#followed.get(ownerOf(principalOf(exchange))) ?? 0)
    const wanted = [...new Set(ids)].slice(0, Math.max(room, 0))
    const known = await Promise.all(wanted.map((id) => this.#host.find(id, exchange).catch(unlessUnknown)))
    return wanted.filter((_, index) => known[index])
  }

  follow(ids: readonly string[], exchange: Exchange, caller: Caller, tell: (task: ResultObject) => void): () => void {
    const owner = ownerOf(principalOf(exchange))
    this.#count(owner, ids.length)
    const stops = ids.map((id) => this.#followOne(id, caller, tell))
    return () => {
      this.#count(owner, -ids.length)
      for (const stop of stops) stop()
    }
  }

  #followOne(id: string, caller: Caller, tell: (task: ResultObject) => void): () => void {
    const { book, watchers } = this.#host
    let version = 0
    let told = ''
    const look = async () => {
      const task = await book.get(id)
      // Changes may be heard of in another order than they happened.
      if (!task || task.version <= version) return
      version = task.version
      // Most changes are of no interest to clients: that a run began, or that something was done once.
      const { status, statusMessage, questions } = task
      const news = JSON.stringify([status, statusMessage, Object.keys(questions)])
      if (news === told) return
      told = news
      tell(extensionDialect.described(task, book.pace, caller))
    }
    const lookSafely = () => void look().catch((error) => this.#host.reportError(error))
    lookSafely()
    return watchers.on(id, (said) => said ?? lookSafely())
  }

  #count(owner: string, change: number): void {
    const count = (this.#followed.get(owner) ?? 0) + change
    if (count > 0) this.#followed.set(owner, count)
    else this.#followed.delete(owner)
  }
}

function unlessUnknown(error: unknown): undefined {
  if (!(error instanceof ProtocolError)) throw error
  return undefined
}
