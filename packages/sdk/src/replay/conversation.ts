import type { Prepared, ResultObject } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { InputRequest, InputResponses } from '../protocol/input.ts'

/** The result of a handler. */
export type Outcome = ResultObject | PromiseLike<ResultObject>

/** A result to send, or its JSON text if that is cheaper to produce. */
export type Reply = ResultObject | Prepared

/** Options of a question to the client: `ctx.elicit`, `ctx.elicitUrl`, `ctx.sample` and `ctx.roots`. */
export interface AskOptions extends Pick<RequestOptions, 'timeoutMs' | 'signal' | 'onProgress'> {
  /** Identifies the question. Set it if the order of questions can differ between runs of the handler. */
  key?: string | undefined
  /**
   * Lets the client answer as a task, which is polled until it ends. Only 2025-11-25 clients that declared the capability
   * do this; for others the option is ignored.
   */
  task?: { ttlMs?: number | undefined } | undefined
}

/** One request on the server, together with the questions that its handler asks the client. */
export interface Conversation {
  /** Runs the handler and converts its result to the caller's revision. */
  run(work: () => Outcome): Reply | PromiseLike<Reply>
  /** Asks the client a question. */
  ask(question: InputRequest, options: AskOptions): Promise<ResultObject>
  /** Runs work and stores its result, so that it does not run again when the handler does. */
  once<T>(key: string, work: () => T | Promise<T>): Promise<T>
  /** Number of questions that were answered in earlier runs of the handler. */
  readonly answerCount: number
  /** Whether `once` has a result for this key, or is about to. */
  remembers(key: string): boolean
  /** For handlers that return `inputRequired()`: the answers of the client. */
  readonly inputResponses: InputResponses
  /** For handlers that return `inputRequired()`: the state they returned with the questions. */
  readonly requestState: unknown
}
