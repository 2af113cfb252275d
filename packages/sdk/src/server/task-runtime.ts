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
  /** @internal Serves a call as a task. Undefined: it is an ordinary call. */
  take(serving: Serving): Reply | PromiseLike<Reply> | undefined
  /** @internal */
  readonly methods: Readonly<Record<string, RequestHandler>>
  /** @internal */
  readonly feed: TaskFeed
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
