import {
  isTerminal,
  type QueuedMessage,
  type TaskMessageQueue,
  type TaskStore,
} from '../experimental/tasks/interfaces.ts'
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  Notification,
  RequestId,
  Result,
  Task,
} from '../generated/protocol-types.ts'
import { RELATED_TASK_META_KEY } from './constants.ts'
import { ErrorCode, McpError } from './errors.ts'
import type { RequestHandlerExtra, RequestTaskStore } from './protocol.ts'

/** The side of the protocol that has the tasks. */
export interface TaskHost {
  readonly store: TaskStore
  readonly queue: TaskMessageQueue | undefined
  readonly pollInterval: number | undefined
  /** Sends a message that waited in the queue, on the stream of a request. */
  deliver(message: JSONRPCMessage, relatedRequestId: RequestId): Promise<void>
  /** Handles a response that waited in the queue. */
  receive(message: JSONRPCMessage): void
  notify(notification: Notification): Promise<void>
  /** The messages in the queue will not be delivered any more. */
  dropped(messages: readonly QueuedMessage[]): void
  ended(taskId: string): void
}

type Extra = Pick<RequestHandlerExtra<never, never>, 'sessionId' | 'requestId' | 'signal'>

/** Serves `tasks/get`. */
export async function getTask({ store }: TaskHost, taskId: string, { sessionId }: Extra): Promise<Result> {
  return { ...(await findTask(store, taskId, sessionId, 'Failed to retrieve task: Task not found')) }
}

/** Serves `tasks/result`: delivers what waits in the queue until the task has ended, then returns its result. */
export async function getTaskResult(host: TaskHost, taskId: string, extra: Extra): Promise<Result> {
  const find = () => findTask(host.store, taskId, extra.sessionId, `Task not found: ${taskId}`)
  await find()
  for (;;) {
    await deliverQueued(host, taskId, extra)
    const task = await find()
    if (isTerminal(task.status)) break
    await nextPoll(task.pollInterval ?? host.pollInterval ?? 1_000, extra.signal)
  }
  const result = await host.store.getTaskResult(taskId, extra.sessionId)
  void clearQueue(host, taskId, extra.sessionId)
  return { ...result, _meta: { ...result._meta, [RELATED_TASK_META_KEY]: { taskId } } }
}

/** Serves `tasks/list`. */
export async function listTasks(
  { store }: TaskHost,
  cursor: string | undefined,
  { sessionId }: Extra,
): Promise<Result> {
  try {
    const { tasks, nextCursor } = await store.listTasks(cursor, sessionId)
    return { tasks, nextCursor, _meta: {} }
  } catch (error) {
    throw new McpError(ErrorCode.InvalidParams, `Failed to list tasks: ${textOf(error)}`)
  }
}

/** Serves `tasks/cancel`. */
export async function cancelTask(host: TaskHost, taskId: string, { sessionId }: Extra): Promise<Result> {
  const { store } = host
  try {
    const task = await findTask(store, taskId, sessionId, `Task not found: ${taskId}`)
    if (isTerminal(task.status)) {
      throw new McpError(ErrorCode.InvalidParams, `Cannot cancel task in terminal status: ${task.status}`)
    }
    await store.updateTaskStatus(taskId, 'cancelled', 'Client cancelled task execution.', sessionId)
    void clearQueue(host, taskId, sessionId)
    const cancelled = await findTask(store, taskId, sessionId, `Task not found after cancellation: ${taskId}`)
    return { _meta: {}, ...cancelled }
  } catch (error) {
    if (error instanceof McpError) throw error
    throw new McpError(ErrorCode.InvalidRequest, `Failed to cancel task: ${textOf(error)}`)
  }
}

/** The task store of one request: bound to its session, and every change is announced. */
export function requestTaskStore(
  host: TaskHost,
  request: JSONRPCRequest,
  sessionId: string | undefined,
): RequestTaskStore {
  const { store } = host
  const announce = async (taskId: string) => {
    const task = await store.getTask(taskId, sessionId)
    if (!task) return
    await host.notify({ method: 'notifications/tasks/status', params: { ...task } })
    if (isTerminal(task.status)) host.ended(taskId)
  }
  return {
    createTask: (params) =>
      store.createTask(params, request.id, { method: request.method, params: request.params }, sessionId),
    getTask: (taskId) => findTask(store, taskId, sessionId, 'Failed to retrieve task: Task not found'),
    getTaskResult: (taskId) => store.getTaskResult(taskId, sessionId),
    listTasks: (cursor) => store.listTasks(cursor, sessionId),
    async storeTaskResult(taskId, status, result) {
      await store.storeTaskResult(taskId, status, result, sessionId)
      await announce(taskId)
    },
    async updateTaskStatus(taskId, status, statusMessage) {
      const missing = `Task "${taskId}" not found - it may have been cleaned up`
      const task = await findTask(store, taskId, sessionId, missing)
      if (isTerminal(task.status)) throw endedAlready(task, status)
      await store.updateTaskStatus(taskId, status, statusMessage, sessionId)
      await announce(taskId)
    },
  }
}

async function findTask(
  store: TaskStore,
  taskId: string,
  sessionId: string | undefined,
  missing: string,
): Promise<Task> {
  const task = await store.getTask(taskId, sessionId)
  if (!task) throw new McpError(ErrorCode.InvalidParams, missing)
  return task
}

function endedAlready({ taskId, status: before }: Task, status: Task['status']): McpError {
  return new McpError(
    ErrorCode.InvalidParams,
    `Cannot update task "${taskId}" from terminal status "${before}" to "${status}". Terminal states (completed, failed, cancelled) cannot transition to other states.`,
  )
}

async function deliverQueued(host: TaskHost, taskId: string, { sessionId, requestId }: Extra): Promise<void> {
  if (!host.queue) return
  for (;;) {
    const queued = await host.queue.dequeue(taskId, sessionId)
    if (!queued) return
    if (queued.type === 'response' || queued.type === 'error') host.receive(queued.message)
    else await host.deliver(queued.message, requestId)
  }
}

async function clearQueue(host: TaskHost, taskId: string, sessionId: string | undefined): Promise<void> {
  if (host.queue) host.dropped(await host.queue.dequeueAll(taskId, sessionId))
}

/** Waits for the next look at a task. */
function nextPoll(intervalMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(new McpError(ErrorCode.InvalidRequest, 'Request cancelled'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, intervalMs)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
