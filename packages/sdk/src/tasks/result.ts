import { ErrorCode, PeerError, ProtocolError } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import type { InputRequest } from '../protocol/input.ts'
import { withRelatedTask } from '../protocol/task-augmentation.ts'
import type { Context } from '../server/context.ts'
import { clock } from '../util/clock.ts'
import { random } from '../util/random.ts'
import { scheduler } from '../util/scheduler.ts'
import type { TaskRepository } from './repository.ts'
import type { TaskWatchers } from './subscriptions.ts'
import { isFinal, type Task } from './task.ts'

/** Throws if the caller has no such task. */
type FindTask = (id: string, ctx: Context) => Promise<Task>

/** `tasks/result` (2025-11-25): waits for the end of a task. Meanwhile it asks the waiting client the task's questions. */
export class TaskResults {
  readonly #find: FindTask
  readonly #repository: TaskRepository
  readonly #watchers: TaskWatchers
  readonly #timeoutMs: () => number
  /** The open questions of each connection, so that a client with two waiting requests is asked once. */
  readonly #asking = new WeakMap<object, Set<string>>()

  constructor(find: FindTask, repository: TaskRepository, watchers: TaskWatchers, timeoutMs: () => number) {
    this.#find = find
    this.#repository = repository
    this.#watchers = watchers
    this.#timeoutMs = timeoutMs
  }

  async wait(id: string, ctx: Context): Promise<ResultObject> {
    const signal = new ChangeSignal()
    const stop = this.#watchers.on(id, (notification) => notification ?? signal.notify())
    ctx.signal.addEventListener('abort', () => signal.notify())
    // Each question is asked once per request, also if it gets no answer.
    const asked = new Set<string>()
    try {
      while (!ctx.signal.aborted) {
        const next = signal.next()
        const task = await this.#find(id, ctx)
        if (isFinal(task.status)) {
          this.#repository.emit('retrieved', task)
          return toResult(task, ctx.caller)
        }
        for (const [key, question] of Object.entries(task.questions)) {
          if (!asked.has(key) && this.#ask(task, key, question, ctx)) asked.add(key)
        }
        await Promise.race([next, expiry(task)])
      }
      throw ctx.signal.reason
    } finally {
      stop()
    }
  }

  /**
   * Asks this connection, even if another one is being asked: that one may be gone without the server noticing.
   * @returns False if this connection is being asked already. When it has answered, all waiting requests look again.
   */
  #ask(task: Task, key: string, question: InputRequest, ctx: Context): boolean {
    const name = `${task.id} ${key}`
    const asking = this.#asking.get(ctx.call.link) ?? new Set()
    if (asking.has(name)) return false
    this.#asking.set(ctx.call.link, asking.add(name))
    this.#send(task, question, ctx)
      .then((answer) => answer && this.#repository.answer(task.id, { [key]: answer }))
      .catch((error) => this.#storeError(task, key, error))
      .catch(() => {})
      .finally(() => {
        asking.delete(name)
        this.#watchers.wake(task.id)
      })
    return true
  }

  /** Returns undefined if the client did not answer. Then another connection may be asked. */
  async #send({ id }: Task, question: InputRequest, ctx: Context): Promise<ResultObject | undefined> {
    const { method } = question
    const params = (question.params ?? {}) as Params
    // 2025-11-25 elicitation, URL mode: the id is required.
    const withId = params.mode === 'url' ? { ...params, elicitationId: random.uuid() } : params
    const related = { taskId: id }
    const sent = ctx.caller.rules.toParams(method, withRelatedTask(withId, related))
    try {
      await ctx.caller.ready
      return await ctx.call.ask(method, sent, {
        timeoutMs: this.#timeoutMs(),
        cancelParams: withRelatedTask({}, related),
      })
    } catch (error) {
      if (error instanceof PeerError) throw error
      return undefined
    }
  }

  /** The handler gets the error of the client, or the error that its answer is invalid. */
  async #storeError({ id }: Task, key: string, error: unknown): Promise<void> {
    if (!(error instanceof PeerError || error instanceof ProtocolError)) throw error
    const { rpcCode: code, message } = error
    await this.#repository.answer(id, { [key]: { error: { code, message } } })
  }
}

/** The result that the call would have had without a task (2025-11-25 tasks, result retrieval). */
function toResult({ id, status, result, error }: Task, { rules }: Caller): ResultObject {
  if (error) throw new ProtocolError(error.code, error.message, error.data)
  if (status === 'cancelled' || !result) throw new ProtocolError(ErrorCode.InternalError, 'The task was cancelled')
  return withRelatedTask(rules.toResult('tools/call', result), { taskId: id })
}

/** Resolves a promise at the next change. */
class ChangeSignal {
  #resolve: () => void = () => {}

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  notify(): void {
    this.#resolve()
  }
}

/** An expired task does not change any more, so waiting for a change would never end. */
function expiry({ expiresAt }: Task): Promise<void> {
  if (expiresAt === null) return new Promise(() => {})
  const waitMs = Math.min(Math.max(expiresAt - clock.now(), 0) + 10, 60_000)
  return new Promise((resolve) => scheduler.unref(scheduler.setTimeout(resolve, waitMs)))
}
