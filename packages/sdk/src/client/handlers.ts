import type { ElicitResult, ElicitSchema } from '../protocol/elicitation.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import type { ClientSideTasksOptions } from './tasks/client-side-tasks.ts'

/** Who asks, and whether they still want to know. */
export interface Asking {
  readonly server: AskingServer
  /** Aborts when the server takes the question back, or the call that it belongs to is given up. */
  readonly signal: AbortSignal
}

export interface AskingServer {
  /** What the server calls itself, which nobody has checked. */
  readonly name: string
  /** Where it is: a URL or a command line. Undefined where the transport does not say. */
  readonly address: string | undefined
}

/** A form for the user to fill in. */
export interface FormQuestion {
  readonly message: string
  readonly requestedSchema: ElicitSchema
}

/** A page that the user is asked to visit. Nothing has been fetched from it. */
export interface UrlQuestion {
  readonly message: string
  readonly url: URL
  /** 2025-11-25 only: what a later `elicitationComplete` event names. */
  readonly elicitationId?: string | undefined
  /** What is suspicious about the URL, in words for the user. */
  readonly warnings: readonly string[]
}

/** What this client does for servers. The capabilities that it declares follow from what is given. */
export interface ClientHandlers {
  /** Lets the user fill in a form. Fields that have a default may be left out of the answer. */
  elicit?: ((form: FormQuestion, asking: Asking) => ElicitOutcome | PromiseLike<ElicitOutcome>) | undefined
  /** Shows a URL to the user, who may open it or not; accepting says that they agreed. */
  elicitUrl?: ((question: UrlQuestion, asking: Asking) => UrlResult | PromiseLike<UrlResult>) | undefined
  /** Has a model write a message. Declare `sampling: { tools: {} }` as well if it honours `tools`. */
  sample?:
    | ((params: CreateMessageParams, asking: Asking) => CreateMessageResult | PromiseLike<CreateMessageResult>)
    | undefined
  /** How often a server may have `sample` called. `false`: no limit. Default 120. */
  samplesPerMinute?: number | false | undefined
  /**
   * Counts the tokens of a text as your model does. An answer of `sample` with more than `maxTokens` then fails; without it, only
   * answers that are much too long do.
   */
  countTokens?: ((text: string) => number) | undefined
  /** The folders that servers may work in: a list, or a function that gives it when asked. */
  roots?: readonly (Root | string)[] | ((asking: Asking) => RootList | PromiseLike<RootList>) | undefined
  /**
   * Lets servers of 2025-11-25 have forms, pages and messages of the model as tasks, which they come back for; kept in memory.
   * Default: they wait for the answer.
   */
  tasks?: boolean | ClientSideTasksOptions | undefined
}

/** What became of a form: only an accepted one has content. */
export interface ElicitOutcome extends Pick<ElicitResult, 'action'> {
  content?: { [field: string]: string | number | boolean | string[] | undefined } | undefined
}

export type UrlResult = Pick<ElicitResult, 'action'>
export type RootList = readonly (Root | string)[]
