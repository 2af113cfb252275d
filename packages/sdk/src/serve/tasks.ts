import type { McpServer } from '../server/mcp-server.ts'

export interface ServeTasksOptions {
  /** Hand tasks back and end the process on SIGTERM and SIGINT. Default true. */
  exit?: boolean | undefined
}

export interface TaskWorker {
  /** Takes no more tasks, and hands back those that do not end in time. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Runs the tasks of a server without serving any client, for processes that do nothing else. They share the store of
 * `tasks()` with those that do.
 */
export async function serveTasks(server: McpServer, { exit = true }: ServeTasksOptions = {}): Promise<TaskWorker> {
  const release = server.server.hold()
  // What waits for tasks keeps no process alive.
  const timer = setInterval(() => {}, 2 ** 30)
  const stop = () => void close().then(() => process.exit(0))
  const signals = exit ? (['SIGTERM', 'SIGINT'] as const) : []
  for (const signal of signals) process.once(signal, stop)
  const close = async () => {
    for (const signal of signals) process.off(signal, stop)
    await release()
    clearInterval(timer)
  }
  return { close, [Symbol.asyncDispose]: close }
}
