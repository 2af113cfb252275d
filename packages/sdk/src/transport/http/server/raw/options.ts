import type { RequestId } from '../../../../jsonrpc/message.ts'

/** Options of `RawHttpTransport`. */
export interface RawHttpOptions {
  /** Generates the id of the session. Undefined: there is no session, and the transport takes a single request. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the id of the new session, before the program gets the `initialize` request. */
  onSessionOpened?: ((sessionId: string) => unknown) | undefined
  /** Called when the client ends the session, before the transport closes. */
  onSessionClosed?: ((sessionId: string) => unknown) | undefined
  /** Responds with plain JSON instead of an event stream. Messages that belong to a request are then not sent. Default false. */
  enableJsonResponse?: boolean | undefined
  /** Stores sent events, so that streams can be resumed. Default: streams end with their connection. */
  eventStore?: RawEventStore | undefined
  /** How long a client waits before it reconnects to a stream that can be resumed. Default: the client decides. */
  retryMs?: number | undefined
  /** How often a comment is sent on open streams, so that proxies do not close them. 0: never. Default 15,000. */
  keepAliveMs?: number | undefined
  /** The largest request body. Default 4 MiB. */
  maxBodyBytes?: number | undefined
  /** Values of the `Host` header that are accepted. Default: any. */
  allowedHosts?: readonly string[] | undefined
  /** Values of the `Origin` header that are accepted. Requests without one always are. Default: any. */
  allowedOrigins?: readonly string[] | undefined
  /** Values of the version header that are accepted in the handshake era. Default: every revision with a handshake. */
  protocolVersions?: readonly string[] | undefined
  /**
   * Whether requests of 2026-07-28 are taken, which need no session. With `false` they are refused like those of any version
   * that is not accepted. `served`: they are taken only if the transport is connected to a server. Default true.
   */
  stateless?: boolean | 'served' | undefined
  /**
   * Whether a transport without sessions takes more than one request. Equal request ids of two clients collide then, so set it
   * only for programs that rely on it. Default false.
   */
  reusable?: boolean | undefined
}

/** Stores the messages of streams as objects, under the method names of the official SDK. */
export interface RawEventStore {
  /** Stores a message and returns the id of its event. An empty object stands for the event that opens a stream. */
  storeEvent(streamId: string, message: object): Promise<string>
  /** Sends the messages of the same stream that were stored after the event. Returns the id of the stream. */
  replayEventsAfter(lastEventId: string, to: { send(eventId: string, message: object): Promise<void> }): Promise<string>
  /** Returns the id of the stream of an event; undefined if the event is unknown. */
  getStreamIdForEventId?(eventId: string): Promise<string | undefined>
}

/** Options of `RawHttpTransport.send`. */
export interface RawSendOptions {
  /** The request whose stream the message goes to. A response goes to the stream of its own request. */
  relatedRequestId?: RequestId | undefined
}
