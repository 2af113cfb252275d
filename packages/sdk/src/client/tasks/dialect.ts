import type { Listening, ServerFacts } from '../../era/client.ts'
import type { SendOptions } from '../../jsonrpc/link.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { TaskUpdate } from './snapshot.ts'

/** What following a task needs of the client. */
export interface TaskPeer {
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  /** How often a server may ask in one call. */
  readonly maxRounds: number
  facts(): Promise<ServerFacts>
  call(method: string, params: Params, options?: SendOptions): Promise<ResultObject>
  /** Hears of changes of the task; rejects where that cannot be had. */
  listen(id: string): Promise<Listening>
  /** Answers what the server asks, as if it had asked in any other way. */
  answer(method: string, params: Params, signal: AbortSignal): Promise<ResultObject>
  /** Stops the clocks of those who wait, while a user thinks. */
  pause(): () => void
}

export type Early = { readonly result: ResultObject } | { readonly error: unknown }

/** How one revision speaks of a task that its server has. One object serves one task. */
export interface TaskDialect {
  look(): Promise<TaskUpdate>
  /** @returns How it stands now, where the answer says so. */
  cancel(): Promise<TaskUpdate | undefined>
  /** Somebody follows the task from now on, until the signal aborts. */
  start(signal: AbortSignal): void
  /** It stands otherwise than before: does what that calls for. */
  saw(sighting: TaskUpdate): void
  /** What became of the call; throws when that is no result. */
  outcome(last: TaskUpdate, signal: AbortSignal): Promise<ResultObject>
  /** What became of the call, where that is known before the task was seen to end. */
  readonly early: Early | undefined
  /** Whether the server tells of changes by itself, so that asking it is only for the case that it does not. */
  readonly isTold: boolean
}

/** What a dialect may do to the one who follows. */
export interface Followed {
  readonly id: string
  /** Look at once. */
  wake(): void
  /** Something cannot go on; unless the task turns out to be over, this is how it ends for us. */
  fail(error: unknown): void
}
