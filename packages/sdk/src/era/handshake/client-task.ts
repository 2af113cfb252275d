import { McpError, TimeoutError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { Caller } from '../../protocol/caller.ts'
import type { TaskRequest } from '../../protocol/task-augmentation.ts'
import { pollMs } from '../../protocol/tasks.ts'
import type { AskOptions } from '../../replay/conversation.ts'
import { isObject } from '../../util/objects.ts'
import { pause, scheduler } from '../../util/scheduler.ts'
import type { Call } from '../call.ts'

/** Whether the client declared that it can answer the question as a task (2025-11-25 tasks, capabilities). */
export function canAnswerAsTask({ rules, capabilities }: Caller, method: string): boolean {
  const { elicitation, sampling } = capabilities.tasks?.requests ?? {}
  if (rules.lacks('tasks/result')) return false
  return isObject(method === 'elicitation/create' ? elicitation?.create : sampling?.createMessage)
}

export function toTaskRequest({ ttlMs }: NonNullable<AskOptions['task']>): TaskRequest {
  return ttlMs === undefined ? {} : { ttl: ttlMs }
}

/** Sends a question that the client answers as a task, and polls the task until it ends. The timeout covers both. */
export async function askAsTask(
  call: Call,
  method: string,
  params: Params,
  options: RequestOptions,
): Promise<ResultObject> {
  const created = await call.ask(method, params, options)
  // The client may answer without a task.
  if (!isObject(created.task)) return created
  const taskId = created.task.taskId
  if (typeof taskId !== 'string')
    throw new McpError('invalid-response', `The client's task for ${method} has no taskId`)
  const abort = new AbortController()
  const { timeoutMs = 0, signal } = options
  const onTimeout = () =>
    abort.abort(new TimeoutError(`${method} took longer than ${timeoutMs} ms (timeoutMs)`, timeoutMs))
  const timer = timeoutMs > 0 ? scheduler.setTimeout(onTimeout, timeoutMs) : undefined
  const onAbort = () => abort.abort(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted) onAbort()
  try {
    return await poll(call, taskId, created.task, abort.signal)
  } catch (error) {
    if (!abort.signal.aborted) throw error
    // Nothing waits for the answer any more, so the client need not bother its user.
    if (!call.ended) call.ask('tasks/cancel', { taskId }, {}).catch(() => {})
    throw abort.signal.reason
  } finally {
    scheduler.clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Polls while the task works. A task that needs input sends its questions while `tasks/result` waits (2025-11-25 tasks). */
async function poll(call: Call, taskId: string, first: Params, signal: AbortSignal): Promise<ResultObject> {
  for (let task = first; task.status === 'working'; ) {
    await pause(pollMs(task.pollInterval), { signal })
    signal.throwIfAborted()
    if (call.ended) return call.refuseLate('tasks/get')
    task = await call.ask('tasks/get', { taskId }, { signal })
    if (task.status === 'cancelled') throw new McpError('cancelled', 'The client cancelled the task')
  }
  return call.ask('tasks/result', { taskId }, { signal, timeoutMs: 0 })
}
