import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Prepared, ResultObject, RpcNotification } from '../jsonrpc/message.ts'
import type { Revision } from '../protocol/revision.ts'
import type {
  CacheHints,
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
} from '../protocol/types.ts'
import type { Changes } from './changes.ts'

/** Who is calling, whatever the era: from the handshake, or from the request itself. */
export interface Caller {
  readonly revision: Revision
  readonly clientInfo: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The least severe log message the caller wants; undefined means none. */
  readonly logLevel: LoggingLevel | undefined
}

/** What an era needs to know of the server that it serves. */
export interface Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  /** The revisions on offer, newest first. */
  readonly revisions: readonly Revision[]
  readonly changes: Changes
  /** How long, and for whom, lists and the answer to discovery may be kept. */
  readonly cacheHints: Required<CacheHints>
  capabilities(): ServerCapabilities
}

export type Outcome = ResultObject | PromiseLike<ResultObject>

/** What goes out: a result, or its text where that is made more cheaply. */
export type Reply = ResultObject | Prepared

/**
 * A method that belongs to the era and not to the server's features; it checks its own params. Undefined: it answers by
 * itself, later.
 */
export type EraMethod = (exchange: Exchange) => Reply | PromiseLike<Reply> | undefined

/** How one era answers. Two of them exist; nothing outside asks which. */
export interface ServerEra {
  /** Methods only this era has: initialize, ping ... or server/discover, subscriptions/listen. */
  readonly methods: ReadonlyMap<string, EraMethod>
  /** Who is calling? Throws the error answer when that cannot be told. */
  identify(exchange: Exchange): Caller
  /** Runs the request and gives its result the form that the caller's revision knows. */
  serve(exchange: Exchange, caller: Caller, run: () => Outcome): Reply | PromiseLike<Reply>
  /** Whether HTTP headers repeat what requests say, and must agree with it. */
  readonly mirrors: boolean
  /** The number under which this era knows an error. */
  toErrorCode(code: number): number
  notified(notification: RpcNotification, link: Link): void
  /** The link will end: answer what would stay open for ever. */
  drain(link: Link): void
  closed(link: Link): void
}
