import type { CloseDetail } from '../errors.ts'
import type { ReceivedKind, RpcNotification, RpcResponse } from '../jsonrpc/message.ts'
import type { ReplyStream } from '../jsonrpc/transport.ts'
import type { ServerTransport } from './transport.ts'

/** What a transport that carries many peers needs from the server behind it. */
export interface Endpoint {
  /** The revisions on offer, newest first. */
  readonly revisions: readonly RevisionFacts[]
  /** One more peer, from now on; the transport hands its messages to the link. */
  attach(transport: ServerTransport): PeerLink
  /** What `initialize` agreed on; undefined before. */
  revisionOf(link: PeerLink): RevisionFacts | undefined
  reportError(error: unknown): void
  /** Peers can come from now on. Gives the way to say that none will come any more. */
  hold(): () => Promise<void>
  /**
   * What a session has settled, as JSON, so that another process can take it over; undefined before `initialize`. Gives the
   * way from the saved state before the message to the one after it, because other processes change the session too.
   */
  saveSession(link: PeerLink, message: unknown): ((before: unknown) => unknown) | undefined
  restoreSession(link: PeerLink, state: unknown): void
  /** Tells one session of a change; without one, of everything that may have changed. */
  tellSession(link: PeerLink, change: object | undefined): void
  /** Changes that sessions and listeners hear of, here and, by a bus, in other processes. */
  readonly changes: {
    on(listener: (change: object) => void): () => void
    tell(change: object): void
  }
}

/** One peer, as a transport that carries many sees it. `Link` is the usual one. */
export interface PeerLink {
  batching: boolean
  omitsUnknownId: boolean
  /** What requests to this peer are numbered from. */
  firstId: number
  /** Classifies a message, or an array that may be a batch. */
  classify(value: unknown): ReceivedKind
  /**
   * Takes one message, or an array that may be a batch.
   * @param kind Of the message, where it is known already.
   */
  receive(value: unknown, stream?: ReplyStream, kind?: ReceivedKind): void
  /** Whether the message is for something that this process asked, or is doing for the peer. */
  concerns(message: RpcNotification | RpcResponse): boolean
  close(graceMs?: number): Promise<void>
  ended(detail?: CloseDetail): void
}

/** What a transport must know of a revision. */
export interface RevisionFacts {
  readonly id: string
  readonly era: 'handshake' | 'stateless'
  readonly batching: boolean
  readonly omitsUnknownId: boolean
  /** Whether streams begin with an event that has only an id, so that they can be resumed from the start. */
  readonly primesStreams: boolean
}
