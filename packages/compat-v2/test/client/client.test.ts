import { InMemoryTransport as TenonTransport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Client, isInputRequiredResult, ProtocolError, SdkError, SdkErrorCode } from '../../src/client/index.ts'
import type { Transport } from '../../src/core/transport.ts'

function createServer(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const outputSchema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] } as const
  server.registerTool('total', { outputSchema }, () => ({ content: [], structuredContent: { total: 3 } }))
  server.registerTool('greet', { description: 'Greets the user' }, async (_args, ctx) => {
    const answer = await ctx.elicit('Your name?', { type: 'object', properties: { name: { type: 'string' } } })
    return answer.action === 'accept' ? `Hello ${answer.content.name}` : 'Nobody'
  })
  return server
}

async function connect(client: Client): Promise<void> {
  const [one, two] = TenonTransport.createLinkedPair()
  await createServer().connect(two)
  await client.connect(one as unknown as Transport)
}

const info = { name: 'test', version: '1.0.0' }
const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } }

describe('Client', () => {
  it('uses initialize unless it is told to negotiate', async () => {
    const client = new Client(info)
    await connect(client)
    expect(client.getProtocolEra()).toBe('legacy')
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    expect(client.getServerVersion()?.name).toBe('shop')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['total', 'greet'])
    await client.close()
  })

  it('negotiates 2026-07-28 and keeps the result of server/discover', async () => {
    const client = new Client(info, { versionNegotiation: { mode: 'auto' } })
    await connect(client)
    expect(client.getProtocolEra()).toBe('modern')
    expect(client.getDiscoverResult()?.supportedVersions).toContain('2026-07-28')
    expect((await client.callTool({ name: 'total', arguments: {} })).structuredContent).toEqual({ total: 3 })
    await client.close()
  })

  it('answers questions in a result of 2026-07-28 with its handlers', async () => {
    const client = new Client(info, { ...pinned, capabilities: { elicitation: {} } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
    await connect(client)
    const result = await client.callTool({ name: 'greet', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello Ada' }])
    await client.close()
  })

  it('returns a request for input to a program that handles it itself', async () => {
    const inputRequired = { autoFulfill: false }
    const client = new Client(info, { ...pinned, inputRequired, capabilities: { elicitation: {} } })
    await connect(client)
    const call = { name: 'greet', arguments: {} }
    await expect(client.callTool(call)).rejects.toMatchObject({ code: SdkErrorCode.UnsupportedResultType })
    const first = await client.callTool(call, { allowInputRequired: true })
    if (!isInputRequiredResult(first)) throw new Error('The server asked nothing')
    const [key = ''] = Object.keys(first.inputRequests ?? {})
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Grace' } } }
    const params = { ...call, inputResponses, requestState: first.requestState }
    const result = await client.request({ method: 'tools/call', params })
    expect(result.content).toEqual([{ type: 'text', text: 'Hello Grace' }])
    await client.close()
  })

  it('rejects with the error classes of the package', async () => {
    const client = new Client(info)
    await expect(client.notification({ method: 'notifications/initialized' })).rejects.toThrow(SdkError)
    await connect(client)
    await expect(client.getPrompt({ name: 'missing' })).rejects.toThrow(ProtocolError)
    expect(() => client.setRequestHandler('roots/list', () => ({ roots: [] }))).toThrow(SdkError)
    await client.close()
  })
})
