import type {
  ElicitFormRequest,
  ElicitFormResult,
  ElicitUrlRequest,
  ElicitUrlResult,
} from '../client/input/handlers.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { Root } from '../protocol/roots.ts'
import type { ActionServer, Approve } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import type { ServerConfigs } from './config/server-config.ts'
import type { HostStore } from './host-store.ts'
import type { Model } from './models/model.ts'
import type { Policy } from './policy.ts'
import type { SamplingBudget } from './sampling-budget.ts'

type Awaitable<T> = T | PromiseLike<T>

/** Options of `createHost`. */
export interface HostOptions {
  /** The servers by id, or the path of a configuration file in the format of any known host. */
  servers: ServerConfigs | string
  /** Rules that allow, deny or ask. What no rule decides is asked. `PolicyRule` says what a rule covers. Default: no rules. */
  policy?: Policy | undefined
  /**
   * Ids of servers that `configure` adds later; `*` matches any text. Other ids in rules of the policy and in roots must be
   * configured: a rule with a misspelt id would never match. Default: none.
   */
  laterServers?: readonly string[] | undefined
  /** Asks the user. Default: everything that would be asked is denied. */
  approve?: Approve | undefined
  /** Records what happens: a log, or the path of a file. Default: nothing is recorded. */
  audit?: AuditLog | string | undefined
  /** Generates messages for servers that request sampling. Default: servers cannot request it. */
  model?: Model | undefined
  /** How servers may use the model: budgets, context, and models for hints. */
  sampling?: HostSampling | undefined
  /**
   * The folders that servers may know: absolute paths, `file:` URIs, or objects with `uri` and `name`. The same for all servers, or
   * by server id. Each server gets them only with consent.
   */
  roots?: readonly (Root | string)[] | Readonly<Record<string, readonly (Root | string)[]>> | undefined
  /** Keeps grants and approved definitions: a store, or the path of a file. Default: in memory, until the host closes. */
  store?: HostStore | string | undefined
  /** Shows forms and URLs of servers to the user. Default: servers cannot ask. */
  input?: HostInput | undefined
  /** The name and version of your program, which servers see. */
  info?: Implementation | undefined
  limits?: HostLimits | undefined
}

/** How servers may use the model of a host. */
export interface HostSampling {
  /** The limits of each server: requests per minute and at a time, tokens per request and per day. */
  budget?: SamplingBudget | undefined
  /** Limits of single servers by id, which replace those of `budget`. */
  budgets?: Readonly<Record<string, SamplingBudget>> | undefined
  /**
   * Returns context for requests with `includeContext`, or undefined for none. It is added to the system prompt, which the user
   * sees. Rules with `from` apply to context of other servers, and a rule without `from` does not allow it. Default: requests get
   * no context.
   *
   * @example
   * context: ({ servers }) => conversation.filter(({ server }) => servers.includes(server)).map(({ text }) => text).join('\n')
   */
  context?: ((request: SamplingContextRequest) => Awaitable<string | undefined>) | undefined
  /**
   * Models to use for hints that name models of other providers. A hint that contains the key, ignoring case, stands for the model,
   * which must be one of `model.choices`. A hint that fits a model of yours is used as it is.
   *
   * @example
   * hints: { haiku: 'gpt-6-mini', claude: 'gpt-6' }
   */
  hints?: Readonly<Record<string, string>> | undefined
}

/** A server asks for context in a sampling request. */
export interface SamplingContextRequest {
  readonly server: ActionServer
  /** What it asks for. */
  readonly scope: 'thisServer' | 'allServers'
  /** The ids of the servers whose data may be in the context: this one, and with `allServers` those that the policy does not deny. */
  readonly servers: readonly string[]
  /** Aborts when the context is not needed any more. */
  readonly signal: AbortSignal
}

/** Handles questions of servers to the user. Every request names the server by the id that the user chose. */
export interface HostInput {
  /** Shows a form. */
  elicit?: (form: ElicitFormRequest, context: HostInputContext) => ElicitFormResult | PromiseLike<ElicitFormResult>
  /** Shows a URL. Accepting means that the user agreed to open it. */
  elicitUrl?: (request: ElicitUrlRequest, context: HostInputContext) => ElicitUrlResult | PromiseLike<ElicitUrlResult>
}

/** The second argument of `HostInput` handlers. */
export interface HostInputContext {
  readonly server: ActionServer
  /** Aborts when the server withdraws the question, or the call that it belongs to is cancelled. */
  readonly signal: AbortSignal
  /** @internal The call that the server asks for, if it is known. */
  readonly origin?: unknown
}

/** Limits that protect the host and the model from servers. */
export interface HostLimits {
  /**
   * How long lists wait for a server that has not answered yet, in total: later lists do not wait again. Also how long resources
   * are looked for in the list of one server. Default 5,000.
   */
  listTimeoutMs?: number | undefined
  /** How long a server may take to start and answer. Default 60,000. */
  connectTimeoutMs?: number | undefined
  /** The maximum size of a result, as JSON. Default 4 MiB. */
  maxResultBytes?: number | undefined
  /** The maximum size of all definitions of one server, as JSON. Default 4 MiB. */
  maxDefinitionBytes?: number | undefined
  /** Questions that one server may ask the user per minute. Default 10. */
  questionsPerMinute?: number | undefined
  /**
   * Memory for the text of results, which is recognized in arguments for other servers: for all sessions of the host or gateway
   * together. Beyond it, the session that uses most loses its oldest text. Default 64 MiB.
   */
  maxFlowBytes?: number | undefined
  /** Whether arguments that the input schema of a tool does not name are refused. Default true. */
  strictArguments?: boolean | undefined
}
