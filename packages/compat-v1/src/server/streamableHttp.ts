import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Transport } from '../shared/transport.ts'
import type { RequestId } from '../types.ts'
import type { AuthInfo } from './auth/types.ts'
import { isForOneRequest, RawNodeTransport, toRawOptions } from './raw-transport.ts'
import type {
  EventId,
  EventStore,
  StreamId,
  WebStandardStreamableHTTPServerTransportOptions,
} from './webStandardStreamableHttp.ts'

export type { EventId, EventStore, StreamId }

/** Options of `StreamableHTTPServerTransport`. */
export type StreamableHTTPServerTransportOptions = WebStandardStreamableHTTPServerTransportOptions

/** A Streamable HTTP transport for `node:http`, Express and the like: one for each session, or one for each request. */
export class StreamableHTTPServerTransport extends RawNodeTransport implements Transport {
  private readonly _options: StreamableHTTPServerTransportOptions

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super(toRawOptions(options))
    this._options = options
  }

  /** Handles a request: GET, POST or DELETE. Resolves when the response was sent or the client is gone. */
  override handleRequest(
    request: IncomingMessage & { auth?: AuthInfo },
    response: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> {
    const isLast = isForOneRequest(this, parsedBody, this._options)
    const handled = super.handleRequest(request, response, parsedBody)
    return isLast ? handled.finally(() => this.close()) : handled
  }

  /** Ends the connection of a request, so that the client resumes it later. */
  closeSSEStream(requestId: RequestId): void {
    this.closeStream(requestId)
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. */
  closeStandaloneSSEStream(): void {
    this.closeStandaloneStream()
  }

  /** Programs set `sessionId` and `_initialized` here, to continue a session of another process. */
  get _webStandardTransport(): this {
    return this
  }

  get _initialized(): boolean {
    return this.isInitialized
  }

  set _initialized(isInitialized: boolean) {
    if (isInitialized) this.resumeSession(this.sessionId)
  }
}
