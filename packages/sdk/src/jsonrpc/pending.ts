import { McpError, TimeoutError } from '../errors.ts'
import { clock } from '../util/clock.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { LimitedProgress, receivedProgress } from './limited-progress.ts'
import type { Params, RequestId, ResultObject, RpcNotification } from './message.ts'
import type { ReplyStream } from './transport.ts'

/** The progress of a request. */
export interface Progress {
  progress: number
  total?: number | undefined
  message?: string | undefined
}

/** Options of one outgoing request. */
export interface RequestOptions {
  /** Cancels the request and notifies the peer. */
  signal?: AbortSignal | undefined
  /** How long to wait for a response or progress. 0: no limit. Default 60,000. */
  timeoutMs?: number | undefined
  /** How long to wait in total, even with progress. Default 10 times `timeoutMs`. */
  maxTotalTimeoutMs?: number | undefined
  /** Whether progress resets `timeoutMs`. Default true. */
  resetTimeoutOnProgress?: boolean | undefined
  /** Called with each progress notification. */
  onProgress?: ((progress: Progress) => void) | undefined
}

interface Waiting {
  id: number
  method: string
  resolve(result: ResultObject): void
  reject(error: unknown): void
  timeoutMs: number
  maxTotalTimeoutMs: number
  since: number
  deadline: number
  lastDeadline: number
  options: SendOptions | undefined
  onAbort: (() => void) | undefined
  /** Limits what `onProgress` is called with. */
  progress: LimitedProgress | undefined
}

type GiveUp = (id: number, method: string, reason: string, options: SendOptions | undefined) => void

const defaultTimeoutMs = 60_000
const forever = Number.POSITIVE_INFINITY

/**
 * The requests that wait for a response. A single timer is set for the nearest deadline and checks all requests when it fires,
 * so an ordinary request neither sets nor clears one.
 */
export class PendingRequests {
  readonly #waiting = new Map<RequestId, Waiting>()
  readonly #giveUp: GiveUp
  readonly #onError: (error: unknown) => void
  readonly #firstId: number
  #nextId: number
  #pauses = 0
  #pausedAt = 0
  #timer: Timer | undefined
  #timerAt = forever

  /**
   * @param giveUp Notifies the peer that a request was cancelled.
   * @param onError Receives errors of progress listeners.
   * @param firstId The id of the first request. Processes that share a peer start at different ids.
   */
  constructor(giveUp: GiveUp, onError: (error: unknown) => void, firstId: number) {
    this.#giveUp = giveUp
    this.#onError = onError
    this.#firstId = firstId
    this.#nextId = firstId
  }

  /** Ids always increase, so none is used twice (2025-11-25 basic, requests). */
  add(method: string, options: SendOptions | undefined, send: (id: number) => void): Promise<ResultObject> {
    return new Promise((resolve, reject) => {
      const signal = options?.signal
      if (signal?.aborted) return reject(cancelled(method, signal.reason))
      const waiting = this.#create(method, options, resolve, reject)
      this.#waiting.set(waiting.id, waiting)
      if (signal) {
        waiting.onAbort = () => this.#abort(waiting, signal.reason)
        signal.addEventListener('abort', waiting.onAbort, { once: true })
      }
      try {
        send(waiting.id)
      } catch (error) {
        this.#take(waiting.id)
        reject(error)
        return
      }
      this.#arm(waiting.deadline)
    })
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Returns false if no request with this id is waiting. */
  settle(id: RequestId, result: ResultObject): boolean {
    const waiting = this.#take(id)
    waiting?.resolve(result)
    return waiting !== undefined
  }

  fail(id: RequestId, error: unknown): boolean {
    const waiting = this.#take(id)
    waiting?.reject(error)
    return waiting !== undefined
  }

  failAll(error: unknown): void {
    for (const id of [...this.#waiting.keys()]) this.fail(id, error)
    this.#disarm()
  }

  /** Whether we sent a request with this id, to distinguish a late response from one to an unknown request. */
  wasOurs(id: unknown): boolean {
    return typeof id === 'number' && id >= this.#firstId && id < this.#nextId
  }

  /** Handles progress. Progress tokens are request ids, so no second table is needed. */
  progress(params: Params): void {
    const waiting = this.#waiting.get(params.progressToken as RequestId)
    const progress = waiting && toProgress(params)
    if (!progress) return
    waiting.since = clock.now()
    if (waiting.options?.resetTimeoutOnProgress !== false && waiting.timeoutMs > 0) {
      waiting.deadline = Math.min(clock.now() + waiting.timeoutMs, waiting.lastDeadline)
    }
    try {
      if (waiting.progress) waiting.progress.add(progress)
      else waiting.options?.onProgress?.(progress)
    } catch (error) {
      this.#onError(error)
    }
  }

  /** Stops all timeouts until the returned function is called. Pauses may overlap. */
  pause(): () => void {
    if (this.#pauses++ === 0) {
      this.#pausedAt = clock.now()
      this.#disarm()
    }
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.#pauses === 0) this.#resume()
    }
  }

  #resume(): void {
    const pausedMs = clock.now() - this.#pausedAt
    for (const waiting of this.#waiting.values()) {
      // A request that was sent during the pause has not waited for all of it.
      const missedMs = Math.min(pausedMs, Math.max(0, clock.now() - waiting.since))
      waiting.deadline += missedMs
      waiting.lastDeadline += missedMs
    }
    this.#sweep()
  }

  #create(
    method: string,
    options: SendOptions | undefined,
    resolve: (result: ResultObject) => void,
    reject: (error: unknown) => void,
  ): Waiting {
    const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs
    const maxTotalTimeoutMs = options?.maxTotalTimeoutMs ?? timeoutMs * 10
    const now = timeoutMs > 0 || maxTotalTimeoutMs > 0 ? clock.now() : 0
    const lastDeadline = maxTotalTimeoutMs > 0 ? now + maxTotalTimeoutMs : forever
    return {
      id: this.#nextId++,
      method,
      resolve,
      reject,
      timeoutMs,
      maxTotalTimeoutMs,
      since: now,
      deadline: timeoutMs > 0 ? Math.min(now + timeoutMs, lastDeadline) : lastDeadline,
      lastDeadline,
      options,
      onAbort: undefined,
      progress: options?.limitsProgress ? this.#limitProgress(options) : undefined,
    }
  }

  #limitProgress({ onProgress: deliver }: SendOptions): LimitedProgress | undefined {
    return deliver && new LimitedProgress({ ...receivedProgress, deliver, onError: this.#onError })
  }

  #take(id: RequestId): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    if (!waiting) return undefined
    this.#waiting.delete(id)
    if (waiting.onAbort) waiting.options?.signal?.removeEventListener('abort', waiting.onAbort)
    if (this.#waiting.size === 0) hold(this.#timer, false)
    // The newest value comes before the response.
    waiting.progress?.flush()
    return waiting
  }

  #abort(waiting: Waiting, reason: unknown): void {
    if (!this.#take(waiting.id)) return
    this.#giveUp(
      waiting.id,
      waiting.method,
      waiting.options?.describeReason?.(reason) ??
        (typeof reason === 'string' ? reason : 'The caller cancelled the request'),
      waiting.options,
    )
    waiting.reject(cancelled(waiting.method, reason))
  }

  #arm(deadline: number): void {
    if (this.#pauses > 0) return
    if (deadline >= this.#timerAt) {
      if (this.#waiting.size === 1) hold(this.#timer, true)
      return
    }
    this.#disarm()
    this.#timerAt = deadline
    // A timer can wait for at most 2^31-1 ms; an earlier check does no harm.
    this.#timer = scheduler.setTimeout(() => this.#sweep(), Math.min(deadline - clock.now(), 2_147_483_647))
  }

  #disarm(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#timerAt = forever
  }

  #sweep(): void {
    this.#disarm()
    if (this.#waiting.size === 0) return
    const now = clock.now()
    let next = forever
    for (const waiting of [...this.#waiting.values()]) {
      if (waiting.deadline <= now) this.#expire(waiting)
      else next = Math.min(next, waiting.deadline)
    }
    if (next < forever) this.#arm(next)
  }

  #expire(waiting: Waiting): void {
    this.#take(waiting.id)
    // The timer may be late, when both limits are over: the earlier one ended the request.
    const total = waiting.deadline >= waiting.lastDeadline
    this.#giveUp(waiting.id, waiting.method, 'The request timed out', waiting.options)
    const limitMs = total ? waiting.maxTotalTimeoutMs : waiting.timeoutMs
    const limit = total ? 'in total (maxTotalTimeoutMs)' : 'without a response or progress (timeoutMs)'
    waiting.reject(new TimeoutError(`${waiting.method} took longer than ${limitMs} ms ${limit}`, limitMs))
  }
}

/** Returns the progress in a notification; undefined if it is invalid. */
export function toProgress({ progress, total, message }: Params): Progress | undefined {
  if (!Number.isFinite(progress) || !Number.isFinite(total ?? 0) || typeof (message ?? '') !== 'string')
    return undefined
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
  } as Progress
}

function cancelled(method: string, reason: unknown): McpError {
  return new McpError('cancelled', `${method} was cancelled`, { cause: reason })
}

/** Keeps a Node process alive only while requests are waiting. */
function hold(timer: unknown, alive: boolean): void {
  if (typeof timer !== 'object' || timer === null) return
  const handle = timer as { ref(): void; unref(): void }
  if (alive) handle.ref()
  else handle.unref()
}

/** Options of `Link.request`, beyond those that users can pass. */
export interface SendOptions extends RequestOptions {
  /** Says why the request was cancelled, from the reason of `signal`. Default: the reason if it is a string. */
  describeReason?: ((reason: unknown) => string) | undefined
  /** Requests progress even if only the timeout uses it. */
  progress?: boolean | undefined
  /** Calls `onProgress` with values that increase, no more often than a display can follow. Default: with all. */
  limitsProgress?: boolean | undefined
  /** Called with the id of the request when it is sent. */
  onSent?: ((id: number) => void) | undefined
  /** Called with each notification on the stream of this request, if the transport has a stream per request. */
  onNotification?: ((notification: RpcNotification) => void) | undefined
  /** Members of `_meta` that every request carries, as JSON text without braces. */
  meta?: string | undefined
  /** Added to the params of the notification that cancels the request. */
  cancelParams?: Params | undefined
  /** The stream of the peer's request that this one belongs to. */
  stream?: ReplyStream | undefined
}
