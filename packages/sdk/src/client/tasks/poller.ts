import { ClosedError, ErrorCode, HttpError, McpError, PeerError, TimeoutError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { pollMs } from '../../protocol/tasks.ts'
import { joinSignals } from '../../util/abort.ts'
import { type Backoff, backoffMs } from '../../util/backoff.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { isObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import { pause } from '../../util/scheduler.ts'
import { isTransientStatus } from '../../util/transient-status.ts'
import type { EarlyOutcome, PolledTask, TaskDialect } from './dialect.ts'
import { isFinal, readTask, type TaskSnapshot, type TaskUpdate, unknownSnapshot } from './snapshot.ts'

/** What a handle stands for: a task or an ordinary call. */
export interface TaskWork {
  /** Undefined for an ordinary call. */
  readonly id: string | undefined
  readonly newest: TaskSnapshot
  /** Calls the listener with every new state. The task is polled until the returned function is called. */
  watch(listener: (state: TaskSnapshot) => void): () => void
  /** The result of the call. Settles only while there is a listener. */
  readonly outcome: Promise<ResultObject>
  cancel(): Promise<void>
}

export interface PollerOptions {
  /** Resolves with the dialect of the connection; rejects if it has no tasks. */
  dialect(task: PolledTask): Promise<TaskDialect>
  readonly closing: AbortSignal
  /** Called with every new state. */
  onState(task: TaskPoller): void
  /** The server no longer has the task. */
  onGone(): void
}

/** While the server sends updates, polling is only a fallback and can be slower. */
const notifiedFactor = 10

/** It is polled at least this often if the server suggests a shorter interval: notifications can get lost. */
const longestNotifiedMs = 60_000

/** Polls one task for as long as it has listeners. */
export class TaskPoller implements TaskWork, PolledTask {
  readonly id: string
  readonly #options: PollerOptions
  readonly #listeners = new Set<(state: TaskSnapshot) => void>()
  #dialect: Promise<TaskDialect> | undefined
  #active: TaskDialect | undefined
  #outcome: Deferred<ResultObject> = withoutUnhandled(deferred())
  #isSettled = false
  #run: AbortController | undefined
  #newest: TaskSnapshot
  /** The last complete state; the result that creates a task has less. */
  #lastUpdate: TaskUpdate | undefined
  #failure: { error: unknown } | undefined
  #wantsCancel = false
  #notifications = 0
  #isAwake = false
  #sleep: AbortController | undefined

  /** @param created The state at creation, if this client created the task. */
  constructor(id: string, created: TaskSnapshot | undefined, options: PollerOptions) {
    this.id = id
    this.#newest = created ?? unknownSnapshot
    this.#options = options
  }

  get newest(): TaskSnapshot {
    return this.#newest
  }

  get outcome(): Promise<ResultObject> {
    return this.#outcome.promise
  }

  watch(listener: (state: TaskSnapshot) => void): () => void {
    const watcher = (state: TaskSnapshot) => listener(state)
    this.#listeners.add(watcher)
    if (!this.#run && !this.#isSettled) this.#start()
    return () => {
      this.#listeners.delete(watcher)
      if (this.#listeners.size === 0) this.#stop('The task has no listeners')
    }
  }

  async cancel(): Promise<void> {
    if (isFinal(this.#newest)) return
    const dialect = await this.#getDialect()
    const update = await dialect.cancel()
    this.#wantsCancel = true
    if (update) this.#apply(update)
    this.wake()
  }

  wake(): void {
    this.#isAwake = true
    this.#sleep?.abort()
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.wake()
  }

  /** The server sent the state of the task. */
  notified(method: string, body: unknown): void {
    try {
      this.#apply(readTask(method, this.id, body))
    } catch {
      // An invalid notification is ignored: the next poll brings the state.
      return
    }
    this.#notifications++
    if (isFinal(this.#newest)) this.wake()
  }

  #start(): void {
    this.#outcome = withoutUnhandled(deferred())
    this.#failure = undefined
    const run = new AbortController()
    this.#run = run
    const { signal, release } = joinSignals([run.signal, this.#options.closing])
    signal.addEventListener('abort', () => this.#sleep?.abort(), { once: true })
    this.#poll(signal)
      .then(
        (result) => this.#settled(result, run),
        (error) => this.#failed(error, run),
      )
      // Not before: the end of the run aborts the signal, which ends the subscription.
      .finally(release)
  }

  #stop(reason: string): void {
    this.#run?.abort(reason)
    this.#run = undefined
    this.#active = undefined
  }

  #settled(result: ResultObject, run: AbortController): void {
    if (this.#run !== run) return
    this.#isSettled = true
    this.#stop('The task has ended')
    this.#outcome.resolve(result)
  }

  /** A later call of `watch` polls again. */
  #failed(error: unknown, run: AbortController): void {
    if (this.#run !== run) return
    this.#stop('The client no longer waits for the task')
    const { closing } = this.#options
    this.#outcome.reject(closing.aborted ? closing.reason : error)
  }

  async #poll(signal: AbortSignal): Promise<ResultObject> {
    const dialect = await this.#getDialect()
    signal.throwIfAborted()
    if (this.#finalUpdate) return dialect.outcome(this.#finalUpdate, signal)
    dialect.start(signal)
    this.#active = dialect
    // The result that creates a task has no outcome and no requests for input, so these are fetched at once.
    let isDue = this.#newest === unknownSnapshot || this.#newest.status !== 'working'
    for (;;) {
      if (!isDue) await this.#waitForNextPoll(dialect, signal)
      isDue = false
      signal.throwIfAborted()
      const last = await this.#checkForEnd(dialect, signal)
      if (last) return dialect.outcome(last, signal)
      if (this.#failure) throw this.#failure.error
    }
  }

  /** Polls once. Returns the final state; undefined while the task runs. */
  async #checkForEnd(dialect: TaskDialect, signal: AbortSignal): Promise<TaskUpdate | undefined> {
    if (!this.#finalUpdate) {
      const before = this.#notifications
      this.#isAwake = false
      const update = await this.#fetch(dialect, signal)
      signal.throwIfAborted()
      // A notification that arrived during the request is newer than its response.
      if (before === this.#notifications || isFinal(update.snapshot)) this.#apply(update)
      // A task with a result has ended, whatever status the server sends.
      const { earlyOutcome } = dialect
      if (earlyOutcome && 'result' in earlyOutcome && !this.#finalUpdate)
        this.#apply(this.#assume(toStatus(earlyOutcome)))
    }
    return this.#finalUpdate
  }

  async #fetch(dialect: TaskDialect, signal: AbortSignal): Promise<TaskUpdate> {
    try {
      return await retry(() => dialect.fetch(), signal)
    } catch (error) {
      const isGone = error instanceof PeerError && error.rpcCode === ErrorCode.InvalidParams
      if (!isGone || signal.aborted) throw error
      this.#options.onGone()
      // Servers may delete a task once it is cancelled or its result was fetched.
      if (this.#wantsCancel) return this.#assume('cancelled')
      if (dialect.earlyOutcome) return this.#assume(toStatus(dialect.earlyOutcome))
      throw error
    }
  }

  #assume(status: 'cancelled' | 'completed' | 'failed'): TaskUpdate {
    return { snapshot: { ...this.#newest, status, statusMessage: undefined }, body: {} }
  }

  get #finalUpdate(): TaskUpdate | undefined {
    return this.#lastUpdate && isFinal(this.#lastUpdate.snapshot) ? this.#lastUpdate : undefined
  }

  #apply(update: TaskUpdate): void {
    if (this.#finalUpdate) return
    const before = this.#newest
    const isFirst = this.#lastUpdate === undefined
    this.#lastUpdate = update
    this.#newest = update.snapshot
    try {
      this.#active?.update(update)
    } catch (error) {
      this.fail(error)
    }
    const { status, statusMessage } = update.snapshot
    const isNew = status !== before.status || statusMessage !== before.statusMessage
    if (!isNew && !(isFirst && before === unknownSnapshot)) return
    this.#options.onState(this)
    for (const listener of [...this.#listeners]) listener(update.snapshot)
  }

  async #waitForNextPoll(dialect: TaskDialect, signal: AbortSignal): Promise<void> {
    if (this.#isAwake) return
    const sleep = new AbortController()
    this.#sleep = sleep
    if (!signal.aborted) await pause(pollDelayMs(this.#newest, dialect.isNotified), { signal: sleep.signal })
    this.#sleep = undefined
  }

  #getDialect(): Promise<TaskDialect> {
    this.#dialect ??= this.#options.dialect(this)
    this.#dialect.catch(() => {
      this.#dialect = undefined
    })
    return this.#dialect
  }
}

/** The poll interval that the server suggests, within limits and with jitter. */
function pollDelayMs({ pollIntervalMs }: TaskSnapshot, isNotified: boolean): number {
  const intervalMs = pollMs(pollIntervalMs)
  const delayMs = isNotified
    ? Math.max(intervalMs, Math.min(intervalMs * notifiedFactor, longestNotifiedMs))
    : intervalMs
  return delayMs * (1 + random.fraction() / 10)
}

function toStatus(early: EarlyOutcome): 'completed' | 'failed' {
  return 'error' in early || early.result.isError === true ? 'failed' : 'completed'
}

/** A rejection without a listener must not be reported as unhandled. */
function withoutUnhandled<T>(outcome: Deferred<T>): Deferred<T> {
  outcome.promise.catch(() => {})
  return outcome
}

/** Tasks run for a long time, so several network failures in a row are tolerated. */
const backoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 8 }

/**
 * Repeats idempotent work after a temporary failure.
 * @param isTemporary Default: failures of the connection and internal errors of the server.
 */
export async function retry<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  isTemporary = isTemporaryFailure,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || tries >= backoff.maxRetries || !isTemporary(error)) throw error
    }
    await pause(backoffMs(backoff, tries), { signal })
    signal.throwIfAborted()
  }
}

function isTemporaryFailure(error: unknown): boolean {
  return isLost(error) || (error instanceof PeerError && error.rpcCode === ErrorCode.InternalError)
}

/** The response was lost, or the server was too busy to handle the request. */
export function isLost(error: unknown): boolean {
  if (error instanceof PeerError) return isObject(error.data) && error.data.error === 'rate_limited'
  if (error instanceof HttpError) return error.outcome !== 'refused' || isTransientStatus(error.status ?? 0)
  if (error instanceof ClosedError || error instanceof TimeoutError) return true
  return error instanceof McpError && error.code === 'session-renewed'
}
