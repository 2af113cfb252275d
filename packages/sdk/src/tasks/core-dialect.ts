import { ErrorCode, ProtocolError } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { CoreTask } from '../protocol/tasks.ts'
import { isObject } from '../util/objects.ts'
import { type Dialect, toTimestamp } from './dialect.ts'
import type { PollInterval } from './repository.ts'
import { isFinal, type ListedTask, type Task } from './task.ts'

/** 2025-11-25: the client requests a task, polls it with `tasks/get` and gets its result from `tasks/result`. */
export const coreDialect: Dialect = {
  notifiesSession: true,

  decide({ support }, { task }, _caller, { requireTasks }) {
    if (task !== undefined) {
      // Checked here and not with the other params, because other revisions ignore the member.
      const { ttl } = isObject(task) ? task : { ttl: Number.NaN }
      if (ttl !== undefined && !(typeof ttl === 'number' && Number.isFinite(ttl))) {
        throw new ProtocolError(ErrorCode.InvalidParams, 'params.task must be an object, and its ttl a number')
      }
      if (support !== 'forbidden') return 'task'
      throw new ProtocolError(ErrorCode.MethodNotFound, 'This tool cannot be called as a task')
    }
    if (support === 'optional' && requireTasks) {
      const message = 'Task augmentation is required for tools/call: add `task` to the params'
      throw new ProtocolError(ErrorCode.InvalidRequest, message)
    }
    if (support !== 'required') return 'plain'
    throw new ProtocolError(
      ErrorCode.MethodNotFound,
      'This tool can only be called as a task: add `task` to the params',
    )
  },

  ttlOf({ task }) {
    const { ttl } = task as { ttl?: number }
    return ttl !== undefined && ttl > 0 ? ttl : undefined
  },

  created: (task, pollInterval, { immediateResponse }) => ({
    task: toCoreTask(task, pollInterval),
    ...(immediateResponse !== undefined && { _meta: { [metaKeys.modelImmediateResponse]: immediateResponse } }),
  }),

  described: (task, pollInterval) => toCoreTask(task, pollInterval) as CoreTask & ResultObject,

  cancelled(before, after, pollInterval) {
    if (!isFinal(before.status)) return toCoreTask(after, pollInterval) as CoreTask & ResultObject
    throw new ProtocolError(ErrorCode.InvalidParams, `The task cannot be cancelled: it is already ${statusOf(before)}`)
  },

  checkCaller() {},
}

export function toCoreTask(task: ListedTask, { pollIntervalMs }: PollInterval): CoreTask {
  const { id, statusMessage, createdAt, updatedAt, ttlMs } = task
  return {
    taskId: id,
    status: statusOf(task),
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toTimestamp(createdAt),
    lastUpdatedAt: toTimestamp(updatedAt),
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  }
}

/** 2025-11-25 tasks: a task fails if its tool returns an error. */
function statusOf({ status, isError }: ListedTask): Task['status'] {
  return status === 'completed' && isError === true ? 'failed' : status
}
