import { PeerError, RpcCode } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { longestPollMs, pollMs } from '../../protocol/poll-interval.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { pause } from '../../util/pause.ts'
import type { Early, Followed, TaskDialect } from './dialect.ts'
import { retry } from './retry.ts'
import { isFinal, readTask, type TaskSnapshot, type TaskUpdate, unseen } from './snapshot.ts'

/** What a handle needs of the work that it stands for, be it a task or an ordinary call. */
export interface Work {
  /** Undefined for an ordinary call. */
  readonly id: string | undefined
  readonly newest: TaskSnapshot
  /** Hears of every state that is new, until what is given is called; that keeps the task followed. */
  watch(listener: (state: TaskSnapshot) => void): () => void
  /** What became of the call. Only settles while somebody watches. */
  readonly outcome: Promise<ResultObject>
  cancel(): Promise<void>
}

export interface PollerOptions {
  /** Says how the server speaks of tasks; rejects where it has none. */
  dialect(task: Followed): Promise<TaskDialect>
  readonly closing: AbortSignal
  /** Hears of every state that is new. */
  onState(task: TaskPoller): void
  /** The server does not know the task, or no longer. */
  onGone(): void
}

/** Beside a stream of changes, asking is a safety net. */
const toldFactor = 10

/** Follows one task of the server for as long as somebody wants to know of it. */
export class TaskPoller implements Work, Followed {
  readonly id: string
  readonly #options: PollerOptions
  readonly #listeners = new Set<(state: TaskSnapshot) => void>()
  #dialect: Promise<TaskDialect> | undefined
  #active: TaskDialect | undefined
  #outcome: Deferred<ResultObject> = silent(deferred())
  #isSettled = false
  #run: AbortController | undefined
  #newest: TaskSnapshot
  /** The last state in which it was seen whole; the answer that creates a task says less. */
  #seen: TaskUpdate | undefined
  #failure: { error: unknown } | undefined
  #wantsCancel = false
  #news = 0
  #isWoken = false
  #nap: AbortController | undefined

  /** @param created What is known of it, where we made it. */
  constructor(id: string, created: TaskSnapshot | undefined, options: PollerOptions) {
    this.id = id
    this.#newest = created ?? unseen
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
      if (this.#listeners.size === 0) this.#stop('Nobody follows the task any more')
    }
  }

  async cancel(): Promise<void> {
    if (isFinal(this.#newest)) return
    const dialect = await this.#speak()
    const sighting = await dialect.cancel()
    this.#wantsCancel = true
    if (sighting) this.#take(sighting)
    this.wake()
  }

  wake(): void {
    this.#isWoken = true
    this.#nap?.abort()
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.wake()
  }

  /** The server tells how the task stands, unasked. */
  told(method: string, body: unknown): void {
    try {
      this.#take(readTask(method, this.id, body))
    } catch {
      // Whatever it was, asking will show how the task stands.
      return
    }
    this.#news++
    if (isFinal(this.#newest)) this.wake()
  }

  #start(): void {
    this.#outcome = silent(deferred())
    this.#failure = undefined
    const run = new AbortController()
    this.#run = run
    const signal = AbortSignal.any([run.signal, this.#options.closing])
    // A listener that stays would keep this for as long as the client lives (Node 20, `AbortSignal.any`).
    signal.addEventListener('abort', () => this.#nap?.abort(), { once: true })
    this.#follow(signal).then(
      (result) => this.#settled(result, run),
      (error) => this.#failed(error, run),
    )
  }

  #stop(reason: string): void {
    this.#run?.abort(reason)
    this.#run = undefined
    this.#active = undefined
  }

  #settled(result: ResultObject, run: AbortController): void {
    if (this.#run !== run) return
    this.#isSettled = true
    this.#stop('The task is over')
    this.#outcome.resolve(result)
  }

  /** Whoever asks for the result later may have more luck. */
  #failed(error: unknown, run: AbortController): void {
    if (this.#run !== run) return
    this.#stop('The task is not followed any more')
    const { closing } = this.#options
    this.#outcome.reject(closing.aborted ? closing.reason : error)
  }

  async #follow(signal: AbortSignal): Promise<ResultObject> {
    const dialect = await this.#speak()
    signal.throwIfAborted()
    if (this.#hasEnded) return dialect.outcome(this.#seen!, signal)
    dialect.start(signal)
    this.#active = dialect
    // What is over or asks for something says so in full only when it is looked at.
    let isDue = this.#newest === unseen || this.#newest.status !== 'working'
    for (;;) {
      if (!isDue) await this.#rest(dialect, signal)
      isDue = false
      signal.throwIfAborted()
      const last = await this.#lastSeen(dialect, signal)
      if (last) return dialect.outcome(last, signal)
      if (this.#failure) throw this.#failure.error
    }
  }

  /** The state that it ended in; undefined while it goes on. */
  async #lastSeen(dialect: TaskDialect, signal: AbortSignal): Promise<TaskUpdate | undefined> {
    if (!this.#hasEnded) {
      const news = this.#news
      this.#isWoken = false
      const sighting = await this.#look(dialect, signal)
      signal.throwIfAborted()
      // What was told meanwhile is newer than what was asked before.
      if (news === this.#news || isFinal(sighting.snapshot)) this.#take(sighting)
      // Only what is over has a result, whatever else the server says.
      const { early } = dialect
      if (early && 'result' in early && !this.#hasEnded) this.#take(this.#imagine(toStatus(early)))
    }
    return this.#hasEnded ? this.#seen : undefined
  }

  async #look(dialect: TaskDialect, signal: AbortSignal): Promise<TaskUpdate> {
    try {
      return await retry(() => dialect.look(), signal)
    } catch (error) {
      const isGone = error instanceof PeerError && error.rpcCode === RpcCode.InvalidParams
      if (!isGone || signal.aborted) throw error
      this.#options.onGone()
      // Servers need not keep what was cancelled, nor what was fetched.
      if (this.#wantsCancel) return this.#imagine('cancelled')
      if (dialect.early) return this.#imagine(toStatus(dialect.early))
      throw error
    }
  }

  #imagine(status: 'cancelled' | 'completed' | 'failed'): TaskUpdate {
    return { snapshot: { ...this.#newest, status, statusMessage: undefined }, body: {} }
  }

  get #hasEnded(): boolean {
    return this.#seen !== undefined && isFinal(this.#seen.snapshot)
  }

  #take(sighting: TaskUpdate): void {
    if (this.#hasEnded) return
    const before = this.#newest
    const isFirst = this.#seen === undefined
    this.#seen = sighting
    this.#newest = sighting.snapshot
    try {
      this.#active?.saw(sighting)
    } catch (error) {
      this.fail(error)
    }
    const { status, statusMessage } = sighting.snapshot
    const isNew = status !== before.status || statusMessage !== before.statusMessage
    if (!isNew && !(isFirst && before === unseen)) return
    this.#options.onState(this)
    for (const listener of [...this.#listeners]) listener(sighting.snapshot)
  }

  async #rest(dialect: TaskDialect, signal: AbortSignal): Promise<void> {
    if (this.#isWoken) return
    const nap = new AbortController()
    this.#nap = nap
    if (!signal.aborted) await pause(restMs(this.#newest, dialect.isTold), nap.signal)
    this.#nap = undefined
  }

  #speak(): Promise<TaskDialect> {
    this.#dialect ??= this.#options.dialect(this)
    this.#dialect.catch(() => {
      this.#dialect = undefined
    })
    return this.#dialect
  }
}

/** Never sooner than the server wishes, within reason, and not in step with other clients. */
function restMs({ pollIntervalMs }: TaskSnapshot, isTold: boolean): number {
  const wished = pollMs(pollIntervalMs)
  return Math.min(isTold ? wished * toldFactor : wished, longestPollMs) * (1 + Math.random() / 10)
}

function toStatus(early: Early): 'completed' | 'failed' {
  return 'error' in early || early.result.isError === true ? 'failed' : 'completed'
}

/** Nobody may be waiting. */
function silent<T>(outcome: Deferred<T>): Deferred<T> {
  outcome.promise.catch(() => {})
  return outcome
}
