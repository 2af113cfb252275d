import { McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { TaskStatus } from '../../protocol/tasks.ts'
import { isObject } from '../../util/objects.ts'

/** How a task stood at one moment. */
export interface TaskSnapshot {
  readonly status: TaskStatus
  readonly statusMessage: string | undefined
  /** ISO 8601, by the clock of the server. */
  readonly createdAt: string | undefined
  readonly lastUpdatedAt: string | undefined
  /** How long the server keeps the task after its creation; null: without limit. It may change. */
  readonly ttlMs: number | null | undefined
  /** How often the server wishes to be asked. */
  readonly pollIntervalMs: number | undefined
}

/** A task as the server described it: what both dialects have, and everything. */
export interface TaskUpdate {
  readonly snapshot: TaskSnapshot
  readonly body: ResultObject
}

const statuses: ReadonlySet<unknown> = new Set<TaskStatus>([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
])

/** What is known of a task that nobody has looked at yet. */
export const unseen: TaskSnapshot = {
  status: 'working',
  statusMessage: undefined,
  createdAt: undefined,
  lastUpdatedAt: undefined,
  ttlMs: undefined,
  pollIntervalMs: undefined,
}

export function isFinal({ status }: { readonly status: TaskStatus }): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/**
 * The two dialects differ in the names of two members alone; a server that gives neither is none the worse for it.
 * @param id The task that was asked for; undefined where it is only being created.
 */
export function readTask(method: string, id: string | undefined, body: unknown): TaskUpdate {
  const wrong = (what: string) => new McpError('invalid-response', `${method} was answered with a task, but ${what}`)
  if (!isObject(body)) throw wrong('it is no object')
  if (typeof body.taskId !== 'string') throw wrong('it has no taskId')
  if (id !== undefined && body.taskId !== id) throw wrong('it is another one')
  if (!statuses.has(body.status)) throw wrong(`its status is ${String(JSON.stringify(body.status)).slice(0, 100)}`)
  const ttl = body.ttlMs ?? body.ttl
  return {
    body: body as ResultObject,
    snapshot: {
      status: body.status as TaskStatus,
      statusMessage: textOf(body.statusMessage),
      createdAt: textOf(body.createdAt),
      lastUpdatedAt: textOf(body.lastUpdatedAt),
      ttlMs: ttl === null ? null : numberOf(ttl),
      pollIntervalMs: numberOf(body.pollIntervalMs ?? body.pollInterval),
    },
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
