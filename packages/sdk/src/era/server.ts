import type { ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcErrorBody, RpcNotification, RpcRequest } from '../jsonrpc/message.ts'
import type { CacheHints } from '../protocol/caching.ts'
import type { Caller } from '../protocol/caller.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import { metaKeys } from '../protocol/meta.ts'
import { checkParams } from '../protocol/params.ts'
import type { EraName, Revision } from '../protocol/revision.ts'
import type { Conversation, Reply } from '../replay/conversation.ts'
import type { ReplayBackend } from '../replay/replaying-conversation.ts'
import type { StateLimits } from '../replay/sealed-states.ts'
import { isObject } from '../util/objects.ts'
import type { Sealer } from '../util/sealer.ts'
import type { Call } from './call.ts'
import type { Changes } from './changes.ts'
import type { QuestionTaskChange } from './handshake/client-task.ts'
import type { SubscribedUris } from './subscribed-uris.ts'

/** The server, as far as an era needs to know it. */
export interface Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  /** The revisions that the server offers, newest first. */
  readonly revisions: readonly Revision[]
  readonly changes: Changes
  /** The resources that clients subscribed to, on every revision. */
  readonly subscribedUris: SubscribedUris
  /** Returns the resources that the caller of `subscriptions/listen` may follow. Undefined: all of them. */
  acceptUris: ((uris: readonly string[], exchange: Exchange, caller: Caller) => Promise<string[]>) | undefined
  /** Returns the cache hints for the results of a method. */
  cacheHintsOf(method: string): Required<CacheHints>
  /** Whether requests before `initialize` are answered, and `initialize` may be repeated. */
  readonly isLenient: boolean
  capabilities(): ServerCapabilities
  /** Encrypts the state that clients carry. */
  readonly sealer: Sealer
  readonly questions: QuestionLimits
  /** Undefined if the server has no tasks. */
  tasks: TaskFeed | undefined
  /** The scopes that a caller needs to read a resource; undefined if it needs none. */
  requiredScopesOf(uri: string): readonly string[] | undefined
  /** Whether a tool call can be repeated without a second effect, by the params of `tools/call`. */
  isRepeatable(params: Params): boolean
}

/** Notifies clients about tasks (tasks extension, notifications). */
export interface TaskFeed {
  /** Returns the ids that the caller may follow. Throws if the caller did not declare tasks. */
  accept(ids: readonly string[], exchange: Exchange, caller: Caller): Promise<string[]>
  /**
   * Calls `notify` with each task now and after every change.
   * @returns A function that stops it.
   */
  follow(ids: readonly string[], exchange: Exchange, caller: Caller, notify: (task: ResultObject) => void): () => void
}

/** Limits on the questions that a handler asks the client. */
export interface QuestionLimits extends StateLimits {
  /** How long the client may take to answer an elicitation or a sampling request. */
  readonly timeoutMs: number
  readonly onTask: ((change: QuestionTaskChange) => void) | undefined
  /** Receives errors of listeners. */
  reportError(error: unknown): void
}

/** A method of the era itself. It checks its own params. If it returns undefined, it replies later through the exchange. */
export type EraMethod = (exchange: Exchange) => Reply | PromiseLike<Reply> | undefined

/** How a server answers in one era. Code outside `era/` does not ask which one it is. */
export interface ServerEra {
  /** Methods that only this era has: `initialize`, `ping` ... or `server/discover`, `subscriptions/listen`. */
  readonly methods: ReadonlyMap<string, EraMethod>
  /** Returns the caller of a request. Throws the error response if it cannot be determined. */
  identify(exchange: Exchange): Caller
  converse(call: Call, caller: Caller): Conversation
  /** For eras whose conversations run handlers again: what those conversations share. */
  readonly replay: ReplayBackend<Call> | undefined
  /** Converts a final result to the caller's revision and adds what every result has. */
  complete(method: string, caller: Caller, result: ResultObject): Reply
  /** Converts an error to one that this era has. */
  toError(error: ProtocolError, exchange: Exchange): RpcErrorBody
  /** Applies a result of `initialize` that a handler of the program returned. */
  adopt?(link: Link, result: ResultObject): void
  notified(notification: RpcNotification, link: Link): void
  /** The link is about to close: answers requests that would stay open otherwise. */
  drain(link: Link): void
  closed(link: Link): void
}

/** Adds a check of the params to each method. */
export function withCheckedParams(methods: Record<string, EraMethod>): Map<string, EraMethod> {
  return new Map(
    Object.entries(methods).map(([name, method]): [string, EraMethod] => [
      name,
      (exchange) => {
        checkParams(name, exchange.request.params)
        return method(exchange)
      },
    ]),
  )
}

/**
 * The era of a request. A request that describes its caller in `_meta` is stateless, whatever came before it on the link.
 * @param known Set on HTTP, where headers take part in the decision.
 */
export function eraOf(request: RpcRequest, known?: EraName): EraName {
  if (known) return known
  // Only the handshake era has this method, whatever `_meta` contains.
  if (request.method === 'initialize') return 'handshake'
  const meta = request.params?._meta
  if (!isObject(meta)) return 'handshake'
  const describesCaller =
    meta[metaKeys.protocolVersion] !== undefined || meta[metaKeys.clientCapabilities] !== undefined
  return describesCaller ? 'stateless' : 'handshake'
}
