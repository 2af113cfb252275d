import type { Task } from 'tenon'
import { isObject, type JsonObject } from 'tenon/internal'
import { textOf } from '../contract/json.ts'

/** A task that changed. */
export interface TaskUpdate {
  readonly task: Task
  /** The operation that created it, if known. */
  readonly operation: string | undefined
}

/** Finds the tasks in messages of a server, of either dialect, that changed since they were seen last. */
export class TaskUpdates {
  readonly #last = new Map<string, string>()

  /**
   * Returns the tasks in a message that are new or changed.
   * @param ownerOf Returns the operation that created a task.
   */
  find(message: unknown, ownerOf: (taskId: string) => string | undefined): TaskUpdate[] {
    const found = tasksIn(message).map((task) => ({ task, operation: ownerOf(task.taskId) }))
    return found.filter(({ task, operation }) => {
      const text = JSON.stringify([task, operation])
      if (this.#last.get(task.taskId) === text) return false
      this.#last.set(task.taskId, text)
      const [oldest] = this.#last.keys()
      if (this.#last.size > maxTasks && oldest !== undefined) this.#last.delete(oldest)
      return true
    })
  }
}

const maxTasks = 1_000

function tasksIn(message: unknown): Task[] {
  if (!isObject(message)) return []
  const { result, method, params } = message
  const isNotification = method === 'notifications/tasks' || method === 'notifications/tasks/status'
  if (isNotification) return readTasks([params])
  if (!isObject(result)) return []
  return readTasks([result, result.task, ...(Array.isArray(result.tasks) ? result.tasks.slice(0, maxTasks) : [])])
}

function readTasks(values: readonly unknown[]): Task[] {
  return values.filter(isTask).map(toTask)
}

const statuses: ReadonlySet<unknown> = new Set<Task['status']>([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
])

type TaskLike = JsonObject & Pick<Task, 'taskId' | 'status'>

function isTask(value: unknown): value is TaskLike {
  return isObject(value) && typeof value.taskId === 'string' && statuses.has(value.status)
}

/** 2025-11-25 has other names for two members. */
function toTask(value: TaskLike): Task {
  const ttl = value.ttlMs ?? value.ttl
  const poll = value.pollIntervalMs ?? value.pollInterval
  const statusMessage = textOf(value.statusMessage)?.slice(0, maxMessageChars)
  return {
    taskId: value.taskId,
    status: value.status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: textOf(value.createdAt) ?? '',
    lastUpdatedAt: textOf(value.lastUpdatedAt) ?? '',
    ttlMs: typeof ttl === 'number' ? ttl : null,
    ...(typeof poll === 'number' && { pollIntervalMs: poll }),
  }
}

const maxMessageChars = 10_000
