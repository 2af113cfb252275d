import type { Progress } from '../../jsonrpc/pending.ts'
import type { ElicitResult, ElicitSchema } from '../../protocol/elicitation.ts'
import type { Root } from '../../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../../protocol/sampling.ts'
import type { ClientSideTasksOptions } from '../tasks/client-side-tasks.ts'

/** The second argument of input handlers. */
export interface InputContext {
  /** The server that requests the input. */
  readonly server: ServerIdentity
  /** Aborts when the server withdraws the request, or the call that it belongs to is cancelled. */
  readonly signal: AbortSignal
  /**
   * Reports progress to the server, so that it keeps waiting. Values must increase. Does nothing if the server did not request
   * progress. On 2026-07-28 only servers report progress.
   *
   * @example
   * sample: async (params, { progress }) => {
   *   progress?.(1, { total: 3, message: 'Asking the model' })
   *   return generate(params)
   * }
   */
  readonly progress?: ((progress: number, details?: Omit<Progress, 'progress'>) => void) | undefined
  /** @internal The call that the server asks for, if it is known. */
  readonly origin?: unknown
}

/** Identifies a server to the user. */
export interface ServerIdentity {
  /** The name that the server gives itself. It is not verified. */
  readonly name: string
  /** The URL or command line of the server; undefined if the transport does not know it. */
  readonly address: string | undefined
}

/** A form for the user to fill in. */
export interface ElicitFormRequest {
  readonly message: string
  readonly requestedSchema: ElicitSchema
}

/** A URL for the user to open. The client has not fetched it. */
export interface ElicitUrlRequest {
  readonly message: string
  readonly url: URL
  /** The id that a later `elicitationComplete` event has. 2025-11-25 only. */
  readonly elicitationId?: string | undefined
  /** Descriptions of what is suspicious about the URL, for the user. */
  readonly warnings: readonly string[]
}

/** Handlers for requests of servers. The client declares the capabilities that they provide. */
export interface ClientHandlers {
  /** Shows a form to the user. Fields with a default may be missing from the content. */
  elicit?:
    | ((form: ElicitFormRequest, context: InputContext) => ElicitFormResult | PromiseLike<ElicitFormResult>)
    | undefined
  /** Shows a URL to the user. Accepting means that the user agreed to open it. */
  elicitUrl?:
    | ((request: ElicitUrlRequest, context: InputContext) => ElicitUrlResult | PromiseLike<ElicitUrlResult>)
    | undefined
  /** Generates a message with a model. Declare `sampling: { tools: {} }` in `capabilities` if it supports `tools`. */
  sample?:
    | ((params: CreateMessageParams, context: InputContext) => CreateMessageResult | PromiseLike<CreateMessageResult>)
    | undefined
  /** The maximum number of `sample` calls per minute; `false` means unlimited. Default 120. */
  samplesPerMinute?: number | false | undefined
  /**
   * Counts the tokens of a text like your model, so that messages of `sample` with more than `maxTokens` fail. Without it, only
   * messages that are far too long fail.
   */
  countTokens?: ((text: string) => number) | undefined
  /** The folders that servers may work in: a list, or a function that returns it. */
  roots?: readonly (Root | string)[] | ((context: InputContext) => RootList | PromiseLike<RootList>) | undefined
  /**
   * Lets servers of 2025-11-25 run elicitation and sampling as tasks, which are kept in memory. Default: servers wait for the
   * response.
   */
  tasks?: boolean | ClientSideTasksOptions | undefined
}

/** The result of a form. Only an accepted form has content. */
export interface ElicitFormResult extends Pick<ElicitResult, 'action'> {
  content?: { [field: string]: string | number | boolean | string[] | undefined } | undefined
}

/** The result of a URL elicitation. */
export type ElicitUrlResult = Pick<ElicitResult, 'action'>
/** Roots as objects or as `file:` URIs. */
export type RootList = readonly (Root | string)[]
