import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Transport } from '../core/transport.ts'
import type { AuthInfo, RequestId } from '../core/types.ts'
import { acceptedVersions, RawTransport, toRawOptions } from '../server/raw-transport.ts'
import type { WebStandardStreamableHTTPServerTransportOptions } from '../server/web-transport.ts'

export type StreamableHTTPServerTransportOptions = WebStandardStreamableHTTPServerTransportOptions

/** A Streamable HTTP transport for `node:http`, Express and the like: one for each session, or one for each request. */
export class NodeStreamableHTTPServerTransport extends RawTransport implements Transport {
  private readonly _tenonVersions: string[]

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    const versions = acceptedVersions(options)
    super(toRawOptions(options, versions))
    this._tenonVersions = versions
  }

  /** Handles a request: GET, POST or DELETE. */
  override async handleRequest(
    req: IncomingMessage & { auth?: AuthInfo },
    res: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> {
    await super.handleRequest(req, res, parsedBody)
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
