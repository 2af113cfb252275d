import { randomBytes } from 'node:crypto'
import type { Request, RequestId, Result, Task } from '../../../generated/protocol-types.ts'
import {
  type CreateTaskOptions,
  isTerminal,
  type QueuedMessage,
  type TaskMessageQueue,
  type TaskStore,
} from '../interfaces.ts'

const pageSize = 10

interface StoredTask {
  task: Task
  request: Request
  requestId: RequestId
  result?: Result
  timer?: ReturnType<typeof setTimeout>
}

/** Keeps tasks in memory, for development and for servers with one process. Tasks end with the process. */
export class InMemoryTaskStore implements TaskStore {
  private readonly _tenonTasks = new Map<string, StoredTask>()

  async createTask(
    taskParams: CreateTaskOptions,
    requestId: RequestId,
    request: Request,
    _sessionId?: string,
  ): Promise<Task> {
    const createdAt = new Date().toISOString()
    const task: Task = {
      taskId: randomBytes(16).toString('hex'),
      status: 'working',
      ttl: taskParams.ttl ?? null,
      createdAt,
      lastUpdatedAt: createdAt,
      pollInterval: taskParams.pollInterval ?? 1_000,
    }
    const stored: StoredTask = { task, request, requestId }
    this._tenonTasks.set(task.taskId, stored)
    this._tenonExpire(stored)
    return task
  }

  async getTask(taskId: string, _sessionId?: string): Promise<Task | null> {
    const stored = this._tenonTasks.get(taskId)
    return stored ? { ...stored.task } : null
  }

  async storeTaskResult(
    taskId: string,
    status: 'completed' | 'failed',
    result: Result,
    _sessionId?: string,
  ): Promise<void> {
    const stored = this._tenonFind(taskId)
    if (isTerminal(stored.task.status)) {
      throw new Error(
        `Cannot store result for task ${taskId} in terminal status '${stored.task.status}'. Task results can only be stored once.`,
      )
    }
    stored.result = result
    this._tenonChanged(stored, status)
  }

  async getTaskResult(taskId: string, _sessionId?: string): Promise<Result> {
    const { result } = this._tenonFind(taskId)
    if (!result) throw new Error(`Task ${taskId} has no result stored`)
    return result
  }

  async updateTaskStatus(
    taskId: string,
    status: Task['status'],
    statusMessage?: string,
    _sessionId?: string,
  ): Promise<void> {
    const stored = this._tenonFind(taskId)
    if (isTerminal(stored.task.status)) {
      throw new Error(
        `Cannot update task ${taskId} from terminal status '${stored.task.status}' to '${status}'. Terminal states (completed, failed, cancelled) cannot transition to other states.`,
      )
    }
    if (statusMessage) stored.task.statusMessage = statusMessage
    this._tenonChanged(stored, status)
  }

  async listTasks(cursor?: string, _sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const ids = [...this._tenonTasks.keys()]
    const last = cursor ? ids.indexOf(cursor) : -1
    if (cursor && last < 0) throw new Error(`Invalid cursor: ${cursor}`)
    const page = ids.slice(last + 1, last + 1 + pageSize)
    const hasMore = last + 1 + pageSize < ids.length
    return {
      tasks: page.map((id) => ({ ...this._tenonTasks.get(id)!.task })),
      ...(hasMore && { nextCursor: page.at(-1)! }),
    }
  }

  /** Forgets all tasks. */
  cleanup(): void {
    for (const { timer } of this._tenonTasks.values()) clearTimeout(timer)
    this._tenonTasks.clear()
  }

  /** Returns all tasks. */
  getAllTasks(): Task[] {
    return [...this._tenonTasks.values()].map(({ task }) => ({ ...task }))
  }

  private _tenonFind(taskId: string): StoredTask {
    const stored = this._tenonTasks.get(taskId)
    if (!stored) throw new Error(`Task with ID ${taskId} not found`)
    return stored
  }

  private _tenonChanged(stored: StoredTask, status: Task['status']): void {
    stored.task.status = status
    stored.task.lastUpdatedAt = new Date().toISOString()
    // A task that ended is kept for its whole time to live from now on.
    if (isTerminal(status)) this._tenonExpire(stored)
  }

  private _tenonExpire(stored: StoredTask): void {
    const { ttl, taskId } = stored.task
    if (!ttl) return
    clearTimeout(stored.timer)
    stored.timer = setTimeout(() => this._tenonTasks.delete(taskId), ttl)
  }
}

/** Keeps the messages of tasks in memory. */
export class InMemoryTaskMessageQueue implements TaskMessageQueue {
  private readonly _tenonQueues = new Map<string, QueuedMessage[]>()

  async enqueue(taskId: string, message: QueuedMessage, _sessionId?: string, maxSize?: number): Promise<void> {
    const queue = this._tenonQueues.get(taskId) ?? []
    if (maxSize !== undefined && queue.length >= maxSize) {
      throw new Error(`Task message queue overflow: queue size (${queue.length}) exceeds maximum (${maxSize})`)
    }
    queue.push(message)
    this._tenonQueues.set(taskId, queue)
  }

  async dequeue(taskId: string, _sessionId?: string): Promise<QueuedMessage | undefined> {
    return this._tenonQueues.get(taskId)?.shift()
  }

  async dequeueAll(taskId: string, _sessionId?: string): Promise<QueuedMessage[]> {
    const queue = this._tenonQueues.get(taskId) ?? []
    this._tenonQueues.delete(taskId)
    return queue
  }
}
