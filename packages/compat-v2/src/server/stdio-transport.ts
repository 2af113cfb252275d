import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport as TransportV1 } from '@tenon/compat-v1/server/stdio.js'
import type { Transport } from '../core/transport.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../core/types.ts'

/** Reads messages from the standard input and writes them to the standard output, or any two streams. */
export class StdioServerTransport extends TransportV1 implements Transport {
  declare onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined

  constructor(stdin?: Readable, stdout?: Writable, options?: { maxBufferSize?: number }) {
    super(stdin, stdout, options)
    // A client that closes its end is gone, so that the server can exit.
    this.onend = () => void this.close()
  }
}
