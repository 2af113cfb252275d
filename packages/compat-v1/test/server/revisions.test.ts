import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { Server } from '../../src/server/index.ts'
import { McpServer, ResourceTemplate } from '../../src/server/mcp.ts'
import { CallToolRequestSchema, CreateMessageResultSchema, ListToolsRequestSchema } from '../../src/types.ts'
import { connectTo, revisionIds } from './connect.ts'

describe.each(revisionIds)('a server of SDK 1.x and a client of %s', (revision) => {
  const asks = { skip: revision < '2025-06-18' }

  test('list and call tools', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' }, { instructions: 'Add numbers.' })
    server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }))
    await using client = await connectTo(server, revision)
    expect(client.server.info?.name).toBe('demo')
    expect(client.server.instructions).toBe('Add numbers.')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add'])
    expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('3')
  })

  test('call oninitialized before the first request is served, with the capabilities of the client', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
    let count = 0
    server.server.oninitialized = () => {
      count++
      const { sampling } = server.server.getClientCapabilities() ?? {}
      server.registerTool(sampling ? 'with-model' : 'plain', {}, () => ({ content: [] }))
    }
    const sample = () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'yes' } }) as const
    await using client = await connectTo(server, revision, { handlers: { sample } })
    await expect.poll(async () => (await client.listTools()).tools.map(({ name }) => name)).toEqual(['with-model'])
    await client.listTools()
    expect(count).toBe(1)
  })

  test('answer a call with bad arguments so that the model can read it', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.tool('echo', { text: z.string() }, ({ text }) => ({ content: [{ type: 'text', text }] }))
    await using client = await connectTo(server, revision)
    const result = await client.callTool('echo', { text: 1 })
    expect(result.isError).toBe(true)
    expect(result.text).toBe(
      'MCP error -32602: Input validation error: Invalid arguments for tool echo: Invalid input: expected string, received number at text',
    )
    expect((await client.callTool('missing', {})).text).toBe('MCP error -32602: Tool missing not found')
  })

  test('read resources and get prompts', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.resource('note', 'note://one', (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }))
    const template = new ResourceTemplate('user://{id}', { list: undefined })
    server.registerResource('user', template, {}, (uri, { id }) => ({
      contents: [{ uri: uri.href, text: `user ${id}` }],
    }))
    server.prompt('greet', { name: z.string() }, ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Hi ${name}` } }],
    }))
    await using client = await connectTo(server, revision)
    expect((await client.readResource('note://one')).contents).toMatchObject([{ text: 'one' }])
    expect((await client.readResource('user://7')).contents).toMatchObject([{ text: 'user 7' }])
    const { messages } = await client.getPrompt('greet', { name: 'Ada' })
    expect(messages[0]!.content).toMatchObject({ text: 'Hi Ada' })
    await expect(client.readResource('note://two')).rejects.toThrow('Resource note://two not found')
  })

  test('let a handler elicit with server.elicitInput', asks, async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('order', {}, async () => {
      const { action, content } = await server.server.elicitInput({
        message: 'Which size?',
        requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
      })
      return { content: [{ type: 'text', text: `${action} ${content?.size}` }] }
    })
    await using client = await connectTo(server, revision, {
      handlers: { elicit: () => ({ action: 'accept', content: { size: 'M' } }) },
    })
    expect((await client.callTool('order', {})).text).toBe('accept M')
  })

  test('let a handler sample twice, by the server and by extra', async () => {
    const server = new Server({ name: 'demo', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: 'ask', inputSchema: { type: 'object' } }],
    }))
    const question = (text: string) => ({
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
      maxTokens: 10,
    })
    server.setRequestHandler(CallToolRequestSchema, async (_request, extra) => {
      const one = await server.createMessage(question('one'))
      const request = { method: 'sampling/createMessage' as const, params: question('two') }
      const two = await extra.sendRequest(request, CreateMessageResultSchema)
      return { content: [one.content, two.content] as never }
    })
    await using client = await connectTo(server, revision, {
      handlers: {
        sample: ({ messages }) => ({
          model: 'm',
          role: 'assistant',
          content: { type: 'text', text: `${(messages[0]!.content as { text: string }).text}!` },
        }),
      },
    })
    expect((await client.callTool('ask', {})).content).toMatchObject([{ text: 'one!' }, { text: 'two!' }])
  })

  test('know the client in a handler', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    let seen: unknown
    server.registerTool('who', {}, async () => {
      const roots = await server.server.listRoots()
      seen = [server.server.getClientVersion()?.name, Object.keys(server.server.getClientCapabilities() ?? {})]
      return { content: [{ type: 'text', text: roots.roots[0]!.uri }] }
    })
    await using client = await connectTo(server, revision, {
      info: { name: 'tester', version: '1' },
      handlers: { roots: [{ uri: 'file:///home' }] },
    })
    expect((await client.callTool('who', {})).text).toBe('file:///home')
    expect(seen).toEqual(['tester', ['roots']])
  })

  test('announce tools that are registered later', async () => {
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('one', {}, () => ({ content: [] }))
    await using client = await connectTo(server, revision)
    const changed = new Promise<void>((resolve) => client.on('toolsChanged', () => resolve()))
    const subscription = await client.listen({ toolsListChanged: true })
    server.registerTool('two', {}, () => ({ content: [] }))
    await changed
    await subscription.close()
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['one', 'two'])
  })
})
