import type { ResultObject } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import type { ToolTaskConfig } from '../server/task-runtime.ts'
import type { Settings } from './options.ts'
import type { PollInterval } from './repository.ts'
import type { Task } from './task.ts'

/** The tasks protocol of one revision: the core methods of 2025-11-25, or the extension of 2026-07-28. */
export interface Dialect {
  /** Decides whether a call becomes a task. Throws the error response if the call is not allowed. */
  decide(
    config: ToolTaskConfig,
    params: Readonly<Record<string, unknown>>,
    caller: Caller,
    settings: Settings,
  ): Decision
  /** The TTL that the client requested. */
  ttlOf(params: Readonly<Record<string, unknown>>): number | undefined
  /** The result of a call that became a task. */
  created(task: Task, pollInterval: PollInterval, config: ToolTaskConfig): ResultObject
  /** The result of `tasks/get`. */
  described(task: Task, pollInterval: PollInterval, caller: Caller): ResultObject
  /** The result of `tasks/cancel`. Throws if the task had ended before. */
  cancelled(before: Task, after: Task, pollInterval: PollInterval): ResultObject
  /** Throws if the client did not declare tasks. */
  checkCaller(caller: Caller): void
  /** Whether the session that created a task gets notifications about it. */
  readonly notifiesSession: boolean
}

export type Decision =
  | 'plain'
  /** Create the task and reply at once. */
  | 'task'
  /** Run the call, and promote it to a task if it takes longer than `afterMs`. With `always`, the result is a task in any case. */
  | { afterMs: number; always: boolean }

export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString()
}
