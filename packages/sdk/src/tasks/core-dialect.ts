import { ProtocolError, RpcCode } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { CoreTask } from '../protocol/tasks.ts'
import { isObject } from '../util/objects.ts'
import { type Dialect, toTime } from './dialect.ts'
import type { Pace } from './poll-pace.ts'
import { isFinal, type ListedTask, type Task } from './task.ts'

/** 2025-11-25: the client asks for a task, follows it by `tasks/get` and fetches its result by `tasks/result`. */
export const coreDialect: Dialect = {
  tellsSession: true,

  decide({ support }, { task }, _caller, { requireTasks }) {
    if (task !== undefined) {
      // Other revisions ignore it, whatever it is.
      const { ttl } = isObject(task) ? task : { ttl: Number.NaN }
      if (ttl !== undefined && !(typeof ttl === 'number' && Number.isFinite(ttl))) {
        throw new ProtocolError(RpcCode.InvalidParams, 'params.task must be an object, and its ttl a number')
      }
      if (support !== 'forbidden') return 'task'
      throw new ProtocolError(RpcCode.MethodNotFound, 'This tool cannot be called as a task')
    }
    if (support === 'optional' && requireTasks) {
      const message = 'Task augmentation is required for tools/call: add `task` to the params'
      throw new ProtocolError(RpcCode.InvalidRequest, message)
    }
    if (support !== 'required') return 'plain'
    throw new ProtocolError(RpcCode.MethodNotFound, 'This tool can only be called as a task: add `task` to the params')
  },

  ttlOf({ task }) {
    const { ttl } = task as { ttl?: number }
    return ttl !== undefined && ttl > 0 ? ttl : undefined
  },

  created: (task, pace, { immediateResponse }) => ({
    task: toCoreTask(task, pace),
    ...(immediateResponse !== undefined && { _meta: { [metaKeys.modelImmediateResponse]: immediateResponse } }),
  }),

  described: (task, pace) => toCoreTask(task, pace) as CoreTask & ResultObject,

  cancelled(before, after, pace) {
    if (!isFinal(before.status)) return toCoreTask(after, pace) as CoreTask & ResultObject
    throw new ProtocolError(RpcCode.InvalidParams, `The task cannot be cancelled: it is ${statusOf(before)} already`)
  },

  checkCaller() {},
}

export function toCoreTask(task: ListedTask, { pollIntervalMs }: Pace): CoreTask {
  const { id, statusMessage, createdAt, updatedAt, ttlMs } = task
  return {
    taskId: id,
    status: statusOf(task),
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toTime(createdAt),
    lastUpdatedAt: toTime(updatedAt),
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  }
}

/** 2025-11-25 tasks: a tool's own failure makes the task fail. */
function statusOf({ status, isError }: ListedTask): Task['status'] {
  return status === 'completed' && isError === true ? 'failed' : status
}
