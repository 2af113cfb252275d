import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { WebStandardStreamableHTTPServerTransport } from '../../src/server/webStandardStreamableHttp.ts'
import { InitializeRequestSchema, isInitializeRequest } from '../../src/types.ts'
import { callStateless, initialize, jsonOf, listen, messagesOf, post, statelessMeta } from './support.ts'

// `npm run compat:programs` compares many more programs with the official SDK.

let reached = 0

function createServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('echo', {}, async () => {
    reached++
    return { content: [{ type: 'text', text: 'secret' }] }
  })
  return server
}

const licensed = (request: z.infer<typeof InitializeRequestSchema>) => {
  if (request.params.clientInfo.name !== 'licensed') throw new Error('No licence')
  return {
    protocolVersion: request.params.protocolVersion,
    capabilities: {},
    serverInfo: { name: 'demo', version: '1.0.0' },
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
}

/** A program that creates a server for each request, after `prepare` has changed it. */
function perRequest(prepare: (server: McpServer) => void, after = prepare) {
  return listen(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const server = createServer()
    prepare(server)
    response.on('close', () => void server.close())
    await server.connect(transport)
    after(server)
    await transport.handleRequest(request, response, await bodyOf(request))
  })
}

async function expectRefused(url: string, status: number): Promise<void> {
  reached = 0
  const response = await callStateless(url)
  expect([response.status, await response.text()]).toEqual([status, expect.not.stringContaining('secret')])
  expect(reached).toBe(0)
}

describe('a program of SDK 1.x that keeps callers out', () => {
  it('refuses 2026-07-28 where middleware lets only initialize through [SDK-030]', async () => {
    await using http = await listen(async (request, response) => {
      const body = await bodyOf(request)
      if (!isInitializeRequest(body)) return response.writeHead(401).end()
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
      await createServer().connect(transport)
      await transport.handleRequest(request, response, body)
    })
    await expectRefused(http.url, 401)
  })

  it('refuses 2026-07-28 on a transport with a session generator, before and after a session is open [SDK-030]', async () => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    await createServer().connect(transport)
    await using http = await listen((request, response) => transport.handleRequest(request, response))
    await expectRefused(http.url, 400)
    await messagesOf(await post(http.url, initialize))
    await expectRefused(http.url, 400)
    const inSession = await callStateless(http.url, { 'mcp-session-id': transport.sessionId! })
    expect([inSession.status, (await jsonOf(inSession)).error.message]).toEqual([
      400,
      expect.stringContaining('Unsupported protocol version'),
    ])
  })

  it('refuses 2026-07-28 on a web-standard transport with a session generator [SDK-030]', async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    await createServer().connect(transport)
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', _meta: statelessMeta } }
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    }
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body: JSON.stringify(body) })
    expect((await transport.handleRequest(request)).status).toBe(400)
  })

  it.each<[string, (server: McpServer) => void]>([
    ['set', ({ server }) => server.setRequestHandler(InitializeRequestSchema, licensed)],
    [
      'put into the map of handlers',
      ({ server }) => (server as unknown as Handlers)._requestHandlers.set('initialize', licensed),
    ],
    ['replaced on the object', ({ server }) => Object.assign(server, { _oninitialize: licensed })],
    ['removed', ({ server }) => server.removeRequestHandler('initialize')],
  ])('refuses 2026-07-28 if the initialize handler was %s [SDK-030]', async (_how, change) => {
    await using before = await perRequest(change, () => {})
    await expectRefused(before.url, 400)
    await using after = await perRequest(() => {}, change)
    await expectRefused(after.url, 400)
  })

  it('passes no request of 2026-07-28 to a program that reads the messages of a transport itself [SDK-030]', async () => {
    const seen: unknown[] = []
    await using http = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      transport.onmessage = (message) => void seen.push(message)
      await transport.start()
      await transport.handleRequest(request, response)
    })
    await expectRefused(http.url, 400)
    expect(seen).toEqual([])
  })

  it('answers 2026-07-28 without sessions and without an initialize handler of its own', async () => {
    await using http = await perRequest(() => {})
    expect((await jsonOf(await callStateless(http.url))).result.content[0].text).toBe('secret')
  })
})

interface Handlers {
  readonly _requestHandlers: Map<string, unknown>
}
