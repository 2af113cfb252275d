import type { Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcNotification } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { LoggingLevel } from '../protocol/logging.ts'
import type { Revision } from '../protocol/revision.ts'
import type { SubscriptionFilter } from '../protocol/subscriptions.ts'
import type { HttpSendOptions } from '../protocol/transport.ts'

/** How a client describes itself to servers. */
export interface ClientIdentity {
  readonly info: Implementation
  readonly capabilities: ClientCapabilities
}

/** How a server described itself. */
export interface ServerFacts {
  readonly revision: Revision
  readonly info: Implementation | undefined
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
}

/** An active subscription to changes. */
export interface Listening {
  /** The part of the filter that the server accepted. */
  readonly honoured: SubscriptionFilter
  /** Resolves at the end: either side closed it, or the connection was lost. */
  readonly ended: Promise<'closed' | 'lost'>
  close(): Promise<void>
}

/** One request for input in a result. */
export interface KeyedInputRequest {
  /** Chosen by the server. Unique within the result. */
  readonly key: string
  readonly method: string
  readonly params: Params
}

/** Answers what a server asks during one call, instead of the handlers of the client. */
export interface CallInput {
  /** Declared for this call, on revisions where each request declares them. */
  readonly capabilities: ClientCapabilities
  answer(request: KeyedInputRequest, signal: AbortSignal): Promise<ResultObject>
  /** Sends one request of the call, or returns what an earlier run of the same call received for it. Default: sends it. */
  exchange?(send: () => Promise<ResultObject>): Promise<ResultObject>
}

export interface CallOptions extends HttpSendOptions {
  /** The minimum severity of log messages of this call, on revisions where each request states it. Only with `input`. */
  logLevel?: LoggingLevel | undefined
  /** Used instead of the handlers of the client. */
  input?: CallInput | undefined
  /** Whether to send the params as they are, even if the revision has another shape for them. Default false. */
  raw?: boolean | undefined
  /** Whether the result may be a task, or the request is about one. Declared to servers that require it. */
  takesTasks?: boolean | undefined
}

/** How a client uses a link in one era. Created by negotiation. */
export interface ClientEra {
  /** From the last `initialize` or `server/discover`. */
  readonly facts: ServerFacts
  /**
   * Configures the link, once negotiation has chosen this era.
   * @param announces Whether to send the notification that the client is ready, if any. `delivered`: and to wait for its delivery.
   */
  begin(link: Link, announces?: boolean | 'delivered'): Promise<void> | void
  /** Updates `facts`, if they can change while connected. */
  refresh(link: Link): Promise<void>
  call(link: Link, method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject>
  listen(link: Link, filter: SubscriptionFilter): Promise<Listening>
  notified(notification: RpcNotification): void
}
