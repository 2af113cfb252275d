import { McpError, TimeoutError } from '../../errors.ts'
import { LimitedProgress, receivedProgress } from '../../jsonrpc/limited-progress.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { type Progress, type RequestOptions, toProgress } from '../../jsonrpc/pending.ts'
import type { Caller } from '../../protocol/caller.ts'
import { type TaskRequest, withRelatedTask } from '../../protocol/task-augmentation.ts'
import { pollMs, type TaskStatus } from '../../protocol/tasks.ts'
import type { AskOptions } from '../../replay/conversation.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { pause, scheduler, type Timer } from '../../util/scheduler.ts'
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
  const { onTask, reportError } = limits
  const abort = new AbortController()
  const lastAt = clock.now() + timeoutMs * 10
  let timer: Timer | undefined
  const restart = () => {
    scheduler.clearTimeout(timer)
    const expire = () =>
      abort.abort(new TimeoutError(`${method} took longer than ${timeoutMs} ms (timeoutMs)`, timeoutMs))
    if (timeoutMs > 0) timer = scheduler.setTimeout(expire, Math.min(timeoutMs, lastAt - clock.now()))
  }
  /** A listener that fails must not fail the question. */
  const tell = <T>(listener: ((value: T) => void) | undefined, value: T) => {
    try {
      listener?.(value)
    } catch (error) {
      reportError(error)
    }
  }
  const guard = onProgress && new LimitedProgress({ ...receivedProgress, deliver: (value) => tell(onProgress, value) })
  let token: number | undefined
  const onSent = (id: number) => {
    token = id
    tasks.set(id, (progress) => {
      if (timer) restart()
      guard?.add(progress)
    })
  }
  const onAbort = () => abort.abort(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
  try {
    const { task, ...answer } = await call.ask(method, params, { ...options, onSent })
    // The client may answer without a task.
    if (!isObject(task)) return answer
    restart()
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    const { method: requestMethod, params: { name } = {} } = call.request
    const change = (taskId: string, status: unknown) =>
      tell(onTask, { taskId, status, method, requestMethod, name } as QuestionTaskChange)
    return await follow(call, task, abort.signal, change)
  } finally {
    tasks.delete(token)
    guard?.flush()
    scheduler.clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Polls while the task works. A task that needs input sends its questions while `tasks/result` waits (2025-11-25 tasks). */
async function follow(
  call: Call,
  first: Params,
  signal: AbortSignal,
  onChange: (taskId: string, status: unknown) => void,
): Promise<ResultObject> {
  const { taskId } = first
  if (typeof taskId !== 'string') throw new McpError('invalid-response', 'The task of the client has no taskId')
  const cancelParams = withRelatedTask({}, { taskId })
  const ask = (method: string, options: RequestOptions) => call.ask(method, { taskId }, { ...options, cancelParams })
  let last: unknown
  const changed = (status: unknown) => {
    if (status !== last && last !== 'failed') onChange(taskId, status)
    last = status
  }
  try {
    changed(first.status)
    for (let task = first; task.status === 'working'; ) {
      await pause(pollMs(task.pollInterval), { signal })
      signal.throwIfAborted()
      if (call.ended) return call.refuseLate('tasks/get')
      task = await ask('tasks/get', { signal })
      changed(task.status)
      if (task.status === 'cancelled') throw new McpError('cancelled', 'The client cancelled the task')
    }
    const result = await ask('tasks/result', { signal, timeoutMs: 0 })
    changed('completed')
    return result
  } catch (error) {
    if (!signal.aborted) throw error
    // Nothing waits for the answer any more, so the client need not bother its user. If the call ended before the response, this
    // request itself would be withdrawn.
    if (!call.ended) await ask('tasks/cancel', { timeoutMs: cancelMs }).catch(() => {})
    changed('cancelled')
    throw signal.reason
  }
}
