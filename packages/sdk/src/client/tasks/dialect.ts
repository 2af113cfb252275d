import type { CallOptions, KeyedInputRequest, Listening, ServerFacts } from '../../era/client.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { TaskUpdate } from './snapshot.ts'

/** What task polling needs from the client. */
export interface TaskClient {
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  /** How often a server may request input during one call. */
  readonly maxRounds: number
  facts(): Promise<ServerFacts>
  call(method: string, params: Params, options?: CallOptions): Promise<ResultObject>
  /** Listens for updates of the task; rejects if the server does not send them. */
  listen(id: string): Promise<Listening>
  /** Handles a request for input. */
  answer(request: KeyedInputRequest, signal: AbortSignal): Promise<ResultObject>
  /** Pauses the timeouts of waiting callers, while a user responds. */
  pause(): () => void
}

/** How a call ended. */
export type EarlyOutcome = { readonly result: ResultObject } | { readonly error: unknown }

/** How one protocol revision handles a task. One object serves one task. */
export interface TaskDialect {
  /** Requests the state of the task. */
  fetch(): Promise<TaskUpdate>
  /** @returns The new state, if the server sent it. */
  cancel(): Promise<TaskUpdate | undefined>
  /** Polling began; it ends when the signal aborts. */
  start(signal: AbortSignal): void
  /** Handles a new state of the task. */
  update(update: TaskUpdate): void
  /** Returns the result of the call, or throws its error. */
  outcome(last: TaskUpdate, signal: AbortSignal): Promise<ResultObject>
  /** How the call ended, if that is known before the task has a final status. */
  readonly earlyOutcome: EarlyOutcome | undefined
  /** Whether the server sends updates, so that polling is only a fallback. */
  readonly isNotified: boolean
}

/** What a dialect may do with the polled task. */
export interface PolledTask {
  readonly id: string
  /** Polls now. */
  wake(): void
  /** Ends polling with an error, unless the task turns out to be final. */
  fail(error: unknown): void
}
