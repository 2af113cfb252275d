import { McpError, TimeoutError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import { pollMs } from '../../protocol/poll-interval.ts'
import type { TaskRequest } from '../../protocol/task-augmentation.ts'
import { isObject } from '../../util/objects.ts'
import { pause } from '../../util/pause.ts'
import type { Call } from '../call.ts'
import type { AskOptions, Caller } from '../server.ts'

/** Whether the client said that it answers such a question as a task (2025-11-25 tasks, capabilities). */
export function takesTask({ rules, capabilities }: Caller, method: string): boolean {
  const { elicitation, sampling } = capabilities.tasks?.requests ?? {}
  if (rules.lacks('tasks/result')) return false
  return isObject(method === 'elicitation/create' ? elicitation?.create : sampling?.createMessage)
}

export function toAugmentation({ ttlMs }: NonNullable<AskOptions['task']>): TaskRequest {
  return ttlMs === undefined ? {} : { ttl: ttlMs }
}

/** Asks for a task, and waits for what becomes of it as long as one would for the answer itself. */
export async function askAsTask(
  call: Call,
  method: string,
  params: Params,
  options: RequestOptions,
): Promise<ResultObject> {
  const created = await call.ask(method, params, options)
  // A client may be of another mind by now, and answer at once.
  if (!isObject(created.task)) return created
  const taskId = created.task.taskId
  if (typeof taskId !== 'string')
    throw new McpError('invalid-response', `The client's task for ${method} has no taskId`)
  const over = new AbortController()
  const { timeoutMs = 0, signal } = options
  const late = () => over.abort(new TimeoutError(`${method} took longer than ${timeoutMs} ms (timeoutMs)`, timeoutMs))
  const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined
  const stop = () => over.abort(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    return await follow(call, taskId, created.task, over.signal)
  } catch (error) {
    if (!over.signal.aborted) throw error
    // Nobody waits any more, so nobody need be asked.
    if (!call.ended) call.ask('tasks/cancel', { taskId }, {}).catch(() => {})
    throw over.signal.reason
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** Until it is over, or needs something that comes to whoever waits for the result (2025-11-25 tasks, polling). */
async function follow(call: Call, taskId: string, first: Params, signal: AbortSignal): Promise<ResultObject> {
  for (let task = first; task.status === 'working'; ) {
    await pause(pollMs(task.pollInterval), signal)
    signal.throwIfAborted()
    if (call.ended) return call.refuseLate('tasks/get')
    task = await call.ask('tasks/get', { taskId }, { signal })
    if (task.status === 'cancelled') throw new McpError('cancelled', 'The client cancelled the task')
  }
  return call.ask('tasks/result', { taskId }, { signal, timeoutMs: 0 })
}
