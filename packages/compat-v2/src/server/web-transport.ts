import type {
  EventId,
  WebStandardStreamableHTTPServerTransportOptions as OptionsV1,
  StreamId,
} from '@tenon/compat-v1/server/webStandardStreamableHttp.js'
import type { Transport } from '../core/transport.ts'
import type { AuthInfo, JSONRPCMessage, RequestId } from '../core/types.ts'
import { acceptedVersions, RawTransport, toRawOptions } from './raw-transport.ts'

export type { EventId, StreamId }

/** Stores sent events, so that a client can resume a stream after a disconnect. */
export interface EventStore {
  storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId>
  getStreamIdForEventId?(eventId: EventId): Promise<StreamId | undefined>
  replayEventsAfter(
    lastEventId: EventId,
    to: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId>
}

export interface WebStandardStreamableHTTPServerTransportOptions extends Omit<OptionsV1, 'eventStore'> {
  eventStore?: EventStore
  /** The revisions that are accepted in the version header. Set by the server that is connected. */
  supportedProtocolVersions?: string[]
}

export interface HandleRequestOptions {
  parsedBody?: unknown
  authInfo?: AuthInfo
}

/** A Streamable HTTP transport for web-standard requests: one for each session, or one for each request. */
export class WebStandardStreamableHTTPServerTransport extends RawTransport implements Transport {
  private readonly _tenonVersions: string[]

  constructor(options: WebStandardStreamableHTTPServerTransportOptions = {}) {
    const versions = acceptedVersions(options)
    super(toRawOptions(options, versions))
    this._tenonVersions = versions
  }

  /** Handles a request: GET, POST or DELETE. */
  override handleRequest(request: globalThis.Request, options?: HandleRequestOptions): Promise<Response> {
    return this.handleFetch(request, { auth: options?.authInfo, parsedBody: options?.parsedBody })
  }

  /** Ends the connection of a request, so that the client resumes it later. */
  closeSSEStream(requestId: RequestId): void {
    this.closeStream(requestId)
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. */
  closeStandaloneSSEStream(): void {
    this.closeStandaloneStream()
  }

  /** Called by the server: requests that name another revision are refused. */
  setSupportedProtocolVersions(versions: string[]): void {
    this._tenonVersions.splice(0, Number.POSITIVE_INFINITY, ...versions)
  }
}
