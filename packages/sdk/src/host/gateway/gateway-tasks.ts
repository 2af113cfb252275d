import type { ServerCapabilities } from '../../protocol/capabilities.ts'
import { tasksExtension } from '../../protocol/tasks.ts'
import type { Reply } from '../../replay/conversation.ts'
import type { Serving } from '../../server/dispatch.ts'
import type { Server } from '../../server/server.ts'
import type { TaskRuntime } from '../../server/task-runtime.ts'
import type { HostTool } from '../catalog.ts'
import { authOf } from './identity.ts'
import type { IsAllowed } from './options.ts'

/** Each caller sees only the capability of its own revision. */
export const taskCapabilities: ServerCapabilities = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
}

export interface GatewayTasksOptions {
  readonly server: Server
  readonly runtime: TaskRuntime
  readonly isAllowed: IsAllowed
  /** The tool with this name, if it is known now and its server runs calls as tasks. */
  findTool(name: string): HostTool | undefined
  /** Resolves when the tools are known; undefined if they are. */
  ready(): Promise<void> | undefined
}

/** Lets callers run tools as tasks of the gateway. */
export class GatewayTasks {
  readonly #options: GatewayTasksOptions

  constructor(options: GatewayTasksOptions) {
    this.#options = options
    const { server, runtime } = options
    server.useTasks(runtime, ({ name }) => {
      const isOffered = options.findTool(name as string) !== undefined
      return {
        support: isOffered ? 'optional' : 'forbidden',
        policy: undefined,
        immediateResponse: undefined,
        requiredScopes: undefined,
      }
    })
  }

  /** Serves a call as a task. Undefined: it is an ordinary call, or one that the caller may not make. */
  take(serving: Serving): Reply | PromiseLike<Reply | undefined> | undefined {
    const ready = this.#options.ready()
    return ready ? ready.then(() => this.#take(serving)) : this.#take(serving)
  }

  #take(serving: Serving): ReturnType<TaskRuntime['take']> {
    const { runtime, isAllowed, findTool } = this.#options
    const { params } = serving.exchange.request
    const tool = findTool(params?.name as string)
    if (tool && !isAllowed({ auth: authOf(serving.exchange) }, tool)) return undefined
    return runtime.take(serving)
  }
}
