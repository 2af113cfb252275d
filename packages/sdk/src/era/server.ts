import type { ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Prepared, ResultObject, RpcErrorBody, RpcNotification } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { CacheHints } from '../protocol/caching.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { InputRequest, InputResponses } from '../protocol/input.ts'
import type { LoggingLevel } from '../protocol/log-level.ts'
import type { Revision, RevisionId } from '../protocol/revision.ts'
import type { Sealer } from '../util/sealer.ts'
import type { Call } from './call.ts'
import type { Changes } from './changes.ts'
import type { SubscribedUris } from './subscribed-uris.ts'

/** Who is calling, whatever the era: from the handshake, or from the request itself. */
export interface Caller {
  /** The protocol revision of the request, such as `'2026-07-28'`. */
  readonly revision: RevisionId
  /** What that revision has, and how its messages look. For the library itself: handlers compare `revision`. */
  readonly rules: Revision
  readonly clientInfo: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The least severe log message the caller wants; undefined means none. */
  readonly logLevel: LoggingLevel | undefined
  /** False where nothing can be asked of the client, whatever it declares: it has no session that answers could come to. */
  readonly answers: boolean
}

/** What an era needs to know of the server that it serves. */
export interface Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  /** The revisions on offer, newest first. */
  readonly revisions: readonly Revision[]
  readonly changes: Changes
  /** What clients subscribed to, on every revision. */
  readonly subscribedUris: SubscribedUris
  /** How long, and for whom, lists and the answer to discovery may be kept. */
  readonly cacheHints: Required<CacheHints>
  capabilities(): ServerCapabilities
  /** Seals what clients carry for us. */
  readonly sealer: Sealer
  readonly questions: QuestionLimits
  /** Undefined where there are no tasks. */
  tasks: TaskFeed | undefined
  /** The scopes that a caller needs for the resource behind a URI; undefined: none. */
  requiredScopesOf(uri: string): readonly string[] | undefined
}

/** Tells of changes of tasks (tasks extension, notifications). */
export interface TaskFeed {
  /** Those of the tasks that the caller may hear of; throws when it cannot take tasks at all. */
  accept(ids: readonly string[], exchange: Exchange, caller: Caller): Promise<string[]>
  /** Tells how each stands, now and when that changes, until it is stopped. */
  follow(ids: readonly string[], exchange: Exchange, caller: Caller, tell: (task: ResultObject) => void): () => void
}

export interface QuestionLimits {
  /** How often one request may ask; questions that are open at the same time count once. */
  readonly maxRounds: number
  /** How long the answer to a form, a page or a model may take. */
  readonly timeoutMs: number
  /** How long a client may take to come back with answers, where it carries the state. */
  readonly stateTtlMs: number
  /** How much a client is given to carry. */
  readonly maxStateBytes: number
  /** Lets each state be used once. Undefined: as long as it is valid. */
  readonly usedStates: UsedStates | undefined
}

/** Remembers which states were used, for as long as they are valid. */
export interface UsedStates {
  /** True the first time that it is called with this id. */
  claim(id: string, ttlMs: number): boolean | Promise<boolean>
}

export type Outcome = ResultObject | PromiseLike<ResultObject>

/** What goes out: a result, or its text where that is made more cheaply. */
export type Reply = ResultObject | Prepared

/**
 * A method that belongs to the era and not to the server's features; it checks its own params. Undefined: it answers by
 * itself, later.
 */
export type EraMethod = (exchange: Exchange) => Reply | PromiseLike<Reply> | undefined

export interface AskOptions extends Pick<RequestOptions, 'timeoutMs' | 'signal' | 'onProgress'> {
  /** Names the question, where the order of questions may change from one run of the handler to the next. */
  key?: string | undefined
  /**
   * Has the client answer it as a task, which is asked how it stands until it is over. 2025-11-25 only, of clients that declared
   * it; ignored elsewhere.
   */
  task?: { ttlMs?: number | undefined } | undefined
}

/** One request, and what is asked back while it is served. */
export interface Conversation {
  /** Runs the request and gives its result the form that the caller's revision knows. */
  run(work: () => Outcome): Reply | PromiseLike<Reply>
  /** Puts a question to the client. */
  ask(question: InputRequest, options: AskOptions): Promise<ResultObject>
  /** Does work that must not be done again when the handler runs anew. */
  once<T>(key: string, work: () => T | Promise<T>): Promise<T>
  /** For handlers that return `inputRequired` by hand: what came back for it. */
  readonly inputResponses: InputResponses
  readonly requestState: unknown
}

/** How one era answers. Two of them exist; nothing outside asks which. */
export interface ServerEra {
  /** Methods only this era has: initialize, ping ... or server/discover, subscriptions/listen. */
  readonly methods: ReadonlyMap<string, EraMethod>
  /** Who is calling? Throws the error answer when that cannot be told. */
  identify(exchange: Exchange): Caller
  converse(call: Call, caller: Caller): Conversation
  /** Gives a final result the form that the caller knows, and signs it. */
  complete(method: string, caller: Caller, result: ResultObject): Reply
  /** Whether HTTP headers repeat what requests say, and must agree with it. */
  readonly mirrors: boolean
  /** The error as this era knows it. */
  toError(error: ProtocolError, exchange: Exchange): RpcErrorBody
  notified(notification: RpcNotification, link: Link): void
  /** The link will end: answer what would stay open for ever. */
  drain(link: Link): void
  closed(link: Link): void
}
