import { ErrorCode, ProtocolError } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import { type Task as TaskFields, tasksExtension } from '../protocol/tasks.ts'
import { isObject } from '../util/objects.ts'
import { type Dialect, toTimestamp } from './dialect.ts'
import type { PollInterval } from './repository.ts'
import type { Task } from './task.ts'

/** 2026-07-28, `io.modelcontextprotocol/tasks`: the server decides, and `tasks/get` returns questions and result too. */
export const extensionDialect: Dialect = {
  notifiesSession: false,

  decide({ support, policy }, _params, caller, settings) {
    if (support === 'forbidden') return 'plain'
    const isRequired = support === 'required'
    if (!hasTasks(caller)) {
      if (isRequired) throw missingCapability('This tool can only be called by clients that support tasks')
      return 'plain'
    }
    const chosen = policy ?? (isRequired ? 'always' : settings.policy)
    if (chosen === 'always') return 'task'
    if (chosen !== 'never') return { afterMs: chosen.afterMs, always: isRequired }
    return isRequired ? 'task' : 'plain'
  },

  ttlOf: () => undefined,

  created: (task, pollInterval) => ({ resultType: 'task', ...toTask(task, pollInterval) }),

  described(task, pollInterval, { rules }) {
    const { status, questions, result, error } = task
    return {
      ...toTask(task, pollInterval),
      ...(status === 'input_required' && { inputRequests: questions }),
      ...(status === 'completed' && { result: rules.toResult('tools/call', result ?? {}) }),
      ...(status === 'failed' && { error }),
    } as unknown as ResultObject
  },

  /** An acknowledgement only, also if the task had ended before. */
  cancelled: () => ({}),

  checkCaller(caller) {
    if (!hasTasks(caller)) throw missingCapability('The client did not declare that it supports tasks')
  },
}

function toTask(task: Task, { pollIntervalMs }: PollInterval): TaskFields {
  const { id, status, statusMessage, createdAt, updatedAt, ttlMs } = task
  return {
    taskId: id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toTimestamp(createdAt),
    lastUpdatedAt: toTimestamp(updatedAt),
    ttlMs,
    pollIntervalMs,
  }
}

function hasTasks({ capabilities }: Caller): boolean {
  return isObject(capabilities.extensions?.[tasksExtension])
}

function missingCapability(message: string): ProtocolError {
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } }
  return new ProtocolError(ErrorCode.MissingClientCapability, message, { requiredCapabilities })
}
