import type { Caller } from '../era/server.ts'
import { type ConversationHost, StatelessConversation } from '../era/stateless/conversation.ts'
import { RpcCode } from '../errors.ts'
import type { Params } from '../jsonrpc/message.ts'
import type { TaskHost } from '../server/task-runtime.ts'
import type { TaskWorker } from '../store/ports.ts'
import { maxTimerMs } from '../util/backoff.ts'
import { clock } from '../util/clock.ts'
import { elapsed } from '../util/pause.ts'
import { unref } from '../util/unref.ts'
import { TaskCall } from './call.ts'
import type { Settings } from './options.ts'
import type { TaskRepository } from './repository.ts'
import { emptyJournal, type RunOptions, TaskRun } from './run.ts'
import type { KeptRequest, Note, Task } from './task.ts'

/** A store that does not answer is not waited for when the server closes. */
const graceMs = 5_000

/** How often in a lease a process says that it still has a call in hand. */
const holdParts = 3

/** Runs tasks that the store gives to this process, and looks after those whose calls became tasks here. */
export class TaskRunner {
  readonly #settings: Settings
  readonly #book: TaskRepository
  readonly #host: TaskHost
  readonly #tell: (task: Task) => RunOptions['tell']
  readonly #running = new Map<string, TaskRun>()
  /** Calls that became tasks while they ran, until they have ended. */
  readonly #held = new Map<string, Promise<void>>()
  #worker: Promise<TaskWorker> | undefined
  /** The server closes, and its patience is over: what would begin now is left to others. */
  #isDrained = false

  /** @param tell How the client of a task hears of it. */
  constructor(settings: Settings, book: TaskRepository, host: TaskHost, tell: (task: Task) => RunOptions['tell']) {
    this.#settings = settings
    this.#book = book
    this.#host = host
    this.#tell = tell
  }

  async start(): Promise<void> {
    const { store, concurrency, maxRunningPerCaller, leaseMs } = this.#settings
    if (concurrency === 0) return
    if (!this.#worker) this.#isDrained = false
    this.#worker ??= store.work((id, signal) => this.#run(id, signal), {
      concurrency,
      maxPerOwner: maxRunningPerCaller,
      leaseMs,
      onError: (error) => this.#host.reportError(error),
    })
    try {
      await this.#worker
    } catch (error) {
      this.#worker = undefined
      throw error
    }
  }

  async stop(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined)
    this.#worker = undefined
    const over = Promise.all([worker?.stop(), ...this.#held.values()])
    const timer = setTimeout(() => {
      this.#isDrained = true
      for (const { call } of this.#running.values()) call.interrupt('handed-back', new Error('The server closes'))
    }, this.#settings.drainMs)
    await Promise.race([over, elapsed(this.#settings.drainMs + graceMs)])
    clearTimeout(timer)
  }

  /** Somebody changed a task: if it was taken away from its run, that stops. */
  async changed(id: string): Promise<void> {
    const run = this.#running.get(id)
    if (!run) return
    const task = await this.#book.get(id)
    if (!task || !run.isMine(task)) run.call.interrupt('cancelled', new Error('The task was cancelled'))
  }

  /** Until when others take it that a call which became a task is looked after here. */
  holdUntil(): number {
    return clock.now() + this.#settings.leaseMs
  }

  /** Goes on with a call that became a task while it ran. */
  follow(run: TaskRun, running: Parameters<TaskRun['finish']>[0]): void {
    const timer = setInterval(() => void this.#renew(run), this.#settings.leaseMs / holdParts)
    unref(timer)
    const ended = this.#finish(run, running)
      .catch((error) => this.#host.reportError(error))
      .finally(() => {
        clearInterval(timer)
        this.#held.delete(run.id)
      })
    this.#held.set(run.id, ended)
  }

  createRun(task: Task, call: TaskCall, caller: Caller, opened: RunOptions['opened']): TaskRun {
    return new TaskRun(task, call, caller, this.#book, {
      maxRounds: this.#host.questions.maxRounds,
      opened,
      tell: this.#tell(task),
      errorOf: (error) => this.#host.errorOf(error),
    })
  }

  async #run(id: string, signal: AbortSignal): Promise<void> {
    const task = await this.#begin(id)
    if (!task) return
    const [first, ...rest] = await this.#book.notes(id)
    // Without its request there is nothing to run: it has expired.
    if (!first || !('request' in first)) return
    const { request } = first
    const caller = this.#callerOf(task, request)
    if (!caller) return this.#fail(task, `Its client spoke ${task.revision}, which is not served here`)
    const call = TaskCall.ofTask(
      request,
      { requestState: 'kept', inputResponses: answersOf(task) } as Params,
      task.sessionId,
    )
    const run = this.createRun(task, call, caller, { byHand: undefined, ...task.state, journal: journalOf(task, rest) })
    const lost = () => call.interrupt('cancelled', new Error('The task runs elsewhere now'))
    signal.addEventListener('abort', lost)
    call.onEnd(() => signal.removeEventListener('abort', lost))
    const conversation = new StatelessConversation(call, caller, run.host as ConversationHost)
    await this.#finish(run, (async () => this.#host.serve(call, conversation, caller))())
  }

  async #finish(run: TaskRun, running: Parameters<TaskRun['finish']>[0]): Promise<void> {
    this.#running.set(run.id, run)
    const timer = this.#endAtExpiry(run)
    try {
      await run.finish(running)
    } finally {
      clearTimeout(timer)
      if (this.#running.get(run.id) === run) this.#running.delete(run.id)
    }
  }

  /** Nobody can ask for the result of a task that is forgotten. */
  #endAtExpiry({ expiresAt, call }: TaskRun): ReturnType<typeof setTimeout> | undefined {
    const leftMs = (expiresAt ?? Number.POSITIVE_INFINITY) - clock.now()
    if (leftMs > maxTimerMs) return undefined
    const timer = setTimeout(() => call.interrupt('cancelled', new Error('The time of the task is over')), leftMs)
    unref(timer)
    return timer
  }

  /** The task as this run may work on it; undefined when there is nothing to do. */
  async #begin(id: string): Promise<Task | undefined> {
    await this.#escort(id)
    if (this.#isDrained) return this.#leave(id)
    let isBegun = false
    const task = await this.#book.change(id, (now) => {
      isBegun = now.status === 'working'
      if (!isBegun) return undefined
      return { task: { run: now.run + 1, attempts: now.attempts + 1, heldUntil: undefined } }
    })
    if (!task || !isBegun) return undefined
    const { maxAttempts } = this.#settings
    if (task.attempts > maxAttempts) {
      await this.#fail(task, `Given up after ${maxAttempts} attempts: each ended with the process that made it`)
      return undefined
    }
    this.#book.tell('started', task)
    return task
  }

  /**
   * It is in hand, here or in another process, without the store knowing: waits for that to end, one way or the other. What
   * was handed back meanwhile is left to others, and not taken for done.
   */
  async #escort(id: string): Promise<void> {
    for (;;) {
      await this.#held.get(id)
      const task = await this.#book.get(id)
      const waitMs = (task?.heldUntil ?? 0) - clock.now()
      if (task?.status !== 'working' || waitMs <= 0 || this.#isDrained) return
      await elapsed(Math.min(waitMs, 1_000))
    }
  }

  /** Lets another process have it at once. */
  async #leave(id: string): Promise<undefined> {
    await this.#book.change(id, ({ status }) => (status === 'working' ? { task: {}, isReady: true } : undefined))
  }

  async #renew(run: TaskRun): Promise<void> {
    try {
      await this.#book.change(run.id, (task) =>
        run.isMine(task) ? { task: { heldUntil: this.holdUntil() } } : undefined,
      )
    } catch (error) {
      this.#host.reportError(error)
    }
  }

  async #fail(task: Task, message: string): Promise<void> {
    const error = { code: RpcCode.InternalError, message }
    await this.#book.end(task.id, { status: 'failed', error, statusMessage: message })
  }

  #callerOf({ revision: id }: Task, { caller }: KeptRequest): Caller | undefined {
    const rules = this.#host.revision(id)
    return rules && { ...caller, revision: rules.id, rules }
  }
}

/** The answers by what the handler calls its questions. */
function answersOf({ answers, keys = {} }: Task): Task['answers'] {
  return Object.fromEntries(Object.entries(answers).map(([name, answer]) => [keys[name] ?? name, answer]))
}

/** Everything that earlier runs have seen and done. */
function journalOf({ state }: Task, notes: readonly Note[]) {
  const once = notes.flatMap((note): [string, string][] => ('once' in note ? [note.once] : []))
  return { ...(state?.journal ?? emptyJournal), once }
}
