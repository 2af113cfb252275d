import { McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { TaskStatus } from '../../protocol/tasks.ts'
import { isObject } from '../../util/objects.ts'

/** The state of a task at one moment. */
export interface TaskSnapshot {
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  /** ISO 8601, from the clock of the server. */
  readonly createdAt: string | undefined
  readonly lastUpdatedAt: string | undefined
  /** Lifetime after creation in milliseconds; null means unlimited. The server may change it. */
  readonly ttlMs: number | null | undefined
  /** The poll interval that the server suggests. */
  readonly pollIntervalMs: number | undefined
}

/** A task as the server sent it: the common members of both dialects, and the whole message. */
export interface TaskUpdate {
  readonly snapshot: TaskSnapshot
  readonly body: ResultObject
}

/** A task that the server sent. */
export interface ReceivedTask extends TaskUpdate {
  readonly id: string
}

const statuses: ReadonlySet<unknown> = new Set<TaskStatus>([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
])

/** The snapshot of a task whose state was not requested yet. */
export const unknownSnapshot: TaskSnapshot = {
  status: 'working',
  statusMessage: undefined,
  createdAt: undefined,
  lastUpdatedAt: undefined,
  ttlMs: undefined,
  pollIntervalMs: undefined,
}

/** Whether a task has ended. */
export function isFinal({ status }: { readonly status: TaskStatus }): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/**
 * Reads a task of either dialect: they differ in the names of two optional members only.
 * @param id The id of the requested task; undefined for a new task.
 */
export function readTask(method: string, id: string | undefined, body: unknown): ReceivedTask {
  const invalid = (what: string) =>
    new McpError('invalid-response', `The server sent an invalid task in ${method}: ${what}`)
  if (!isObject(body)) throw invalid('it is not an object')
  if (typeof body.taskId !== 'string') throw invalid('it has no taskId')
  if (id !== undefined && body.taskId !== id) throw invalid('it has a different taskId')
  const { status } = body
  if (!isStatus(status)) throw invalid(`unknown status ${String(JSON.stringify(status)).slice(0, 100)}`)
  const ttl = body.ttlMs ?? body.ttl
  return {
    id: body.taskId,
    body,
    snapshot: {
      status,
      statusMessage: textOf(body.statusMessage),
      createdAt: textOf(body.createdAt),
      lastUpdatedAt: textOf(body.lastUpdatedAt),
      ttlMs: ttl === null ? null : numberOf(ttl),
      pollIntervalMs: numberOf(body.pollIntervalMs ?? body.pollInterval),
    },
  }
}

function isStatus(value: unknown): value is TaskStatus {
  return statuses.has(value)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
