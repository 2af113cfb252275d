import type { Caller } from '../era/server.ts'
import { PeerError, ProtocolError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { InputRequest } from '../protocol/input.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { Context } from '../server/context.ts'
import { clock } from '../util/clock.ts'
import { unref } from '../util/unref.ts'
import type { TaskRepository } from './repository.ts'
import { isFinal, type Task } from './task.ts'
import type { TaskWatchers } from './watchers.ts'

/** Throws when the caller has no such task. */
type FindTask = (id: string, ctx: Context) => Promise<Task>

/** `tasks/result` (2025-11-25): waits for the end of a task, and puts the questions that the task has to whoever waits. */
export class TaskResults {
  readonly #find: FindTask
  readonly #book: TaskRepository
  readonly #watchers: TaskWatchers
  readonly #timeoutMs: () => number
  /** Questions that a connection is being asked, so that a client which waits twice is asked once. */
  readonly #asked = new WeakMap<object, Set<string>>()

  constructor(find: FindTask, book: TaskRepository, watchers: TaskWatchers, timeoutMs: () => number) {
    this.#find = find
    this.#book = book
    this.#watchers = watchers
    this.#timeoutMs = timeoutMs
  }

  async wait(id: string, ctx: Context): Promise<ResultObject> {
    const changes = new Changed()
    const stop = this.#watchers.on(id, (said) => said ?? changes.happened())
    ctx.signal.addEventListener('abort', () => changes.happened())
    // What this call could not get an answer to is not asked again and again.
    const tried = new Set<string>()
    try {
      while (!ctx.signal.aborted) {
        const next = changes.next()
        const task = await this.#find(id, ctx)
        if (isFinal(task.status)) {
          this.#book.tell('retrieved', task)
          return toResult(task, ctx.caller)
        }
        for (const [key, question] of Object.entries(task.questions)) {
          if (!tried.has(key) && this.#ask(task, key, question, ctx)) tried.add(key)
        }
        await Promise.race([next, expiry(task)])
      }
      throw ctx.signal.reason
    } finally {
      stop()
    }
  }

  /**
   * Another connection is asked as well: whoever was asked there may be gone without our knowing.
   * @returns False when this one is being asked; whoever waits looks again when that is over.
   */
  #ask(task: Task, key: string, question: InputRequest, ctx: Context): boolean {
    const name = `${task.id} ${key}`
    const asked = this.#asked.get(ctx.call.link) ?? new Set()
    if (asked.has(name)) return false
    this.#asked.set(ctx.call.link, asked.add(name))
    this.#put(task, question, ctx)
      .then((answer) => answer && this.#book.answer(task.id, { [key]: answer }))
      .catch((error) => this.#refuse(task, key, error))
      .catch(() => {})
      .finally(() => {
        asked.delete(name)
        this.#watchers.wake(task.id)
      })
    return true
  }

  /** The answer; undefined when there is none, and somebody else may be asked. */
  async #put({ id }: Task, question: InputRequest, ctx: Context): Promise<ResultObject | undefined> {
    const { method } = question
    const params = (question.params ?? {}) as Params
    // 2025-11-25 elicitation, URL mode: each has an id of its own.
    const named = params.mode === 'url' ? { ...params, elicitationId: crypto.randomUUID() } : params
    const _meta = { ...(params._meta as object), [metaKeys.relatedTask]: { taskId: id } }
    const sent = ctx.caller.rules.toParams(method, { ...named, _meta })
    try {
      return await ctx.call.ask(method, sent, { timeoutMs: this.#timeoutMs() })
    } catch (error) {
      if (error instanceof PeerError) throw error
      return undefined
    }
  }

  /** The handler is told that the client would not answer, or not with sense. */
  async #refuse({ id }: Task, key: string, error: unknown): Promise<void> {
    if (!(error instanceof PeerError || error instanceof ProtocolError)) throw error
    const { rpcCode: code, message } = error
    await this.#book.answer(id, { [key]: { error: { code, message } } })
  }
}

/** What the call would have been answered with, had it been no task (2025-11-25 tasks, result retrieval). */
function toResult({ id, status, result, error }: Task, { rules }: Caller): ResultObject {
  if (error) throw new ProtocolError(error.code, error.message, error.data)
  if (status === 'cancelled' || !result) throw new ProtocolError(RpcCode.InternalError, 'The task was cancelled')
  const shaped = rules.toResult('tools/call', result)
  return { ...shaped, _meta: { ...(shaped._meta as object), [metaKeys.relatedTask]: { taskId: id } } }
}

/** Tells whoever waits that something has happened since they began to. */
class Changed {
  #wake: () => void = () => {}

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  happened(): void {
    this.#wake()
  }
}

/** A task that is forgotten changes no more. */
function expiry({ expiresAt }: Task): Promise<void> {
  if (expiresAt === null) return new Promise(() => {})
  const waitMs = Math.min(Math.max(expiresAt - clock.now(), 0) + 10, 60_000)
  return new Promise((resolve) => unref(setTimeout(resolve, waitMs)))
}
