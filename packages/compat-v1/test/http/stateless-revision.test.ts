import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { isInitializeRequest } from '../../src/types.ts'
import { callStateless, initialize, inSession, jsonOf, listen, messagesOf, post } from './support.ts'

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

/** A program with a map of sessions, as the documentation of SDK 1.x shows it. */
async function withSessionMap() {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const created: StreamableHTTPServerTransport[] = []
  const http = await listen(async (request, response) => {
    const body = await bodyOf(request)
    const sessionId = request.headers['mcp-session-id'] as string | undefined
    let transport = sessionId ? transports.get(sessionId) : undefined
    if (!transport && !sessionId && isInitializeRequest(body)) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, opened),
      })
      created.push(opened)
      await createServer().connect(opened)
      transport = opened
    }
    if (!transport) return response.writeHead(400).end()
    await transport.handleRequest(request, response, body)
  })
  return { ...http, transports, created }
}

describe('programs of SDK 1.x and clients of 2026-07-28', () => {
  it('refuses 2026-07-28 in a program with a map of sessions, and serves clients that fall back to initialize', async () => {
    await using http = await withSessionMap()
    expect((await callStateless(http.url)).status).toBe(400)
    expect(http.created).toHaveLength(0)
    const client = await connect(http.url)
    expect(client.revision).toBe('2025-11-25')
    expect((await client.callTool('echo', { text: 'modern' })).text).toBe('modern')
    await client.close()
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
    expect(http.transports.size).toBe(2)
  })

  it('answers both kinds of client in a program that creates a server for each request', async () => {
    await using http = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      const server = createServer()
      response.on('close', () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(request, response, await bodyOf(request))
    })
    expect((await jsonOf(await callStateless(http.url, {}, 'modern'))).result.content[0].text).toBe('modern')
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
