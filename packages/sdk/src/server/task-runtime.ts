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
import type { Guarded } from './features/feature.ts'

/** Runs calls as tasks: what `tasks()` of `tenon/tasks` gives. It belongs to one server. */
export interface TaskRuntime {
  /** Called once, by the server that it belongs to. */
  attach(server: TaskServer): void
  /** Tasks may run from now on. May be called more than once. */
  start(): Promise<void>
  /** Lets what runs end, or hands it back. */
  stop(): Promise<void>
  /** Serves a call as a task; undefined: it is an ordinary one. */
  take(serving: Serving): Reply | PromiseLike<Reply> | undefined
  readonly methods: Readonly<Record<string, RequestHandler>>
  readonly feed: TaskFeed
}

/** What tasks need of their server. */
export interface TaskServer {
  readonly questions: QuestionLimits
  /** What a tool says of tasks; undefined when there is no such tool. */
  taskConfig(params: Params): ToolTaskConfig | undefined
  revision(id: string): Revision | undefined
  /** Runs a request that came earlier. */
  serve(call: Call, conversation: Conversation, caller: Caller): Reply | PromiseLike<Reply>
  errorOf(error: unknown): RpcErrorBody
  reportError(error: unknown): void
}

export interface ToolTaskConfig extends Guarded {
  readonly support: NonNullable<ToolExecution['taskSupport']>
  /** Undefined: as the server's options say. */
  readonly policy: TaskPolicy | undefined
  /** What the model is told as soon as a call became a task (2025-11-25). */
  readonly immediateResponse: string | undefined
}

/** When the server makes a task of a call: at once, never, or when it takes longer. */
export type TaskPolicy = 'always' | 'never' | { readonly afterMs: number }

export function checkPolicy(policy: TaskPolicy, where: string): void {
  if (policy === 'always' || policy === 'never') return
  const afterMs: unknown = isObject(policy) ? policy.afterMs : undefined
  if (typeof afterMs === 'number' && afterMs >= 0 && afterMs <= maxTimerMs) return
  throw new TypeError(`${where} must be 'always', 'never' or { afterMs }`)
}
