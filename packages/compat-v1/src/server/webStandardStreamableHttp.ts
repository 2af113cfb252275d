import type { Transport } from '../shared/transport.ts'
import type { JSONRPCMessage, RequestId } from '../types.ts'
import type { AuthInfo } from './auth/types.ts'
import { afterBody, isForOneRequest, RawWebTransport, toRawOptions } from './raw-transport.ts'

export type StreamId = string
export type EventId = string

/** Stores sent events, so that a client can resume a stream after a disconnect. */
export interface EventStore {
  /** Stores a message of a stream and returns the id of its event. */
  storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId>
  /** Returns the stream of an event; undefined if the event is unknown. */
  getStreamIdForEventId?(eventId: EventId): Promise<StreamId | undefined>
  /** Sends the messages of the same stream that were stored after the event. Returns the id of the stream. */
  replayEventsAfter(
    lastEventId: EventId,
    to: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId>
}

/** Options of the Streamable HTTP transports. */
export interface WebStandardStreamableHTTPServerTransportOptions {
  /** Generates the id of the session. Undefined: there is no session, and each request needs a transport of its own. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the id of the new session. */
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Called when the client ended the session. */
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Responds with plain JSON instead of event streams. Default false. */
  enableJsonResponse?: boolean | undefined
  /** Makes streams resumable. */
  eventStore?: EventStore | undefined
  /** Values of the `Host` header that are accepted if `enableDnsRebindingProtection` is set. */
  allowedHosts?: string[] | undefined
  /** Values of the `Origin` header that are accepted if `enableDnsRebindingProtection` is set. */
  allowedOrigins?: string[] | undefined
  /** Whether `allowedHosts` and `allowedOrigins` are checked. Default false. */
  enableDnsRebindingProtection?: boolean | undefined
  /** How long clients wait before they resume a stream, in milliseconds. Default: the client decides. */
  retryInterval?: number | undefined
  /** How often a comment is sent on open streams, in milliseconds. 0: never. Default 15,000. */
  keepAliveMs?: number | undefined
  /** The largest request body, in bytes. Default 4 MiB. */
  maxRequestBodySize?: number | undefined
}

/** What a layer in front of the transport knows about a request. */
export interface HandleRequestOptions {
  /** The parsed body, if it was read already. */
  parsedBody?: unknown
  /** The identity of the caller. */
  authInfo?: AuthInfo | undefined
}

/** A Streamable HTTP transport for web-standard requests: one for each session, or one for each request. */
export class WebStandardStreamableHTTPServerTransport extends RawWebTransport implements Transport {
  private readonly _options: WebStandardStreamableHTTPServerTransportOptions

  constructor(options: WebStandardStreamableHTTPServerTransportOptions = {}) {
    super(toRawOptions(options))
    this._options = options
  }

  /** Handles a request: GET, POST or DELETE. */
  async handleRequest(request: Request, options?: HandleRequestOptions): Promise<Response> {
    const isLast = isForOneRequest(this, options?.parsedBody, this._options)
    const response = await this.handleFetch(request, { auth: options?.authInfo, parsedBody: options?.parsedBody })
    return isLast ? afterBody(response, () => void this.close()) : response
  }

  /** Ends the connection of a request, so that the client resumes it later. */
  closeSSEStream(requestId: RequestId): void {
    this.closeStream(requestId)
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. */
  closeStandaloneSSEStream(): void {
    this.closeStandaloneStream()
  }

  /** Programs set it together with `sessionId`, to continue a session of another process. */
  get _initialized(): boolean {
    return this.isInitialized
  }

  set _initialized(isInitialized: boolean) {
    if (isInitialized) this.resumeSession(this.sessionId)
  }
}
