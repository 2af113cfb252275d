import { describe, expect, it } from 'vitest'
import * as z from 'zod/v4'
import { McpServer, Server } from '../../src/server/index.ts'
import { RawClient } from './kit.ts'

/** The official packages have one set of rules for all revisions with a handshake. */
describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('a client of %s', (protocolVersion) => {
  const open = async (server: McpServer | Server) => {
    const client = await RawClient.connectTo(server)
    const clientInfo = { name: 'tester', version: '1.0.0' }
    await client.request(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo })
    return client
  }

  it('gets output schemas that are not of an object in an object, with their dialect', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    const returned = { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], structuredContent: [1] }
    server.registerTool('list', { title: 'List', outputSchema: z.array(z.number()) }, () => returned as never)
    const client = await open(server)
    const $schema = 'https://json-schema.org/draft/2020-12/schema'
    const { result } = await client.request(1, 'tools/list')
    expect((result as unknown as { tools: unknown[] }).tools[0]).toMatchObject({
      title: 'List',
      outputSchema: {
        $schema,
        type: 'object',
        properties: { result: { $schema, type: 'array', items: { type: 'number' } } },
        required: ['result'],
      },
    })
    const called = await client.request(2, 'tools/call', { name: 'list' })
    expect(called.result).toMatchObject({
      content: [{ type: 'audio' }, { text: '[1]' }],
      structuredContent: { result: [1] },
    })
  })

  it('gets what a handler of tools/list returned, also what only later revisions have', async () => {
    const server = new Server({ name: 'demo', version: '1.0.0' }, { capabilities: { tools: {} } })
    const listed = { tools: [], ttlMs: 5, cacheScope: 'public' as const }
    server.setRequestHandler('tools/list', () => listed)
    const client = await open(server)
    expect((await client.request(1, 'tools/list')).result).toEqual(listed)
  })
})
