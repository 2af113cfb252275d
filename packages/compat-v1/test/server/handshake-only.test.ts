import { connect, InMemoryTransport } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { McpServer } from '../../src/server/mcp.ts'
import type { Transport } from '../../src/shared/transport.ts'
import { InitializeRequestSchema } from '../../src/types.ts'

function createServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('hi', {}, async () => ({ content: [{ type: 'text', text: 'hi' }] }))
  return server
}

describe('a client of any revision and a program of SDK 1.x that relies on initialize', () => {
  it('falls back to initialize if the program answers it itself, and gets its refusal [SDK-030]', async () => {
    const connectAs = async (name: string) => {
      const server = createServer()
      server.server.setRequestHandler(InitializeRequestSchema, ({ params }) => {
        if (params.clientInfo.name !== 'licensed') throw new Error('No licence')
        const { protocolVersion } = params
        return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'demo', version: '1.0.0' } }
      })
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      await server.connect(theirs as unknown as Transport)
      return connect(ours, { info: { name, version: '1.0.0' } })
    }
    await using client = await connectAs('licensed')
    expect(client.revision).toBe('2025-11-25')
    expect((await client.callTool('hi', {})).text).toBe('hi')
    await expect(connectAs('other')).rejects.toThrow('No licence')
  })

  it('falls back to initialize if the transport has a session [SDK-030]', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await createServer().connect(Object.assign(theirs, { sessionId: 'one' }) as unknown as Transport)
    await using client = await connect(ours)
    expect(client.revision).toBe('2025-11-25')
    expect((await client.callTool('hi', {})).text).toBe('hi')
  })

  it('speaks 2026-07-28 to a program that has neither', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await createServer().connect(theirs as unknown as Transport)
    await using client = await connect(ours)
    expect(client.revision).toBe('2026-07-28')
  })
})
