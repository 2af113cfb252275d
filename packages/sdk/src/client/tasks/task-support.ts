import type { ServerFacts } from '../../era/client.ts'
import { CapabilityError, ErrorCode, PeerError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import { tasksExtension } from '../../protocol/tasks.ts'
import type { CallToolParams } from '../../protocol/tools.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'

/** Declares the tasks extension, which lets servers of 2026-07-28 run any call as a task. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { [tasksExtension]: {}, ...capabilities.extensions } }
}

/** Whether the client can request a task for a tool call (2025-11-25). */
export function offersTaskCalls(facts: ServerFacts | undefined): boolean {
  if (!facts?.capabilities.tasks?.requests?.tools?.call) return false
  return !facts.revision.lacks('tasks/result')
}

/** Whether the server can turn a call into a task (2026-07-28). */
export function offersTaskExtension(facts: ServerFacts | undefined): boolean {
  if (facts?.revision.lacks('tasks/update') !== false) return false
  return isObject(facts.capabilities.extensions?.[tasksExtension])
}

/** Throws if the server cannot list its tasks. */
export function requireTaskList({ revision, capabilities }: ServerFacts): void {
  if (revision.lacks('tasks/list')) {
    throw new CapabilityError(
      'tasks.list',
      `${revision.id} cannot list tasks. Keep the ids of your tasks and call resumeTask(id).`,
    )
  }
  if (!isObject(capabilities.tasks?.list)) {
    throw new CapabilityError('tasks.list', 'The server does not offer a list of its tasks')
  }
}

/**
 * Whether a call became a task.
 * @param byType Whether `resultType` says so; before 2026-07-28 it is an ordinary member.
 */
export function isTask(result: ResultObject, params: CallToolParams, byType: boolean): boolean {
  if (byType) return result.resultType === 'task'
  return params.task !== undefined && isObject(result.task) && !result.content
}

/** Some tools accept only clients with tasks (tasks extension, capability negotiation). Warns how to call them. */
export function warnIfTasksNeeded(error: unknown): void {
  if (!(error instanceof PeerError) || error.rpcCode !== ErrorCode.MissingClientCapability) return
  if (!JSON.stringify(error.data ?? null).includes(tasksExtension)) return
  warnOnce(
    'tasks-needed',
    'A tool can only be called as a task: use callToolAsTask(), or pass `tasks: true` to the client to make callTool() wait for tasks.',
  )
}
