import type { Call } from '../era/call.ts'
import type { QuestionLimits, TaskFeed } from '../era/server.ts'
import type { Params, RpcErrorBody } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import type { Revision } from '../protocol/revision.ts'
import type { ToolExecution } from '../protocol/tools.ts'
import type { Conversation, Reply } from '../replay/conversation.ts'
import { maxTimerMs } from '../util/backoff.ts'
import { isObject } from '../util/objects.ts'
import type { RequestHandler, Serving } from './dispatch.ts'
import type { AccessOptions } from './features/feature.ts'

/** Runs calls as tasks. Created by `tasks()` of `tenon/tasks`; belongs to one server. */
export interface TaskRuntime {
  /** @internal Called once by the server. */
  attach(server: TaskServer): void
  /** Starts to run tasks. May be called more than once. */
  start(): Promise<void>
  /** Waits for running tasks, or releases them to other workers. */
  stop(): Promise<void>
  /**
   * Returns figures for monitoring. Those of the store are about all processes that share it.
   *
   * @example
   * const { open, queued, oldestOpenMs } = await runtime.metrics()
   */
  metrics(): Promise<TaskMetrics>
  /** @internal Called when the rate limit refuses a request about tasks. */
  limited(call: Pick<Call, 'stream' | 'link' | 'request'>): void
  /** @internal Serves a call as a task. Undefined: it is an ordinary call. */
  take(serving: Serving): Reply | PromiseLike<Reply> | undefined
  /** @internal */
  readonly methods: Readonly<Record<string, RequestHandler>>
  /** @internal */
  readonly feed: TaskFeed
}

/** Figures about tasks, for monitoring. */
export interface TaskMetrics {
  /** Open tasks in the store. The limit is `maxOpen`. */
  readonly open: number
  /** Finished tasks in the store. The limit is `maxFinished`. Undefined if the store does not implement `usage`. */
  readonly finished: number | undefined
  /** Bytes in the store. The limit is `maxBytes`. Undefined as above. */
  readonly bytes: number | undefined
  /** Tasks that wait for a process to run them. Undefined as above. */
  readonly queued: number | undefined
  /** The age of the oldest open task. Undefined as above, or if no task is open. */
  readonly oldestOpenMs: number | undefined
  /** Tasks that this process runs now. */
  readonly running: number
  /** Tasks that this process created since its start. */
  readonly created: number
  /** Tasks that ended in this process since its start, by outcome. */
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  /** Requests of this process for tasks that the caller cannot use. */
  readonly lookupsFailed: number
  /** Requests about tasks that the rate limit refused. */
  readonly rateLimited: number
}

/** The part of a server that tasks use. */
export interface TaskServer {
  readonly questions: QuestionLimits
  /** Returns how a tool supports tasks; undefined if it does not exist. */
  taskConfig(params: Params): ToolTaskConfig | undefined
  revision(id: string): Revision | undefined
  /** Serves the request of a task, which arrived earlier. */
  serve(call: Call, conversation: Conversation, caller: Caller): Reply | PromiseLike<Reply>
  errorOf(error: unknown): RpcErrorBody
  reportError(error: unknown): void
}

/** How a tool supports tasks. */
export interface ToolTaskConfig extends AccessOptions {
  readonly support: NonNullable<ToolExecution['taskSupport']>
  /** Undefined: the option of `tasks()` applies. */
  readonly policy: TaskPolicy | undefined
  /** Text for the model as soon as a call becomes a task (2025-11-25). */
  readonly immediateResponse: string | undefined
}

/** When a call becomes a task: immediately, never, or after some time. */
export type TaskPolicy = 'always' | 'never' | { readonly afterMs: number }

/** Throws if a policy is invalid. */
export function checkPolicy(policy: TaskPolicy, where: string): void {
  if (policy === 'always' || policy === 'never') return
  const afterMs: unknown = isObject(policy) ? policy.afterMs : undefined
  if (typeof afterMs === 'number' && afterMs >= 0 && afterMs <= maxTimerMs) return
  throw new TypeError(`${where} must be 'always', 'never' or { afterMs }`)
}
