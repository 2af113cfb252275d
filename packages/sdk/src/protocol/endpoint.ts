import type { CloseDetail } from '../errors.ts'
import type { ReceivedKind, RpcNotification, RpcResponse } from '../jsonrpc/message.ts'
import type { ReplyStream } from '../jsonrpc/transport.ts'
import type { ServerTransport } from './transport.ts'

/** The server, as a transport with many peers uses it. */
export interface Endpoint {
  /** The revisions that the server supports, newest first. */
  readonly revisions: readonly RevisionFacts[]
  /** Adds a peer. The transport passes its messages to the returned link. */
  attach(transport: ServerTransport): PeerLink
  /** The revision that `initialize` negotiated; undefined before. */
  revisionOf(link: PeerLink): RevisionFacts | undefined
  reportError(error: unknown): void
  /** Keeps the server running for peers to come. Returns a function that releases it. */
  hold(): () => Promise<void>
  /**
   * Returns a function from the saved state of a session before this message to the state after it, as JSON, so that another
   * process can take the session over. A function, because other processes change the session too. Undefined before `initialize`.
   */
  saveSession(link: PeerLink, message: unknown): ((before: unknown) => unknown) | undefined
  restoreSession(link: PeerLink, state: unknown): void
  /** Notifies one session of a change; undefined: of everything that may have changed. */
  tellSession(link: PeerLink, change: object | undefined): void
  /** Changes that sessions and listeners are notified of. A bus carries them to other processes. */
  readonly changes: {
    on(listener: (change: object) => void): () => void
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
