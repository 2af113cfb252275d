import type { McpServer } from '../server/mcp-server.ts'
import { endOnSignal } from '../util/process-end.ts'
import { scheduler } from '../util/scheduler.ts'

/** Options of `serveTasks()`. */
export interface ServeTasksOptions {
  /** Requeue running tasks and exit the process on SIGTERM and SIGINT. Default true. */
  exit?: boolean | undefined
}

/** A process that runs tasks. */
export interface TaskWorker {
  /** Starts no more tasks, waits for running ones, and requeues those that do not end within `drainMs`. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Runs the tasks of a server in a process that serves no clients. It shares the store of `tasks()` with the processes that
 * do. The process does not exit until you call `close()`.
 *
 * @example
 * const server = new McpServer(
 *   { name: 'reports', version: '1.0.0' },
 *   { tasks: tasks({ store: sqliteStore('./tasks.db').tasks }) },
 * )
 * await serveTasks(server)
 */
export async function serveTasks(server: McpServer, { exit = true }: ServeTasksOptions = {}): Promise<TaskWorker> {
  const release = server.server.hold()
  // The timers of tasks do not keep the process alive, so this one does.
  const timer = scheduler.setInterval(() => {}, 2 ** 30)
  const close = async () => {
    removePart()
    await release()
    scheduler.clearInterval(timer)
  }
  const removePart = exit ? endOnSignal({ drain: close }) : () => {}
  return { close, [Symbol.asyncDispose]: close }
}
