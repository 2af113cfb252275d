import type { CloseDetail } from '../errors.ts'
import type { Params, ReceivedKind, RpcNotification, RpcResponse } from '../jsonrpc/message.ts'
import type { ReplyStream } from '../jsonrpc/transport.ts'
import type { HeaderReader } from './mirrored-headers.ts'
import type { ServerTransport } from './transport.ts'

/** The server, as a transport with many peers uses it. */
export interface Endpoint {
  /** The revisions that the server supports, newest first. */
  readonly revisions: readonly RevisionFacts[]
  /** Adds a peer. The transport passes its messages to the returned link. */
  attach(transport: ServerTransport): PeerLink
  /** The revision that `initialize` negotiated; undefined before. */
  revisionOf(link: PeerLink): RevisionFacts | undefined
  /** Whether only revisions with a handshake are served at the moment. */
  handshakeOnly?(): boolean
  /** Returns the problem with headers that repeat arguments of a tool call, if there is one. */
  headersProblem?(method: string, params: Params, headers: HeaderReader, required: boolean): string | undefined
  /**
   * A client can be reached with messages that belong to no request, or, without `hangUp`, no longer.
   * @param hangUp Ends the connections on which the client listens.
   */
  listening?(link: PeerLink, hangUp: (() => void) | undefined): void
  reportError(error: unknown): void
  /** Keeps the server running for peers to come. Returns a function that releases it. */
  hold(): () => Promise<void>
  /**
   * Returns a function from the saved state of a session before this message to the state after it, as JSON, so that another
   * process can take the session over. A function, because other processes change the session too. Undefined before `initialize`,
   * and if the message did not change the session.
   */
  saveSession(link: PeerLink, message: unknown): ((before: unknown) => unknown) | undefined
  /**
   * Begins the changes of a message that is about to be handled: `restoreSession` keeps them until the returned function is
   * called.
   */
  beginChange(link: PeerLink, message: unknown): () => void
  /**
   * Continues a session with a saved state, unless the session has a newer one.
   * @param recent The latest changes. If the session was not subscribed here to one of the resources, it is notified now.
   */
  restoreSession(link: PeerLink, state: unknown, recent?: readonly object[]): void
  /** Notifies one session of a change; undefined: of everything that may have changed. */
  tellSession(link: PeerLink, change: object | undefined): void
  /** Changes that sessions and listeners are notified of. A bus carries them to other processes. */
  readonly changes: {
    /** `isOwn` is true for a change that concerns callers of this process only. Other processes find out by themselves. */
    on(listener: (change: object, isOwn: boolean) => void): () => void
    tell(change: object): void
  }
}

/** One peer, as a transport with many peers uses it. `Link` implements it. */
export interface PeerLink {
  batching: boolean
  omitsUnknownId: boolean
  /** The id of our first request to this peer. */
  firstId: number
  /** Classifies a message, or an array that may be a batch. */
  classify(value: unknown): ReceivedKind
  /**
   * Takes one message, or an array that may be a batch.
   * @param kind The kind of the message, if it was classified already.
   */
  receive(value: unknown, stream?: ReplyStream, kind?: ReceivedKind): void
  /** Whether a message responds to a request of this process, or is about a request that this process handles. */
  concerns(message: RpcNotification | RpcResponse): boolean
  close(graceMs?: number): Promise<void>
  ended(detail?: CloseDetail): void
}

/** The facts of a revision that transports need. */
export interface RevisionFacts {
  readonly id: string
  readonly era: 'handshake' | 'stateless'
  readonly batching: boolean
  readonly omitsUnknownId: boolean
  /** Whether a stream begins with an event that has only an id, so that it can be resumed from the start. */
  readonly primesStreams: boolean
}
