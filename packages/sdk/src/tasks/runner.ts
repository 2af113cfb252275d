import type { Call } from '../era/call.ts'
import { HandedOver } from '../era/call.ts'
import { ErrorCode } from '../errors.ts'
import type { Params } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import { emptyJournal, type JournalState } from '../replay/journal.ts'
import { ReplayingConversation } from '../replay/replaying-conversation.ts'
import type { TaskServer } from '../server/task-runtime.ts'
import type { TaskStoreWorker } from '../store/ports.ts'
import { maxTimerMs } from '../util/backoff.ts'
import { clock } from '../util/clock.ts'
import { pause, scheduler, type Timer } from '../util/scheduler.ts'
import { TaskCall } from './call.ts'
import type { Settings } from './options.ts'
import type { TaskRepository } from './repository.ts'
import { type RunOptions, storedState, TaskRun } from './run.ts'
import type { Note, StoredRequest, Task } from './task.ts'

/** How long `stop()` waits for a store that does not respond. */
const graceMs = 5_000

/** How often per lease a process renews its hold on a promoted call. */
const renewalsPerLease = 3

/** Runs the tasks that the store leases to this process, and those whose calls were promoted here. */
export class TaskRunner {
  readonly #settings: Settings
  readonly #repository: TaskRepository
  readonly #server: TaskServer
  readonly #notifierOf: (task: Task) => RunOptions['notify']
  readonly #running = new Map<string, TaskRun>()
  /** Promoted calls, until they end. */
  readonly #promoted = new Map<string, Promise<void>>()
  #worker: Promise<TaskStoreWorker> | undefined
  /** True after `drainMs`: tasks that would start now are left to other processes. */
  #isDrained = false

  /** @param notifierOf Returns the function that sends notifications to the client of a task, if it gets any. */
  constructor(
    settings: Settings,
    repository: TaskRepository,
    server: TaskServer,
    notifierOf: (task: Task) => RunOptions['notify'],
  ) {
    this.#settings = settings
    this.#repository = repository
    this.#server = server
    this.#notifierOf = notifierOf
  }

  async start(): Promise<void> {
    const { store, concurrency, maxRunningPerCaller, leaseMs } = this.#settings
    if (concurrency === 0) return
    if (!this.#worker) this.#isDrained = false
    this.#worker ??= store.work((id, signal) => this.#run(id, signal), {
      concurrency,
      maxPerOwner: maxRunningPerCaller,
      leaseMs,
      onError: (error) => this.#server.reportError(error),
    })
    try {
      await this.#worker
    } catch (error) {
      this.#worker = undefined
      throw error
    }
  }

  /** How many tasks run in this process. */
  get running(): number {
    return this.#running.size
  }

  async stop(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined)
    this.#worker = undefined
    const ended = Promise.all([worker?.stop(), ...this.#promoted.values()])
    const timer = scheduler.setTimeout(() => {
      this.#isDrained = true
      for (const { call } of this.#running.values()) call.interrupt('requeued', new HandedOver('The server is closing'))
    }, this.#settings.drainMs)
    await Promise.race([ended, pause(this.#settings.drainMs + graceMs, { unref: true })])
    scheduler.clearTimeout(timer)
  }

  /** Called after every change of a task. Stops the run if it is not the current one any more. */
  async changed(id: string): Promise<void> {
    const run = this.#running.get(id)
    if (!run) return
    const task = await this.#repository.get(id)
    if (!task || !run.isCurrent(task)) run.call.interrupt('cancelled', new Error('The task was cancelled'))
  }

  /** Until then other processes do not run a call that was promoted here. */
  holdUntil(): number {
    return clock.now() + this.#settings.leaseMs
  }

  /** Continues a call that was promoted to a task. */
  follow(run: TaskRun, running: Parameters<TaskRun['finish']>[0]): void {
    const timer = scheduler.setInterval(() => void this.#renew(run), this.#settings.leaseMs / renewalsPerLease)
    scheduler.unref(timer)
    const ended = this.#finish(run, running)
      .catch((error) => this.#server.reportError(error))
      .finally(() => {
        scheduler.clearInterval(timer)
        this.#promoted.delete(run.id)
      })
    this.#promoted.set(run.id, ended)
  }

  createRun(task: Task, call: TaskCall, caller: Caller, state: RunOptions['state']): TaskRun {
    return new TaskRun(task, call, caller, this.#repository, {
      maxRounds: this.#server.questions.maxRounds,
      state,
      notify: this.#notifierOf(task),
      errorOf: (error) => this.#server.errorOf(error),
    })
  }

  async #run(id: string, signal: AbortSignal): Promise<void> {
    const task = await this.#startRun(id)
    if (!task) return
    const [first, ...rest] = await this.#repository.notes(id)
    // The task expired in the meantime.
    if (!first || !('request' in first)) return
    const { request } = first
    const caller = this.#callerOf(task, request)
    if (!caller) return this.#fail(task, `The task was created with revision ${task.revision}, which is not offered`)
    const replayParams = { requestState: storedState, inputResponses: answersOf(task) } as Params
    const call = TaskCall.ofTask(request, replayParams, task.sessionId)
    const state = { handlerState: undefined, ...task.state, journal: journalOf(task, rest) }
    const run = this.createRun(task, call, caller, state)
    const onLeaseLost = () => call.interrupt('cancelled', new HandedOver('Another process runs the task now'))
    signal.addEventListener('abort', onLeaseLost)
    call.onEnd(() => signal.removeEventListener('abort', onLeaseLost))
    const conversation = new ReplayingConversation<Call>(call, caller, run.replay)
    await this.#finish(run, (async () => this.#server.serve(call, conversation, caller))())
  }

  async #finish(run: TaskRun, running: Parameters<TaskRun['finish']>[0]): Promise<void> {
    this.#running.set(run.id, run)
    const timer = this.#endAtExpiry(run)
    try {
      await run.finish(running)
    } finally {
      scheduler.clearTimeout(timer)
      if (this.#running.get(run.id) === run) this.#running.delete(run.id)
    }
  }

  /** The result of an expired task cannot be retrieved, so its run ends. */
  #endAtExpiry({ expiresAt, call }: TaskRun): Timer | undefined {
    const leftMs = (expiresAt ?? Number.POSITIVE_INFINITY) - clock.now()
    if (leftMs > maxTimerMs) return undefined
    const timer = scheduler.setTimeout(() => call.interrupt('cancelled', new Error('The task expired')), leftMs)
    scheduler.unref(timer)
    return timer
  }

  /** Starts a new run of a task. Returns undefined if there is nothing to run. */
  async #startRun(id: string): Promise<Task | undefined> {
    await this.#waitForPromotedCall(id)
    if (this.#isDrained) return this.#release(id)
    let isStarted = false
    const task = await this.#repository.change(id, (now) => {
      isStarted = now.status === 'working'
      if (!isStarted) return undefined
      return { task: { run: now.run + 1, attempts: now.attempts + 1, heldUntil: undefined } }
    })
    if (!task || !isStarted) return undefined
    const { maxAttempts } = this.#settings
    if (task.attempts > maxAttempts) {
      await this.#fail(task, `Gave up after ${maxAttempts} attempts: the process ended during each of them`)
      return undefined
    }
    this.#repository.emit('started', task)
    return task
  }

  /**
   * A promoted call runs without a lease. Waits for its end, here or in another process, before the task may run again. If the
   * call was requeued in the meantime, this process must not report the task as done.
   */
  async #waitForPromotedCall(id: string): Promise<void> {
    for (;;) {
      await this.#promoted.get(id)
      const task = await this.#repository.get(id)
      const waitMs = (task?.heldUntil ?? 0) - clock.now()
      if (task?.status !== 'working' || waitMs <= 0 || this.#isDrained) return
      await pause(Math.min(waitMs, 1_000), { unref: true })
    }
  }

  /** Makes the task available to other processes at once. */
  async #release(id: string): Promise<undefined> {
    await this.#repository.change(id, ({ status }) => (status === 'working' ? { task: {}, isReady: true } : undefined))
  }

  async #renew(run: TaskRun): Promise<void> {
    try {
      await this.#repository.change(run.id, (task) =>
        run.isCurrent(task) ? { task: { heldUntil: this.holdUntil() } } : undefined,
      )
    } catch (error) {
      this.#server.reportError(error)
    }
  }

  async #fail(task: Task, message: string): Promise<void> {
    const error = { code: ErrorCode.InternalError, message }
    await this.#repository.end(task.id, { status: 'failed', error, statusMessage: message })
  }

  #callerOf({ revision: id }: Task, { caller }: StoredRequest): Caller | undefined {
    const rules = this.#server.revision(id)
    return rules && { ...caller, revision: rules.id, rules }
  }
}

/** The answers by the handler's keys. */
function answersOf({ answers, keys = {} }: Task): Task['answers'] {
  return Object.fromEntries(Object.entries(answers).map(([name, answer]) => [keys[name] ?? name, answer]))
}

/** The journal of earlier runs. */
function journalOf({ state }: Task, notes: readonly Note[]): JournalState {
  const once = notes.flatMap((note): [string, string][] => ('once' in note ? [note.once] : []))
  return { ...(state?.journal ?? emptyJournal), once }
}
