import type { Link, SendOptions } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcNotification } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { Revision } from '../protocol/revision.ts'
import type { SubscriptionFilter } from '../protocol/subscriptions.ts'

/** What a client says of itself. */
export interface ClientIdentity {
  readonly info: Implementation
  readonly capabilities: ClientCapabilities
}

/** What a server says of itself. */
export interface ServerFacts {
  readonly revision: Revision
  readonly info: Implementation | undefined
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
}

/** An open wish to hear of changes. */
export interface Listening {
  /** What the server will tell, which may be less than was asked for. */
  readonly honoured: SubscriptionFilter
  /** Settles when it is over: by one of the two sides, or because the connection was lost. */
  readonly ended: Promise<'closed' | 'lost'>
  close(): Promise<void>
}

export interface CallOptions extends SendOptions {
  /** Whether the answer may be a task, or the request is about one; said to the server where its revision wants that. */
  takesTasks?: boolean | undefined
}

/** How one era speaks to a server. Made by negotiation, for one link. */
export interface ClientEra {
  /** What the server said last. */
  readonly facts: ServerFacts
  /** Whether the server may ask us; where not, its requests are ignored. */
  readonly answersRequests: boolean
  /** It was chosen: from now on the link is used this way. */
  begin(link: Link): void
  /** Asks the server again what it offers, where that may change while connected. */
  refresh(link: Link): Promise<void>
  call(link: Link, method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject>
  listen(link: Link, filter: SubscriptionFilter): Promise<Listening>
  notified(notification: RpcNotification): void
}
