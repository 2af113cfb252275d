import type { Exchange } from '../jsonrpc/exchange.ts'
import { toCoreTask } from './core-dialect.ts'
import type { TaskRepository } from './repository.ts'
import { isFinal, type Task } from './task.ts'
import type { TaskWatchers } from './watchers.ts'

/** Tells the session that created a task how it stands, as long as both last (2025-11-25 tasks, status notifications). */
export function sendTaskStatus(
  { id }: Task,
  { link }: Exchange,
  { book, watchers }: { book: TaskRepository; watchers: TaskWatchers },
  reportError: (error: unknown) => void,
): void {
  let told = ''
  const look = async () => {
    const task = await book.get(id)
    if (!task || isFinal(task.status) || link.closed) stop()
    if (!task || link.closed) return
    const params = toCoreTask(task, book.pace)
    const news = JSON.stringify([params.status, params.statusMessage])
    if (news !== told) link.notify('notifications/tasks/status', { ...params })
    told = news
  }
  const stop = watchers.on(id, (said) => {
    if (said) link.notify(said.method, said.params)
    else look().catch(reportError)
  })
}
