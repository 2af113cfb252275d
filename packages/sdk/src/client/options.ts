import type { NegotiationOrder } from '../era/negotiate.ts'
import type { PingOptions } from '../jsonrpc/heartbeat.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import type { LoggingLevel } from '../protocol/logging.ts'
import type { RevisionId } from '../protocol/revision.ts'
import type { TraceListener } from '../protocol/trace.ts'
import type { JsonSchemaCompiler } from '../schema/json-schema.ts'
import type { TaskIdStore } from '../store/ports.ts'
import type { ServerDescription } from './client.ts'
import type { ClientHandlers } from './input/handlers.ts'

/** Options of a `Client`. */
export interface ClientOptions {
  /** Handlers for elicitation, sampling and roots. The client declares the capabilities that they provide. */
  handlers?: ClientHandlers | undefined
  /** Capabilities to declare in addition to those of the handlers. */
  capabilities?: ClientCapabilities | undefined
  /** The only revision to use. Default: the newest that both sides support. */
  revision?: RevisionId | undefined
  /** The revisions to choose from. Default: all. */
  revisions?: readonly RevisionId[] | undefined
  /**
   * Which request to send first. `discover-first` sends `server/discover`, and `initialize` if the server does not know it.
   * `handshake-first` sends `initialize`, and `server/discover` if the server has no handshake; the revision is then the newest
   * one with a handshake that both sides support. Default `discover-first`.
   */
  negotiation?: NegotiationOrder | undefined
  /** Timeouts for every request. */
  request?: Pick<RequestOptions, 'timeoutMs' | 'maxTotalTimeoutMs' | 'resetTimeoutOnProgress'> | undefined
  /** How long to wait for an answer to `server/discover` before the client also sends `initialize`. Default 2,000. */
  probeTimeoutMs?: number | undefined
  /** How long the server may take to start and answer. Default 60,000, because a command may have to install it. */
  connectTimeoutMs?: number | undefined
  /**
   * Caches results until the TTL that the server sets expires. Private results are cached per user, that is per set of
   * request headers. With a custom `fetch` or cookies the client cannot see the user, so private results are cached only if
   * you pass `true`, which states that this client always acts for one user. Default: cache.
   */
  cache?: boolean | undefined
  /**
   * Trusts the annotations of the server's tools: calls of tools with `readOnlyHint` or `idempotentHint` are repeated when the
   * connection breaks before the result arrives. Default false.
   */
  trusted?: boolean | undefined
  /**
   * Pings the server periodically. Each failed ping emits an `error` event; after `maxFailures` in a row the connection is
   * reset. On 2026-07-28, which has no `ping`, the client sends `server/discover`. Default: over HTTP every 60,000 ms while the
   * stream of the server's messages is open and quiet, on revisions that have `ping`; a server that never answered a ping is
   * left alone. No pings on other transports. `false`: no pings.
   */
  ping?: PingOptions | false | undefined
  /** How often per minute a server process that exited is restarted. Default 3; 0 means never. */
  restarts?: number | undefined
  /**
   * Whether the client recovers from failures by itself: starts a process or session again that was lost, and repeats calls
   * that are safe to repeat. With `false`, a lost connection closes the client. Default true.
   */
  recover?: boolean | undefined
  /**
   * Passes messages through as they are, for programs that check messages themselves, such as compatibility layers. Params
   * and results are neither checked nor adapted to the revision, handlers receive requests of the server even before the
   * handshake is complete and do not pause timeouts, `connect` waits until `notifications/initialized` is delivered, `request` returns tasks as they are, and `close` does not wait for
   * handlers. Default false.
   */
  raw?: boolean | undefined
  /**
   * Checks structured results against the output schemas of tools with another validator. The schemas come from the server, so
   * the validator should bound the work of a check. Default: `compileJsonSchema`, with limits.
   */
  compileJsonSchema?: JsonSchemaCompiler | undefined
  /** How often a server may request input during one call. Default 32. */
  maxRounds?: number | undefined
  /**
   * The minimum severity of log messages to request on 2026-07-28, where servers send none unless requested. Default: `info`
   * while there is a listener for the `log` event or a handler for `notifications/message`.
   */
  logLevel?: LoggingLevel | undefined
  /**
   * Whether calls may become tasks. `true` lets servers of 2026-07-28 run any `callTool` as a task, which the client waits
   * for. By default only `callToolAsTask` and `resumeTask` use this extension. On 2025-11-25, tools that require a task are
   * called as one either way. `false`: no call becomes a task.
   */
  tasks?: boolean | undefined
  /**
   * Stores the ids of open tasks, so that `resumeTasks()` finds them after a restart: `sqliteStore(path).taskIds(url)`.
   * Default: the ids are not stored.
   */
  taskIds?: TaskIdStore | undefined
  /**
   * Observes the wire: called with every message, HTTP request and response, and text on the stderr of a server process, in
   * order. The events contain secrets; `redactTraceEvent` of `tenon/host` removes them.
   */
  trace?: TraceListener | undefined
}

/** Options of `Client.connect`. */
export interface ClientConnectOptions {
  /**
   * What is known about the server from an earlier connection: its `client.server`. Nothing is negotiated then. To continue a
   * session over HTTP, also pass its `sessionId` to the transport.
   */
  server?: ServerDescription | undefined
  /** Stops connecting. It has no effect on a connection that is open. */
  signal?: AbortSignal | undefined
  /** With `false`, the program sends `notifications/initialized` itself, on revisions that have it. Default true. */
  sendInitialized?: boolean | undefined
}

/** Options of `Client.request`. */
export interface ClientRequestOptions extends RequestOptions {
  /**
   * What to do with a result that asks for input (2026-07-28). `answer` calls the handlers of the client and repeats the request
   * until the result is final. `return` returns the `input_required` result; repeat the request with `inputResponses` and
   * `requestState` in its params. Default `answer`.
   */
  inputRequired?: 'answer' | 'return' | undefined
  /**
   * Continues an interrupted request instead of sending it: the server sends the events after this one again (Streamable HTTP up to
   * 2025-11-25). Pass the last value that `onresumptiontoken` received.
   */
  resumptionToken?: string | undefined
  /** Called with the id of each event on the stream of the request. Store the last one to continue the request later. */
  onresumptiontoken?: ((token: string) => void) | undefined
}
