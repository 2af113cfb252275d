import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { RequestMeta } from '../../protocol/meta.ts'
import type { CoreTask, ListTasksResult } from '../../protocol/tasks.ts'
import { joinSignals } from '../../util/abort.ts'
import type { Connection } from '../connection.ts'
import type { ListCall } from '../list-call.ts'
import type { Requester } from '../requester.ts'
import type { ClientTasks } from '../tasks/client-tasks.ts'
import type { TaskHandle } from '../tasks/handle.ts'
import { offersTaskExtension, requireTaskList } from '../tasks/task-support.ts'
import type { Pages } from './pages.ts'
import type { Tools } from './tools.ts'

/** Options of `callToolAsTask`. If the call becomes a task, the timeouts and `signal` apply to its creation only. */
export interface TaskCallOptions extends RequestOptions {
  /** The requested lifetime of the task in milliseconds (2025-11-25). Default: the server decides. */
  ttlMs?: number | undefined
  /** Sent with the call, for example `traceparent`. */
  _meta?: RequestMeta | undefined
}

export interface TasksOptions {
  readonly connection: Connection
  readonly requester: Requester
  readonly pages: Pages
  readonly tools: Tools
  readonly tasks: ClientTasks
  /** Whether calls may become tasks at all. */
  readonly usesTasks: boolean
}

/** The tasks of the server. */
export class Tasks {
  readonly #options: TasksOptions

  constructor(options: TasksOptions) {
    this.#options = options
  }

  async callTool(
    name: string,
    args: Record<string, unknown>,
    { ttlMs, _meta, ...options }: TaskCallOptions,
  ): Promise<TaskHandle> {
    const { connection, requester, tools, tasks, usesTasks } = this.#options
    const missing = requester.require('tools')
    if (missing) await missing
    const params = { name, arguments: args, ...(_meta && { _meta }) }
    const sent = { ...options, progress: true, takesTasks: usesTasks }
    const isOffered = await tools.supportsTasks(name)
    if (!isOffered && !(usesTasks && offersTaskExtension(connection.live?.era.facts))) {
      return tasks.plain(name, (stop) => {
        const { signal, release } = joinSignals(options.signal ? [options.signal, stop] : [stop])
        return tools.callToEnd(params, { ...sent, signal }).finally(release)
      })
    }
    const augmented = isOffered ? { ...params, task: ttlMs === undefined ? {} : { ttl: ttlMs } } : params
    const { result, call } = await tools.start(augmented, sent)
    return call ? tasks.created(result, call) : tasks.plain(name, () => Promise.resolve(result))
  }

  list(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListTasksResult, CoreTask> {
    const { requester, pages } = this.#options
    const source = {
      method: 'tasks/list' as const,
      member: 'tasks',
      require: async () => requireTaskList(await requester.facts()),
      items: (page: ListTasksResult) => page.tasks,
      withItems: (page: ListTasksResult, tasks: CoreTask[]) => ({ ...page, tasks }),
      filter: (tasks: CoreTask[]) => pages.withField(tasks, 'taskId'),
    }
    return pages.list(source, params, options)
  }
}
