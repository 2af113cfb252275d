import {
  type EventId,
  type EventStore as EventStoreV1,
  type HandleRequestOptions as HandleRequestOptionsV1,
  type WebStandardStreamableHTTPServerTransportOptions as OptionsV1,
  type StreamId,
  WebStandardStreamableHTTPServerTransport as TransportV1,
} from '@tenon/compat-v1/server/webStandardStreamableHttp.js'
import type { Transport } from '../core/transport.ts'
import type { AuthInfo, JSONRPCMessage, MessageExtraInfo } from '../core/types.ts'

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
export class WebStandardStreamableHTTPServerTransport extends TransportV1 implements Transport {
  declare onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined

  constructor(options: WebStandardStreamableHTTPServerTransportOptions = {}) {
    super(toEarlierOptions(options))
  }

  override handleRequest(request: globalThis.Request, options?: HandleRequestOptions): Promise<Response> {
    return super.handleRequest(request, options as HandleRequestOptionsV1)
  }
}

/** The options as the transports of SDK 1.x take them. */
export function toEarlierOptions(options: WebStandardStreamableHTTPServerTransportOptions): OptionsV1 {
  const { eventStore, supportedProtocolVersions: _, ...rest } = options
  return { ...rest, ...(eventStore && { eventStore: eventStore as EventStoreV1 }) }
}
