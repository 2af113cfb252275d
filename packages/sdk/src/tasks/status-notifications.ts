import type { Exchange } from '../jsonrpc/exchange.ts'
import { toCoreTask } from './core-dialect.ts'
import type { TaskRepository } from './repository.ts'
import { isFinal, type Task } from './task.ts'
import type { TaskWatchers } from './watchers.ts'

/** Notifies the session that created a task of its status, until one of them ends (2025-11-25 tasks, status notifications). */
export function sendTaskStatus(
  { id }: Task,
  { link }: Exchange,
  { repository, watchers }: { repository: TaskRepository; watchers: TaskWatchers },
  reportError: (error: unknown) => void,
): void {
  let lastSent = ''
  const sendIfChanged = async () => {
    const task = await repository.get(id)
    if (!task || isFinal(task.status) || link.closed) stop()
    if (!task || link.closed) return
    const params = toCoreTask(task, repository.pollInterval)
    const status = JSON.stringify([params.status, params.statusMessage])
    if (status !== lastSent) link.notify('notifications/tasks/status', { ...params })
    lastSent = status
  }
  const stop = watchers.on(id, (notification) => {
    if (notification) link.notify(notification.method, notification.params)
    else sendIfChanged().catch(reportError)
  })
}
