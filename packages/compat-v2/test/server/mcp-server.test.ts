import { describe, expect, it } from 'vitest'
import * as z from 'zod/v4'
import { inputRequired, McpServer, ProtocolError, ResourceTemplate, Server } from '../../src/server/index.ts'
import { RawClient } from './kit.ts'

describe('McpServer of the 2.x packages', () => {
  it('calls a tool with validated arguments, and one without input with the context only', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }, ctx) => ({
      content: [{ type: 'text', text: `${a + b} for ${ctx.mcpReq.method}` }],
    }))
    server.registerTool('who', {}, (ctx) => ({ content: [{ type: 'text', text: String(ctx.mcpReq.id) }] }))
    const client = await RawClient.connectTo(server)
    await client.initialize()
    const added = await client.request(1, 'tools/call', { name: 'add', arguments: { a: 1, b: 2 } })
    expect(added.result).toEqual({ content: [{ type: 'text', text: '3 for tools/call' }] })
    const who = await client.request(2, 'tools/call', { name: 'who' })
    expect(who.result).toEqual({ content: [{ type: 'text', text: '2' }] })
  })

  it('answers bad arguments with a result that the model can read, and an unknown tool with an error', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('add', { inputSchema: z.object({ a: z.number() }) }, () => ({ content: [] }))
    const client = await RawClient.connectTo(server)
    await client.initialize()
    const bad = await client.request(1, 'tools/call', { name: 'add', arguments: { a: 'x' } })
    expect(bad.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('for tool add: a:') }],
    })
    const unknown = await client.request(2, 'tools/call', { name: 'missing' })
    expect(unknown.error).toEqual({ code: -32602, message: 'Tool missing not found' })
  })

  it('lists schemas as JSON Schema, and accepts a shape in place of a schema', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('shape', { inputSchema: { a: z.number() } }, ({ a }) => ({
      content: [{ type: 'text', text: String(a) }],
    }))
    const client = await RawClient.connectTo(server)
    await client.initialize()
    const { result } = await client.request(1, 'tools/list')
    expect(result).toMatchObject({
      tools: [{ inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } }],
    })
  })

  it('finds resources by their template and reports missing ones with their URI', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    const template = new ResourceTemplate('note://{id}', { list: undefined })
    server.registerResource('note', template, {}, (uri, { id }) => ({
      contents: [{ uri: uri.href, text: `note ${id}` }],
    }))
    const client = await RawClient.connectTo(server)
    await client.initialize()
    const found = await client.request(1, 'resources/read', { uri: 'note://a' })
    expect(found.result).toEqual({ contents: [{ uri: 'note://a', text: 'note a' }] })
    const missing = await client.request(2, 'resources/read', { uri: 'other://a' })
    expect(missing.error).toMatchObject({ code: -32602, data: { uri: 'other://a' } })
  })

  it('asks the client itself for a handler that returns inputRequired, on a revision without it', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('greet', {}, (ctx) => {
      const answer = ctx.mcpReq.inputResponses?.name as { content?: { name?: string } } | undefined
      if (answer) return { content: [{ type: 'text', text: `Hello, ${answer.content?.name}` }] }
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
      return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: 'Name?', requestedSchema }) } })
    })
    const client = await RawClient.connectTo(server)
    await client.initialize({ elicitation: {} })
    const response = client.request(1, 'tools/call', { name: 'greet' })
    const question = await client.find(({ method }) => method === 'elicitation/create')
    await client.send({ id: question.id, result: { action: 'accept', content: { name: 'Ada' } } })
    expect((await response).result).toEqual({ content: [{ type: 'text', text: 'Hello, Ada' }] })
  })
})

describe('Server of the 2.x packages', () => {
  it('sends the numeric code, message and data of a ProtocolError', async () => {
    const server = new Server({ name: 'demo', version: '1.0.0' })
    server.setRequestHandler('acme/fail', { params: z.object({}) }, () => {
      throw new ProtocolError(-31000, 'No', { why: 'because' })
    })
    const client = await RawClient.connectTo(server)
    expect((await client.request(1, 'acme/fail')).error).toEqual({
      code: -31000,
      message: 'No',
      data: { why: 'because' },
    })
  })

  it('rejects a request of its own when the connection closes', async () => {
    const server = new Server({ name: 'demo', version: '1.0.0' })
    await RawClient.connectTo(server)
    const pinged = server.ping()
    await server.close()
    await expect(pinged).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  it('aborts the handler of a cancelled request and sends no response', async () => {
    const server = new Server({ name: 'demo', version: '1.0.0' })
    let reason: unknown
    server.setRequestHandler('acme/wait', { params: z.object({}) }, async (_params, ctx) => {
      await new Promise<void>((resolve) => ctx.mcpReq.signal.addEventListener('abort', () => resolve()))
      reason = ctx.mcpReq.signal.reason
      return {}
    })
    const client = await RawClient.connectTo(server)
    await client.send({ id: 1, method: 'acme/wait' })
    await client.send({ id: 2, method: 'ping' })
    await client.find(({ id }) => id === 2)
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } })
    await client.request(3, 'ping')
    expect(reason).toBe('enough')
    expect(client.received.some(({ id }) => id === 1)).toBe(false)
  })
})
