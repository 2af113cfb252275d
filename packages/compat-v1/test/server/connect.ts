import { revisionIds } from 'tenon'
import { type Client, type ConnectOptions, connect, InMemoryTransport } from 'tenon/client'
import type { Server } from '../../src/server/index.ts'
import type { McpServer } from '../../src/server/mcp.ts'
import type { Transport } from '../../src/shared/transport.ts'

export { revisionIds }

/** Connects a Tenon client of one revision to a server that was written for SDK 1.x. */
export async function connectTo(
  server: McpServer | Server,
  revision: (typeof revisionIds)[number],
  options: Omit<ConnectOptions, 'revision'> = {},
): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs as unknown as Transport)
  return connect(ours, { ...options, revision })
}
