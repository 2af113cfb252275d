import type { ProgressCall } from '../../era/progress.ts'
import { ErrorCode, McpError, ProtocolError } from '../../errors.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { Params, ResultObject, RpcErrorBody } from '../../jsonrpc/message.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import { checkParams } from '../../protocol/params.ts'
import { withRelatedTask } from '../../protocol/task-augmentation.ts'
import type { CoreTask, TaskStatus } from '../../protocol/tasks.ts'
import { untilAborted } from '../../util/abort.ts'
import { maxTimerMs } from '../../util/backoff.ts'
import { toBase64Url } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { TokenBucket } from '../../util/token-bucket.ts'
import type { ClientHandlers, ServerIdentity } from '../input/handlers.ts'
import { isFinal } from './snapshot.ts'

/** Options for requests of servers of 2025-11-25 that run as tasks in the client. */
export interface ClientSideTasksOptions {
  /** Lifetime of a task after creation, unless the server requests another. Default 3,600,000 (an hour). */
  ttlMs?: number | undefined
  /** The longest lifetime that a server can request. Default 86,400,000 (a day). */
  maxTtlMs?: number | undefined
  /** The maximum number of tasks. If it is reached, the oldest finished task is deleted. Default 100. */
  maxTasks?: number | undefined
  /** The poll interval that servers should use, in milliseconds. Default 500. */
  pollIntervalMs?: number | undefined
  /**
   * How often the server may create tasks and send requests about them. `false`: no limit. Default
   * `{ perSecond: 100, burst: 1000 }`.
   */
  requests?: { perSecond: number; burst?: number | undefined } | false | undefined
  /**
   * Called with every event of a task, and with refused requests about tasks: for an audit log, for monitoring, and to notice
   * servers that guess ids or poll too often.
   *
   * @example
   * onEvent(event) {
   *   log(event)
   *   if (event.open > 50) alert(`${event.server.name} has ${event.open} open tasks`)
   * }
   */
  onEvent?: ((event: ClientSideTaskEvent) => void) | undefined
}

/** An event for `onEvent` of `handlers.tasks`. */
export interface ClientSideTaskEvent {
  type:
    | 'created'
    | 'completed'
    | 'failed'
    | 'cancelled'
    /** The lifetime of a task ended before the task did. */
    | 'expired'
    /** The server retrieved the result. */
    | 'retrieved'
    /** The server named a task that does not exist, or no longer. */
    | 'lookup-failed'
    /** The server sent more requests than `requests` allows. Reported once a second. */
    | 'rate-limited'
  /** The request that runs as a task, such as `sampling/createMessage`, or the one that was refused, such as `tasks/get`. */
  method: string
  /** Undefined for refused requests. */
  taskId?: string | undefined
  /** The beginning of the id in a refused request. */
  taskIdPrefix?: string | undefined
  /** For refused requests: how many were refused in the same way within the last minute, this one included. */
  recent?: number | undefined
  /** How many tasks are running after the event. */
  open: number
  /** How many tasks are in memory after the event, finished ones included. */
  stored: number
  server: ServerIdentity
}

export interface ClientSideTasksContext {
  respond(method: string, params: Params, task: ProgressCall): Promise<ResultObject>
  toErrorBody(error: unknown): RpcErrorBody
  server(): ServerIdentity
  /** Receives errors of `onEvent`. */
  reportError(error: unknown): void
}

interface ClientSideTask {
  readonly id: string
  readonly method: string
  /** The connection of the request, for progress. */
  readonly link: Pick<Link, 'notify'>
  /** Its number in the order of creation. */
  readonly place: number
  readonly createdAt: number
  readonly ttlMs: number
  readonly stop: AbortController
  readonly ended: Promise<void>
  end(): void
  timer: unknown
  updatedAt: number
  status: TaskStatus
  statusMessage?: string
  outcome?: { result: ResultObject } | { error: RpcErrorBody }
}

const pageSize = 50

/** Declares the requests that can run as tasks: those that have a handler (2025-11-25 tasks, capabilities). */
export function clientSideTaskCapabilities({ tasks, elicit, elicitUrl, sample }: ClientHandlers): ClientCapabilities {
  const elicits = elicit || elicitUrl
  if (!tasks || (!elicits && !sample)) return {}
  return {
    tasks: {
      list: {},
      cancel: {},
      requests: {
        ...(sample && { sampling: { createMessage: {} } }),
        ...(elicits && { elicitation: { create: {} } }),
      },
    },
  }
}

/** Requests of the server that run as tasks in the client (2025-11-25). They are kept in memory. */
export class ClientSideTasks {
  readonly #context: ClientSideTasksContext
  readonly #settings: Record<'ttlMs' | 'maxTtlMs' | 'maxTasks' | 'pollIntervalMs', number>
  readonly #taskMethods: ReadonlySet<string>
  /** Oldest first. */
  readonly #tasks = new Map<string, ClientSideTask>()
  #created = 0
  #open = 0
  readonly #onEvent: ClientSideTasksOptions['onEvent']
  readonly #bucket: TokenBucket | undefined
  readonly #recent = { 'lookup-failed': noneRecent(), 'rate-limited': noneRecent() }
  /** Random, so that servers can only use cursors that they got. */
  readonly #cursorPrefix = `${toBase64Url(random.bytes(9))}.`
  readonly methods: ReadonlyMap<string, (params: Params, signal: AbortSignal) => ResultObject | Promise<ResultObject>>

  constructor(options: ClientSideTasksOptions, capabilities: ClientCapabilities, host: ClientSideTasksContext) {
    this.#context = host
    const { ttlMs = 3_600_000, maxTtlMs = 86_400_000, maxTasks = 100, pollIntervalMs = 500 } = options
    this.#settings = { ttlMs, maxTtlMs, maxTasks, pollIntervalMs }
    for (const [name, value] of Object.entries(this.#settings)) {
      if (!(value > 0)) throw new TypeError(`handlers.tasks.${name} must be greater than 0`)
    }
    this.#onEvent = options.onEvent
    this.#bucket = createBucket(options)
    const { sampling, elicitation } = capabilities.tasks?.requests ?? {}
    this.#taskMethods = new Set([
      ...(sampling?.createMessage ? ['sampling/createMessage'] : []),
      ...(elicitation?.create ? ['elicitation/create'] : []),
    ])
    this.methods = new Map<string, (params: Params, signal: AbortSignal) => ResultObject | Promise<ResultObject>>([
      ['tasks/get', (params) => this.#toTask(this.#find('tasks/get', params)) as CoreTask & ResultObject],
      ['tasks/result', (params, signal) => this.#result(this.#find('tasks/result', params), signal)],
      ['tasks/cancel', (params) => this.#cancel(this.#find('tasks/cancel', params))],
      ['tasks/list', (params) => this.#list(params)],
    ])
  }

  /** Whether the server requests a task, and the client declared that it can. */
  accepts(method: string, params: Params): boolean {
    return isObject(params.task) && this.#taskMethods.has(method)
  }

  /**
   * @param link Where the request came from.
   * @param begin Called when the task starts; the function that it returns is called when the task ends.
   */
  create(method: string, params: Params, link: Pick<Link, 'notify'>, begin: () => () => void): ResultObject {
    checkParams(method, params)
    this.#checkRate(method, params)
    this.#evictFinished()
    const { ttl } = params.task as { ttl?: number }
    const { ttlMs, maxTtlMs } = this.#settings
    const now = clock.now()
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const task: ClientSideTask = {
      id: toBase64Url(random.bytes(24)),
      method,
      link,
      place: ++this.#created,
      createdAt: now,
      updatedAt: now,
      ttlMs: Math.min(ttl !== undefined && ttl > 0 ? ttl : ttlMs, maxTtlMs),
      status: 'working',
      stop: new AbortController(),
      ended,
      end,
      timer: undefined,
    }
    task.timer = scheduler.setTimeout(() => this.#drop(task), Math.min(task.ttlMs, maxTimerMs))
    scheduler.unref(task.timer)
    this.#tasks.set(task.id, task)
    this.#open++
    this.#emit('created', task)
    void this.#work(task, method, params).finally(begin())
    return { task: this.#toTask(task) }
  }

  /** The client is closed. */
  close(): void {
    for (const task of [...this.#tasks.values()]) this.#drop(task)
  }

  async #work(task: ClientSideTask, method: string, params: Params): Promise<void> {
    const { task: _task, ...plain } = params
    try {
      const result = await this.#context.respond(method, plain, progressCallOf(task))
      this.#end(task, 'completed', { result })
    } catch (error) {
      if (isFinal(task)) return
      const body = this.#context.toErrorBody(error)
      this.#end(task, 'failed', { error: body }, body.message)
    }
  }

  /** A final status never changes, even if the handler is still running (2025-11-25 tasks, cancellation). */
  #end(
    task: ClientSideTask,
    status: TaskStatus,
    outcome: NonNullable<ClientSideTask['outcome']>,
    statusMessage?: string,
    event: ClientSideTaskEvent['type'] = status as 'completed',
  ): void {
    if (isFinal(task)) return
    task.status = status
    task.outcome = outcome
    if (statusMessage !== undefined) task.statusMessage = statusMessage
    task.updatedAt = clock.now()
    this.#open--
    this.#emit(event, task)
    task.end()
  }

  #cancel(task: ClientSideTask): ResultObject {
    if (isFinal(task)) {
      throw new ProtocolError(ErrorCode.InvalidParams, `The task cannot be cancelled: it is already ${task.status}`)
    }
    const error = { code: ErrorCode.InternalError, message: 'The task was cancelled' }
    this.#end(task, 'cancelled', { error }, 'Cancelled by the server')
    task.stop.abort('The server cancelled the task')
    return this.#toTask(task) as CoreTask & ResultObject
  }

  /** Waits for the result (2025-11-25 tasks, result retrieval). */
  async #result(task: ClientSideTask, signal: AbortSignal): Promise<ResultObject> {
    await unlessAborted(task.ended, signal)
    const outcome = task.outcome!
    this.#emit('retrieved', task)
    if ('error' in outcome) throw new ProtocolError(outcome.error.code, outcome.error.message, outcome.error.data)
    return withRelatedTask(outcome.result, { taskId: task.id })
  }

  #list(params: Params): ResultObject {
    this.#checkRate('tasks/list', params)
    const cursor = params.cursor as string | undefined
    const after = cursor === undefined ? 0 : this.#parseCursor(cursor)
    const rest = [...this.#tasks.values()].filter(({ place }) => place > after)
    const page = rest.slice(0, pageSize)
    return {
      tasks: page.map((task) => this.#toTask(task)),
      ...(rest.length > pageSize && { nextCursor: `${this.#cursorPrefix}${page.at(-1)!.place}` }),
    }
  }

  #parseCursor(cursor: string): number {
    const prefix = this.#cursorPrefix
    const place = cursor.startsWith(prefix) ? cursor.slice(prefix.length) : ''
    if (/^[1-9]\d*$/.test(place) && Number(place) <= this.#created) return Number(place)
    throw new ProtocolError(ErrorCode.InvalidParams, 'Invalid cursor: this client did not issue it')
  }

  #find(method: string, params: Params): ClientSideTask {
    this.#checkRate(method, params)
    const task = this.#tasks.get(params.taskId as string)
    if (task) return task
    this.#refused('lookup-failed', method, params)
    throw new ProtocolError(ErrorCode.InvalidParams, 'Task not found (it may have expired)')
  }

  #checkRate(method: string, params: Params): void {
    const now = clock.now()
    if (!this.#bucket || this.#bucket.take(now)) return
    this.#refused('rate-limited', method, params)
    const retryAfterMs = Math.max(1, this.#bucket.wait(now))
    const message = `Rate limit exceeded: try again in ${retryAfterMs} ms.`
    throw new ProtocolError(-32_000, message, { error: 'rate_limited', retryAfterMs })
  }

  /** A server above its rate can send any number of requests, so these are not reported one by one. */
  #refused(type: 'lookup-failed' | 'rate-limited', method: string, { taskId }: Params): void {
    const now = clock.now()
    const recent = this.#recent[type]
    if (now - recent.since >= 60_000) Object.assign(recent, { since: now, count: 0 })
    recent.count++
    if (type === 'rate-limited' && now - recent.reportedAt < 1_000) return
    recent.reportedAt = now
    const taskIdPrefix = typeof taskId === 'string' ? taskId.slice(0, 6) : undefined
    this.#report({ type, method, ...(taskIdPrefix !== undefined && { taskIdPrefix }), recent: recent.count })
  }

  #emit(type: ClientSideTaskEvent['type'], { id, method }: ClientSideTask): void {
    this.#report({ type, taskId: id, method })
  }

  #report(event: Omit<ClientSideTaskEvent, 'open' | 'stored' | 'server'>): void {
    const { server, reportError } = this.#context
    try {
      this.#onEvent?.({ ...event, open: this.#open, stored: this.#tasks.size, server: server() })
    } catch (error) {
      reportError(error)
    }
  }

  #evictFinished(): void {
    const { maxTasks } = this.#settings
    if (this.#tasks.size < maxTasks) return
    const finished = [...this.#tasks.values()].find(isFinal)
    if (!finished)
      throw new ProtocolError(ErrorCode.InternalError, `Task limit reached: at most ${maxTasks} tasks can be open`)
    this.#drop(finished)
  }

  /** Deletes a task, whatever its status (2025-11-25 tasks, ttl). */
  #drop(task: ClientSideTask): void {
    scheduler.clearTimeout(task.timer as Timer)
    this.#tasks.delete(task.id)
    if (isFinal(task)) return
    const error = { code: ErrorCode.InternalError, message: 'The task expired' }
    this.#end(task, 'cancelled', { error }, undefined, 'expired')
    task.stop.abort('The task expired')
  }

  #toTask({ id, status, statusMessage, createdAt, updatedAt, ttlMs }: ClientSideTask): CoreTask {
    return {
      taskId: id,
      status,
      ...(statusMessage !== undefined && { statusMessage }),
      createdAt: new Date(createdAt).toISOString(),
      lastUpdatedAt: new Date(updatedAt).toISOString(),
      ttl: ttlMs,
      pollInterval: this.#settings.pollIntervalMs,
    }
  }
}

function createBucket({ requests = { perSecond: 100 } }: ClientSideTasksOptions): TokenBucket | undefined {
  if (!requests) return undefined
  const { perSecond, burst = perSecond * 10 } = requests
  if (perSecond > 0 && burst >= 1) return new TokenBucket(burst, perSecond, clock.now())
  throw new TypeError(
    'handlers.tasks.requests: perSecond must be greater than 0, and burst at least 1. Pass false for no limit.',
  )
}

/** The requests that were refused in the current minute. */
function noneRecent() {
  return { since: 0, count: 0, reportedAt: 0 }
}

/** Progress of a task ends with the task, and names it (2025-11-25 progress, behavior requirements). */
function progressCallOf(task: ClientSideTask): ProgressCall {
  return {
    get ended() {
      return isFinal(task)
    },
    signal: task.stop.signal,
    onEnd: (callback) => void task.ended.then(callback),
    notify(method, params = {}) {
      if (!isFinal(task)) task.link.notify(method, withRelatedTask(params, { taskId: task.id }))
    },
  }
}

function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return untilAborted(work, signal, () => new McpError('cancelled', 'The request for the result was cancelled'))
}
