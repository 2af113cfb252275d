import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { isInitializeRequest } from '../../src/types.ts'
import { initialize, inSession, jsonOf, listen, messagesOf, post } from './support.ts'

function createServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  return server
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
}

/** Calls the tool as a client of 2026-07-28 does. */
function callStateless(url: string, text: string): Promise<Response> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'echo', arguments: { text }, _meta: meta }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  return post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
}

/** A program with a map of sessions, as the documentation of SDK 1.x shows it. */
async function withSessionMap() {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const created: WeakRef<StreamableHTTPServerTransport>[] = []
  const http = await listen(async (request, response) => {
    const body = await bodyOf(request)
    const sessionId = request.headers['mcp-session-id'] as string | undefined
    let transport = sessionId ? transports.get(sessionId) : undefined
    if (!transport && !sessionId && isInitializeRequest(body)) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, opened),
      })
      created.push(new WeakRef(opened))
      await createServer().connect(opened)
      transport = opened
    }
    if (!transport) return response.writeHead(400).end()
    await transport.handleRequest(request, response, body)
  })
  return { ...http, transports, created }
}

describe('programs of SDK 1.x and clients of 2026-07-28', () => {
  it('answers both kinds of client in a program with a map of sessions, and opens no session for 2026-07-28', async () => {
    await using http = await withSessionMap()
    const answer = await jsonOf(await callStateless(http.url, 'modern'))
    expect(answer.result.content).toEqual([{ type: 'text', text: 'modern' }])
    expect(http.transports.size).toBe(0)
    const opening = await post(http.url, initialize)
    await messagesOf(opening)
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'classic' } },
    }
    const [message] = await messagesOf(await post(http.url, call, inSession(opening.headers.get('mcp-session-id')!)))
    expect(message).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: 'classic' }] } })
    expect(http.transports.size).toBe(1)
  })

  it('lets go of a transport that answered a request of 2026-07-28', async () => {
    await using http = await withSessionMap()
    for (let count = 0; count < 20; count++) await (await callStateless(http.url, 'x')).text()
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    await expect
      .poll(() => {
        collect()
        return http.created.filter((each) => each.deref()).length
      })
      // Connections that stay open refer to their last request.
      .toBeLessThan(5)
  })

  it('answers both kinds of client in a program that creates a server for each request', async () => {
    await using http = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      const server = createServer()
      response.on('close', () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(request, response, await bodyOf(request))
    })
    expect((await jsonOf(await callStateless(http.url, 'modern'))).result.content[0].text).toBe('modern')
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'classic' } },
    }
    const [message] = await messagesOf(await post(http.url, call, { 'mcp-protocol-version': '2025-11-25' }))
    expect(message).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: 'classic' }] } })
  })
})
