import { McpError, TimeoutError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { type Progress, type RequestOptions, toProgress } from '../../jsonrpc/pending.ts'
import type { Caller } from '../../protocol/caller.ts'
import { type TaskRequest, withRelatedTask } from '../../protocol/task-augmentation.ts'
import { pollMs, type TaskStatus } from '../../protocol/tasks.ts'
import type { AskOptions } from '../../replay/conversation.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { pause, scheduler } from '../../util/scheduler.ts'
import type { Call } from '../call.ts'
import type { QuestionLimits } from '../server.ts'

/** A change of a task that runs in the client because a handler asked with `task`. */
export interface QuestionTaskChange {
  taskId: string
  status: TaskStatus
  /** The question, such as `elicitation/create`. */
  method: string
  /** The request whose handler asked, such as `tools/call`. */
  requestMethod: string
  /** The name of the tool or prompt. */
  name: string | undefined
}

/** Listeners for the progress of tasks in the client, by token. The requests themselves were answered long before. */
export type TaskProgress = Map<unknown, (progress: Progress) => void>

/** How long a client may take to confirm that it cancelled a task. */
const cancelMs = 5_000

/** Whether the client declared that it can answer the question as a task (2025-11-25 tasks, capabilities). */
export function canAnswerAsTask({ rules, capabilities }: Caller, method: string): boolean {
  const { elicitation, sampling } = capabilities.tasks?.requests ?? {}
  if (rules.lacks('tasks/result')) return false
  return isObject(method === 'elicitation/create' ? elicitation?.create : sampling?.createMessage)
}

export function toTaskRequest({ ttlMs }: NonNullable<AskOptions['task']>): TaskRequest {
  return ttlMs === undefined ? {} : { ttl: ttlMs }
}

/** Passes the progress of a client on, if it belongs to a task. */
export function taskProgressed(tasks: TaskProgress | undefined, params: Params = {}): void {
  const listener = tasks?.get(params.progressToken)
  const progress = listener && toProgress(params)
  if (progress) listener(progress)
}

export interface AskAsTaskOptions extends RequestOptions {
  progress: TaskProgress
  limits: Pick<QuestionLimits, 'onTask' | 'reportError'>
}

/**
 * Sends a question that the client answers as a task, and polls the task until it ends. The timeout covers both, and progress
 * restarts it: the token of the request is valid until the task ends (2025-11-25 progress).
 */
export async function askAsTask(
  call: Call,
  method: string,
  params: Params,
  { progress: tasks, limits, onProgress, ...options }: AskAsTaskOptions,
): Promise<ResultObject> {
  const { timeoutMs = 0, signal } = options
  const abort = new AbortController()
  const lastAt = clock.now() + timeoutMs * 10
  const onTimeout = () =>
    abort.abort(new TimeoutError(`${method} took longer than ${timeoutMs} ms (timeoutMs)`, timeoutMs))
  let timer: ReturnType<typeof scheduler.setTimeout> | undefined
  const restart = () => {
    scheduler.clearTimeout(timer)
    if (timeoutMs > 0) timer = scheduler.setTimeout(onTimeout, Math.min(timeoutMs, lastAt - clock.now()))
  }
  let token: number | undefined
  const onSent = (id: number) => {
    token = id
    tasks.set(id, (progress) => {
      if (timer) restart()
      tell(onProgress, progress, limits)
    })
  }
  const onAbort = () => abort.abort(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
  let task: ClientTask | undefined
  try {
    const created = await call.ask(method, params, { ...options, onSent })
    // The client may answer without a task.
    if (!isObject(created.task)) return created
    task = new ClientTask(call, method, created.task.taskId, limits)
    restart()
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    return await task.poll(created.task, abort.signal)
  } catch (error) {
    if (!abort.signal.aborted) throw error
    await task?.cancel()
    throw abort.signal.reason
  } finally {
    tasks.delete(token)
    scheduler.clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** A task of the client, until it has its result. */
class ClientTask {
  readonly #call: Call
  readonly #method: string
  readonly #id: string
  readonly #limits: AskAsTaskOptions['limits']
  readonly #cancelParams: Params
  #status: unknown

  constructor(call: Call, method: string, id: unknown, limits: AskAsTaskOptions['limits']) {
    if (typeof id !== 'string') throw new McpError('invalid-response', `The client's task for ${method} has no taskId`)
    this.#call = call
    this.#method = method
    this.#id = id
    this.#limits = limits
    this.#cancelParams = withRelatedTask({}, { taskId: id })
  }

  /** Polls while the task works. A task that needs input sends its questions while `tasks/result` waits (2025-11-25 tasks). */
  async poll(first: Params, signal: AbortSignal): Promise<ResultObject> {
    const call = this.#call
    this.#changed(first.status)
    for (let task = first; task.status === 'working'; ) {
      await pause(pollMs(task.pollInterval), { signal })
      signal.throwIfAborted()
      if (call.ended) return call.refuseLate('tasks/get')
      task = await this.#ask('tasks/get', { signal })
      this.#changed(task.status)
      if (task.status === 'cancelled') throw new McpError('cancelled', 'The client cancelled the task')
    }
    const result = await this.#ask('tasks/result', { signal, timeoutMs: 0 })
    this.#changed('completed')
    return result
  }

  /** Nothing waits for the answer any more, so the client need not bother its user. */
  async cancel(): Promise<void> {
    // Waits for the response: if the call ended first, the cancellation itself would be withdrawn.
    if (!this.#call.ended) await this.#ask('tasks/cancel', { timeoutMs: cancelMs }).catch(() => {})
    this.#changed('cancelled')
  }

  #ask(method: string, options: RequestOptions): Promise<ResultObject> {
    return this.#call.ask(method, { taskId: this.#id }, { ...options, cancelParams: this.#cancelParams })
  }

  #changed(status: unknown): void {
    const { method, params } = this.#call.request
    if (this.#status === status || this.#status === 'failed') return
    this.#status = status
    const change: QuestionTaskChange = {
      taskId: this.#id,
      status: status as TaskStatus,
      method: this.#method,
      requestMethod: method,
      name: params?.name as string | undefined,
    }
    tell(this.#limits.onTask, change, this.#limits)
  }
}

/** A listener that fails must not fail the question. */
function tell<T>(
  listener: ((value: T) => void) | undefined,
  value: T,
  { reportError }: AskAsTaskOptions['limits'],
): void {
  try {
    listener?.(value)
  } catch (error) {
    reportError(error)
  }
}
