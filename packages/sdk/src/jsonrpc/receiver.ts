import type { CloseDetail } from '../errors.ts'
import type { Exchange } from './exchange.ts'
import type { Link } from './link.ts'
import type { RequestId, RpcErrorBody, RpcNotification, RpcRequest, RpcResponse } from './message.ts'
import type { ReplyStream } from './transport.ts'

/** The side that handles what a link receives: a server, or a client for requests of servers. */
export interface Receiver {
  readonly methods: ControlMethods
  request(exchange: Exchange): void
  /** @param stream What the transport knows of the HTTP request that carried the notification. */
  notification(notification: RpcNotification, link: Link, stream?: ReplyStream): void
  /** A response belongs to no request that is waiting. Default: errors are reported, and results cause a warning. */
  unmatched?(response: RpcResponse, link: Link): void
  /** The link is about to close: end what would otherwise stay open. */
  drain?(link: Link): void
  closed?(link: Link, detail: CloseDetail | undefined): void
  /** Says how a connection ended, to be appended to error messages. Default: the reason in brackets. */
  describeClose?(detail: CloseDetail): string
  /** Messages that belong to no request may have been lost. */
  gap?(): void
  /** A request was cancelled before it was answered. */
  cancelled?(cancellation: Cancellation): void
  /** A result cannot be written as JSON. Returns the error to respond with instead. */
  unsendable?(request: RpcRequest, result: unknown, error: unknown): RpcErrorBody
  /** Reports an error on our side that is not sent to the peer. */
  error(error: unknown): void
}

/** The methods that a link itself acts on. Their names belong to the protocol above JSON-RPC. */
export interface ControlMethods {
  /** Opens the connection: it is never cancelled and never part of a batch. */
  readonly handshake: string
  readonly cancelled: string
  readonly progress: string
}

/** A request that one of the two sides cancelled. */
export interface Cancellation {
  readonly method: string
  readonly id: RequestId
  /** The reason that the cancelling side gave, at most 1,000 characters. Text from a peer is untrusted. */
  readonly reason: string
  /** `local`: we cancelled our own request. `remote`: the peer cancelled its own request. */
  readonly by: 'local' | 'remote'
}

/** Limits for what one peer may send. */
export interface LinkLimits {
  /** Requests of one peer that run at the same time. Default 10,000. */
  maxInFlight?: number | undefined
  /** Messages in one batch. Default 100. */
  maxBatch?: number | undefined
}
