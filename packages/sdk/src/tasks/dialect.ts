import type { Caller } from '../era/server.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { ToolTaskConfig } from '../server/task-runtime.ts'
import type { Settings } from './options.ts'
import type { Pace } from './poll-pace.ts'
import type { Task } from './task.ts'

/** How one revision speaks of tasks. Two of them do. */
export interface Dialect {
  /** Whether a call is to be a task, at once or when it takes longer; throws the answer to a call that cannot be served. */
  decide(
    config: ToolTaskConfig,
    params: Readonly<Record<string, unknown>>,
    caller: Caller,
    settings: Settings,
  ): Decision
  /** How long the client wishes the task to be kept. */
  ttlOf(params: Readonly<Record<string, unknown>>): number | undefined
  /** The answer to the call that became a task. */
  created(task: Task, pace: Pace, config: ToolTaskConfig): ResultObject
  /** The answer to `tasks/get`. */
  described(task: Task, pace: Pace, caller: Caller): ResultObject
  /** The answer to `tasks/cancel`. Throws when it cannot be cancelled. */
  cancelled(before: Task, after: Task, pace: Pace): ResultObject
  /** Throws when the client has no right to speak of tasks. */
  checkCaller(caller: Caller): void
  /** Whether clients hear of tasks on the session that created them. */
  readonly tellsSession: boolean
}

export type Decision =
  | 'plain'
  /** Reply when the task is kept. */
  | 'task'
  /** Serve it, and make a task of it when it takes longer. With `always`, the result is a task in any case. */
  | { afterMs: number; always: boolean }

export function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
