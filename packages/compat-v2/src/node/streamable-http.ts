import { StreamableHTTPServerTransport as TransportV1 } from '@tenon/compat-v1/server/streamableHttp.js'
import type { Transport } from '../core/transport.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../core/types.ts'
import { toEarlierOptions, type WebStandardStreamableHTTPServerTransportOptions } from '../server/web-transport.ts'

export type StreamableHTTPServerTransportOptions = WebStandardStreamableHTTPServerTransportOptions

/** A Streamable HTTP transport for `node:http`, Express and the like: one for each session, or one for each request. */
export class NodeStreamableHTTPServerTransport extends TransportV1 implements Transport {
  declare onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super(toEarlierOptions(options))
  }
}
