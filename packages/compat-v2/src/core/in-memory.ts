import { InMemoryTransport as TransportV1 } from '@tenon/compat-v1/inMemory.js'
import type { Transport } from './transport.ts'
import type { AuthInfo, JSONRPCMessage, RequestId } from './types.ts'

/** Connects a client and a server in one process. */
export interface InMemoryTransport extends Transport {
  sessionId?: string
  send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId; authInfo?: AuthInfo }): Promise<void>
}

export const InMemoryTransport: {
  new (): InMemoryTransport
  /** Creates the two ends of a connection. */
  createLinkedPair(): [InMemoryTransport, InMemoryTransport]
} = TransportV1 as never
