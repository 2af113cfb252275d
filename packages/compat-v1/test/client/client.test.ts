import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.ts'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '../../src/client/streamableHttp.ts'
import type { JSONRPCMessage } from '../../src/types.ts'
import { ElicitRequestSchema, ResultSchema } from '../../src/types.ts'

const info = { name: 'test', version: '1' }

function createServer(revisions?: ['2026-07-28']): McpServer {
  const server = new McpServer({ name: 'demo', version: '2' }, revisions ? { revisions } : {})
  server.registerTool('greet', {}, async (_args, ctx) => {
    const form = { type: 'object', properties: { name: { type: 'string', default: 'Ada' } } } as const
    const answer = await ctx.elicit('Name?', form)
    return `Hello ${answer.action === 'accept' ? answer.content.name : 'nobody'}`
  })
  server.registerTool('count', { outputSchema: { type: 'object', required: ['n'] } as never }, () => ({
    content: [],
    structuredContent: { n: 1 },
  }))
  return server
}

async function open(server: McpServer) {
  const serving = await serveHttp(server, { port: 0 })
  return { url: new URL(serving.url), [Symbol.asyncDispose]: () => serving.close() }
}

function greeter(): Client {
  const client = new Client(info, { capabilities: { elicitation: { form: { applyDefaults: true } } } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }))
  return client
}

describe('Client over HTTP', () => {
  it.each([
    ['with a handshake', undefined],
    ['of 2026-07-28 only', ['2026-07-28'] as ['2026-07-28']],
  ])('answers the questions of a server %s, with the defaults of the form', async (_, revisions) => {
    await using server = await open(createServer(revisions))
    const client = greeter()
    await client.connect(new StreamableHTTPClientTransport(server.url))
    expect(client.getServerVersion()).toMatchObject({ name: 'demo', version: '2' })
    const { content } = await client.callTool({ name: 'greet', arguments: {} })
    expect(content).toEqual([{ type: 'text', text: 'Hello Ada' }])
    await client.close()
  })

  it('fails with the status when the session is lost, and can connect again', async () => {
    await using server = await open(createServer())
    const first = new StreamableHTTPClientTransport(server.url)
    const client = greeter()
    await client.connect(first)
    const lost = new StreamableHTTPClientTransport(server.url, { sessionId: 'unknown' })
    const other = new Client(info)
    await other.connect(lost)
    const error = await other.listTools().catch((reason) => reason)
    expect(error).toBeInstanceOf(StreamableHTTPError)
    expect(error.code).toBe(404)
    await client.close()
    await client.connect(new StreamableHTTPClientTransport(server.url))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['greet', 'count'])
    await client.close()
  })

  it('continues a session with its id, without a handshake', async () => {
    await using server = await open(createServer())
    const first = new StreamableHTTPClientTransport(server.url)
    const client = greeter()
    await client.connect(first)
    const { sessionId, protocolVersion } = first
    await client.close()
    const second = new StreamableHTTPClientTransport(server.url, { sessionId: sessionId as string })
    second.setProtocolVersion(protocolVersion as string)
    await client.connect(second)
    expect(second.sessionId).toBe(sessionId)
    expect((await client.listTools()).tools).toHaveLength(2)
    await second.terminateSession()
    expect(second.sessionId).toBeUndefined()
    await client.close()
  })

  it('sends every message through a `send` that the program replaced', async () => {
    await using server = await open(createServer())
    const transport = new StreamableHTTPClientTransport(server.url)
    const methods: string[] = []
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      methods.push((message as { method: string }).method)
      return send(message, options)
    }
    const client = greeter()
    await client.connect(transport)
    await client.request({ method: 'tools/list' }, ResultSchema)
    expect(methods).toEqual(['initialize', 'notifications/initialized', 'tools/list'])
    await client.close()
  })

  it('uses the given fetch for every request, with `Headers` and a `URL`', async () => {
    await using server = await open(createServer())
    const calls: string[] = []
    const transport = new StreamableHTTPClientTransport(server.url, {
      requestInit: { headers: { 'x-key': 'k' } },
      fetch: (url, init) => {
        const { method, headers } = init as { method: string; headers: Headers }
        calls.push(`${method} ${url instanceof URL} ${headers.get('x-key')}`)
        return fetch(url, init)
      },
    })
    const client = greeter()
    await client.connect(transport)
    await client.listTools()
    await client.close()
    expect(new Set(calls)).toEqual(new Set(['POST true k', 'GET true k']))
  })

  it('carries raw messages of a proxy, without a client', async () => {
    await using server = await open(createServer())
    const transport = new StreamableHTTPClientTransport(server.url)
    const received: JSONRPCMessage[] = []
    transport.onmessage = (message) => received.push(message)
    await transport.start()
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
    await transport.send({ jsonrpc: '2.0', id: 'one', method: 'initialize', params })
    transport.setProtocolVersion('2025-11-25')
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await transport.send({ jsonrpc: '2.0', id: 'two', method: 'tools/list' })
    expect(received).toMatchObject([
      { id: 'one', result: {} },
      { id: 'two', result: { tools: [{}, {}] } },
    ])
    await transport.close()
  })

  it('rejects with the error of fetch if the server cannot be reached', async () => {
    const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1:9/mcp'))
    await expect(greeter().connect(transport)).rejects.toThrow('fetch failed')
  })
})
