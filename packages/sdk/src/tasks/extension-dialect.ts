import type { Caller } from '../era/server.ts'
import { ProtocolError, RpcCode } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { type Task as TaskFields, tasksExtension } from '../protocol/tasks.ts'
import { isObject } from '../util/objects.ts'
import { type Dialect, toTime } from './dialect.ts'
import type { Pace } from './poll-pace.ts'
import type { Task } from './task.ts'

/** 2026-07-28, `io.modelcontextprotocol/tasks`: the server decides, and `tasks/get` brings everything. */
export const extensionDialect: Dialect = {
  tellsSession: false,

  decide({ support, policy }, _params, caller, settings) {
    if (support === 'forbidden') return 'plain'
    const isRequired = support === 'required'
    if (!hasTasks(caller)) {
      if (isRequired) throw missing('This tool can only be called by clients that can take a task')
      return 'plain'
    }
    const chosen = policy ?? (isRequired ? 'always' : settings.policy)
    if (chosen === 'always') return 'task'
    if (chosen !== 'never') return { afterMs: chosen.afterMs, always: isRequired }
    return isRequired ? 'task' : 'plain'
  },

  ttlOf: () => undefined,

  created: (task, pace) => ({ resultType: 'task', ...toTask(task, pace) }),

  described(task, pace, { rules }) {
    const { status, questions, result, error } = task
    return {
      ...toTask(task, pace),
      ...(status === 'input_required' && { inputRequests: questions }),
      ...(status === 'completed' && { result: rules.toResult('tools/call', result ?? {}) }),
      ...(status === 'failed' && { error }),
    } as unknown as ResultObject
  },

  /** An acknowledgement and nothing else; the task may have ended otherwise meanwhile. */
  cancelled: () => ({}),

  checkCaller(caller) {
    if (!hasTasks(caller)) throw missing('The client did not declare that it can take tasks')
  },
}

function toTask(task: Task, { pollIntervalMs }: Pace): TaskFields {
  const { id, status, statusMessage, createdAt, updatedAt, ttlMs } = task
  return {
    taskId: id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toTime(createdAt),
    lastUpdatedAt: toTime(updatedAt),
    ttlMs,
    pollIntervalMs,
  }
}

function hasTasks({ capabilities }: Caller): boolean {
  return isObject(capabilities.extensions?.[tasksExtension])
}

function missing(message: string): ProtocolError {
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } }
  return new ProtocolError(RpcCode.MissingClientCapability, message, { requiredCapabilities })
}
