import { toRawOptions as toRawOptionsV1 } from '@tenon/compat-v1/server/raw-transport.js'
import { type RawHttpOptions, RawHttpTransport } from 'tenon/server'
import { SUPPORTED_PROTOCOL_VERSIONS } from '../core/constants.ts'
import type { Transport } from '../core/transport.ts'
import type { JSONRPCMessage, RequestId } from '../core/types.ts'
import type { WebStandardStreamableHTTPServerTransportOptions } from './web-transport.ts'

/** The members of Tenon's `RawHttpTransport`, with the message types of this package. */
export interface RawTransport extends Omit<Transport, 'setSupportedProtocolVersions' | 'send'> {
  send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void>
  closeStream(requestId: RequestId): void
  closeStandaloneStream(): void
  handleFetch(request: Request, extras?: { auth?: unknown; parsedBody?: unknown }): Promise<Response>
  handleRequest(request: unknown, response?: unknown, parsedBody?: unknown): Promise<unknown>
}

// Tenon and this package describe the same messages by different types, so the class is seen through the interface above.
export const RawTransport: new (options: RawHttpOptions) => RawTransport = RawHttpTransport as never

/** Translates the options of the transports of this package. `versions` is read at each request. */
export function toRawOptions(
  options: WebStandardStreamableHTTPServerTransportOptions,
  versions: readonly string[],
): RawHttpOptions {
  return {
    ...toRawOptionsV1(options as Parameters<typeof toRawOptionsV1>[0]),
    protocolVersions: versions,
    // A server that a program connects itself serves the revisions with `initialize`. Entry points serve the others.
    stateless: false,
    reusable: true,
  }
}

/** The revisions that a transport accepts until its server says which it supports. */
export function acceptedVersions({ supportedProtocolVersions }: WebStandardStreamableHTTPServerTransportOptions) {
  return [...(supportedProtocolVersions ?? SUPPORTED_PROTOCOL_VERSIONS)]
}
