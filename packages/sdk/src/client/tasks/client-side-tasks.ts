import { McpError, ProtocolError, RpcCode } from '../../errors.ts'
import type { Params, ResultObject, RpcErrorBody } from '../../jsonrpc/message.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { checkParams } from '../../protocol/params.ts'
import type { CoreTask, TaskStatus } from '../../protocol/tasks.ts'
import { maxTimerMs } from '../../util/backoff.ts'
import { toBase64Url } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { unref } from '../../util/unref.ts'
import type { ClientHandlers } from '../handlers.ts'
import { isFinal } from './snapshot.ts'

/** What servers of 2025-11-25 may have answered as a task. */
export interface ClientSideTasksOptions {
  /** How long a task is kept after its creation, unless the server wishes otherwise. Default 3,600,000 (an hour). */
  ttlMs?: number | undefined
  /** The longest that a server may wish for. Default 86,400,000 (a day). */
  maxTtlMs?: number | undefined
  /** Tasks that are kept at a time; those that ended longest ago make room. Default 100. */
  maxTasks?: number | undefined
  /** How often servers should ask how a task stands. Default 500. */
  pollIntervalMs?: number | undefined
}

export interface ClientSideTasksContext {
  respond(method: string, params: Params, signal: AbortSignal): Promise<ResultObject>
  toErrorBody(error: unknown): RpcErrorBody
}

interface OwnTask {
  readonly id: string
  /** Among those that were created. */
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

/** Which questions may be asked as a task; only those that there is a handler for (2025-11-25 tasks, capabilities). */
export function clientSideTaskCapabilities({ tasks, elicit, elicitUrl, sample }: ClientHandlers): ClientCapabilities {
  const isAsked = elicit || elicitUrl
  if (!tasks || (!isAsked && !sample)) return {}
  return {
    tasks: {
      list: {},
      cancel: {},
      requests: {
        ...(sample && { sampling: { createMessage: {} } }),
        ...(isAsked && { elicitation: { create: {} } }),
      },
    },
  }
}

/** Questions of the server that are answered as tasks (2025-11-25), in the memory of this process. */
export class ClientSideTasks {
  readonly #host: ClientSideTasksContext
  readonly #settings: { [name in keyof ClientSideTasksOptions]-?: number }
  readonly #taken: ReadonlySet<string>
  /** The oldest first. */
  readonly #tasks = new Map<string, OwnTask>()
  #created = 0
  readonly methods: ReadonlyMap<string, (params: Params, signal: AbortSignal) => ResultObject | Promise<ResultObject>>

  constructor(options: ClientSideTasksOptions, capabilities: ClientCapabilities, host: ClientSideTasksContext) {
    this.#host = host
    const { ttlMs = 3_600_000, maxTtlMs = 86_400_000, maxTasks = 100, pollIntervalMs = 500 } = options
    this.#settings = { ttlMs, maxTtlMs, maxTasks, pollIntervalMs }
    for (const [name, value] of Object.entries(this.#settings)) {
      if (!(value > 0)) throw new TypeError(`handlers.tasks.${name} must be a number above 0`)
    }
    const { sampling, elicitation } = capabilities.tasks?.requests ?? {}
    this.#taken = new Set([
      ...(sampling?.createMessage ? ['sampling/createMessage'] : []),
      ...(elicitation?.create ? ['elicitation/create'] : []),
    ])
    this.methods = new Map<string, (params: Params, signal: AbortSignal) => ResultObject | Promise<ResultObject>>([
      ['tasks/get', ({ taskId }) => this.#toTask(this.#find(taskId)) as CoreTask & ResultObject],
      ['tasks/result', ({ taskId }, signal) => this.#result(this.#find(taskId), signal)],
      ['tasks/cancel', ({ taskId }) => this.#cancel(this.#find(taskId))],
      ['tasks/list', ({ cursor }) => this.#list(cursor as string | undefined)],
    ])
  }

  /** Whether the server wants a task, and was told that it may. */
  takes(method: string, params: Params): boolean {
    return isObject(params.task) && this.#taken.has(method)
  }

  /** @param begin Called when it is begun; and what that gives, when nobody works on it any more. */
  create(method: string, params: Params, begin: () => () => void): ResultObject {
    checkParams(method, params)
    this.#makeRoom()
    const { ttl } = params.task as { ttl?: number }
    const { ttlMs, maxTtlMs } = this.#settings
    const now = clock.now()
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const task: OwnTask = {
      id: toBase64Url(crypto.getRandomValues(new Uint8Array(24))),
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
    task.timer = setTimeout(() => this.#drop(task), Math.min(task.ttlMs, maxTimerMs))
    unref(task.timer)
    this.#tasks.set(task.id, task)
    void this.#work(task, method, params).finally(begin())
    return { task: this.#toTask(task) }
  }

  /** The client is closed. */
  close(): void {
    for (const task of [...this.#tasks.values()]) this.#drop(task)
  }

  async #work(task: OwnTask, method: string, params: Params): Promise<void> {
    const { task: _task, ...plain } = params
    try {
      const result = await this.#host.respond(method, plain, task.stop.signal)
      this.#end(task, 'completed', { result })
    } catch (error) {
      if (isFinal(task)) return
      const body = this.#host.toErrorBody(error)
      this.#end(task, 'failed', { error: body }, body.message)
    }
  }

  /** What is final stays so, also when the work goes on (2025-11-25 tasks, cancellation). */
  #end(task: OwnTask, status: TaskStatus, outcome: NonNullable<OwnTask['outcome']>, statusMessage?: string): void {
    if (isFinal(task)) return
    task.status = status
    task.outcome = outcome
    if (statusMessage !== undefined) task.statusMessage = statusMessage
    task.updatedAt = clock.now()
    task.end()
  }

  #cancel(task: OwnTask): ResultObject {
    if (isFinal(task)) {
      throw new ProtocolError(RpcCode.InvalidParams, `The task cannot be cancelled: it is ${task.status} already`)
    }
    const error = { code: RpcCode.InternalError, message: 'The task was cancelled' }
    this.#end(task, 'cancelled', { error }, 'Cancelled by the server')
    task.stop.abort('The server cancelled the task')
    return this.#toTask(task) as CoreTask & ResultObject
  }

  /** Blocks until there is one (2025-11-25 tasks, result retrieval). */
  async #result(task: OwnTask, signal: AbortSignal): Promise<ResultObject> {
    await unlessAborted(task.ended, signal)
    const outcome = task.outcome!
    if ('error' in outcome) throw new ProtocolError(outcome.error.code, outcome.error.message, outcome.error.data)
    const { result } = outcome
    return { ...result, _meta: { ...(result._meta as object), [metaKeys.relatedTask]: { taskId: task.id } } }
  }

  #list(cursor: string | undefined): ResultObject {
    const after = cursor === undefined ? 0 : Number(cursor)
    if (!Number.isInteger(after) || after > this.#created) {
      throw new ProtocolError(RpcCode.InvalidParams, 'params.cursor was not given out by this client')
    }
    const rest = [...this.#tasks.values()].filter(({ place }) => place > after)
    const page = rest.slice(0, pageSize)
    return {
      tasks: page.map((task) => this.#toTask(task)),
      ...(rest.length > pageSize && { nextCursor: String(page.at(-1)!.place) }),
    }
  }

  #find(id: unknown): OwnTask {
    const task = this.#tasks.get(id as string)
    if (task) return task
    throw new ProtocolError(RpcCode.InvalidParams, 'There is no such task, or no longer')
  }

  #makeRoom(): void {
    const { maxTasks } = this.#settings
    if (this.#tasks.size < maxTasks) return
    const over = [...this.#tasks.values()].find(isFinal)
    if (!over) throw new ProtocolError(RpcCode.InternalError, `No more than ${maxTasks} tasks may be open`)
    this.#drop(over)
  }

  /** Kept no longer, whatever its status (2025-11-25 tasks, ttl). */
  #drop(task: OwnTask): void {
    clearTimeout(task.timer as ReturnType<typeof setTimeout>)
    this.#tasks.delete(task.id)
    if (isFinal(task)) return
    this.#end(task, 'cancelled', { error: { code: RpcCode.InternalError, message: 'The task was kept no longer' } })
    task.stop.abort('The task was kept no longer')
  }

  #toTask({ id, status, statusMessage, createdAt, updatedAt, ttlMs }: OwnTask): CoreTask {
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

function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new McpError('cancelled', 'Nobody waits for the result any more'))
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject)
  })
}
