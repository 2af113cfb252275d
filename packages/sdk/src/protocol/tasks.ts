import type { JsonObject } from '../util/objects.ts'
import type { NotificationParams, RequestParams, Result } from './base.ts'
import type { InputRequests, InputResponses } from './input.ts'
import type { PaginatedResult } from './pagination.ts'

// Tasks have two dialects. The types of the tasks extension (2026-07-28) have the plain names; the names of their
// counterparts in the core protocol of 2025-11-25 begin with "Core".

/** The id of the tasks extension, which clients and servers of 2026-07-28 declare. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** The status of a task; the last three are final. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A task in the tasks extension. */
export interface Task {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUpdatedAt: string
  /** Lifetime after creation, in milliseconds; null means unlimited. */
  ttlMs: number | null
  pollIntervalMs?: number
}

/** A task that is running. */
export interface WorkingTask extends Task {
  status: 'working'
}

/** A task that waits for input. */
export interface InputRequiredTask extends Task {
  status: 'input_required'
  inputRequests: InputRequests
}

/** A task that has a result, which may be a tool result with `isError`. */
export interface CompletedTask extends Task {
  status: 'completed'
  result: JsonObject
}

/** A task that ended with a protocol error. */
export interface FailedTask extends Task {
  status: 'failed'
  error: { code: number; message: string; data?: unknown }
}

/** A task that was cancelled. */
export interface CancelledTask extends Task {
  status: 'cancelled'
}

/** A task with the data of its status; the extension calls it `DetailedTask`. */
export type TaskState = WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask

/** The result of a `tools/call` that became a task, in the tasks extension. */
export interface CreateTaskResult extends Result, Task {
  resultType: 'task'
}

/** Params of `tasks/get`, in both dialects. */
export interface GetTaskParams extends RequestParams {
  taskId: string
}

/** Result of `tasks/get` in the tasks extension. */
export type GetTaskResult = Result & TaskState

/** Params of `tasks/update`, in the tasks extension. */
export interface UpdateTaskParams extends RequestParams {
  taskId: string
  inputResponses: InputResponses
}

/** Params of `tasks/cancel`, in both dialects. */
export interface CancelTaskParams extends RequestParams {
  taskId: string
}

/** Params of `notifications/tasks`, in the tasks extension. */
export type TaskNotificationParams = NotificationParams & TaskState

/** A task in 2025-11-25. */
export interface CoreTask {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUpdatedAt: string
  /** Lifetime after creation, in milliseconds; null means unlimited. */
  ttl: number | null
  /** Milliseconds. */
  pollInterval?: number
}

/** The result of a request with `task`. 2025-11-25 only. */
export interface CoreCreateTaskResult extends Result {
  task: CoreTask
}

/** Result of `tasks/get` in 2025-11-25. */
export interface CoreGetTaskResult extends Result, CoreTask {}

/** Params of `tasks/result`. 2025-11-25 only. */
export interface TaskResultParams extends RequestParams {
  taskId: string
}

/** Result of `tasks/cancel` in 2025-11-25; the extension answers with an empty result. */
export interface CoreCancelTaskResult extends Result, CoreTask {}

/** Result of `tasks/list`. 2025-11-25 only. */
export interface ListTasksResult extends PaginatedResult {
  tasks: CoreTask[]
}

/** Params of `notifications/tasks/status`. 2025-11-25 only. */
export interface TaskStatusParams extends NotificationParams, CoreTask {}

const shortestMs = 20
const defaultMs = 1_000
/** The longest poll interval, whatever a peer suggests: a task must not be forgotten because of a wrong unit. */
const longestMs = 3_600_000

/** Returns the interval for polling a task: what the peer suggests, within limits. */
export function pollMs(suggested: unknown): number {
  return Math.min(Math.max(typeof suggested === 'number' ? suggested : defaultMs, shortestMs), longestMs)
}
