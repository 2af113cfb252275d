import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { connect } from 'tenon/client'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { WebStandardStreamableHTTPServerTransport } from '../../src/server/webStandardStreamableHttp.ts'
import { InitializeRequestSchema, isInitializeRequest } from '../../src/types.ts'
import { callStateless, initialize, inSession, jsonOf, listen, messagesOf, post } from './support.ts'

// The operator sets it before the program starts.
vi.hoisted(() => {
  process.env.TENON_COMPAT_ANSWER_WITHOUT_INITIALIZE = '1'
})

function createServer(seen: (string | undefined)[] = []): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }, extra) => {
    seen.push(extra.sessionId)
    return { content: [{ type: 'text', text }] }
  })
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

describe('a program of SDK 1.x that the operator lets answer without initialize', () => {
  it('answers both kinds of client with a map of sessions, and opens no session for 2026-07-28', async () => {
    await using http = await withSessionMap()
    const answer = await callStateless(http.url, {}, 'modern')
    expect(answer.headers.get('mcp-session-id')).toBeNull()
    expect((await jsonOf(answer)).result.content).toEqual([{ type: 'text', text: 'modern' }])
    expect(http.transports.size).toBe(0)
    const opening = await post(http.url, initialize)
    await messagesOf(opening)
    const params = { name: 'echo', arguments: { text: 'classic' } }
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params }
    const [message] = await messagesOf(await post(http.url, call, inSession(opening.headers.get('mcp-session-id')!)))
    expect(message).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: 'classic' }] } })
    expect(http.transports.size).toBe(1)
  })

  it('lets go of a transport that answered a request of 2026-07-28', async () => {
    await using http = await withSessionMap()
    for (let count = 0; count < 20; count++) await (await callStateless(http.url)).text()
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

  it('keeps no session of a request without one in a program that registers sessions early [SDK-031]', async () => {
    const sessions = new Map<string, unknown>()
    let most = 0
    const register = (transport: { onclose?: () => void }, id: string) => {
      sessions.set(id, transport)
      most = Math.max(most, sessions.size)
    }
    await using node = await listen(async (request, response) => {
      const body = await bodyOf(request)
      if (!isInitializeRequest(body)) return response.writeHead(400).end()
      const id = randomUUID()
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id })
      transport.onclose = () => void sessions.delete(transport.sessionId!)
      register(transport, id)
      await createServer().connect(transport)
      await transport.handleRequest(request, response, body)
    })
    await using web = await listen(async (request, response) => {
      const body = await bodyOf(request)
      if (!isInitializeRequest(body)) return response.writeHead(400).end()
      const id = randomUUID()
      const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id })
      transport.onclose = () => void sessions.delete(id)
      register(transport, id)
      await createServer().connect(transport)
      await sendTo(response, await transport.handleRequest(toWebRequest(request), { parsedBody: body }))
    })
    for (const { url } of [node, web]) {
      for (let count = 0; count < 30; count++) {
        expect((await jsonOf(await callStateless(url))).result.content[0].text).toBe('x')
      }
    }
    await expect.poll(() => sessions.size).toBe(0)
    expect(most).toBeLessThan(10)
    // A session that was opened by `initialize` stays.
    await messagesOf(await post(node.url, initialize))
    expect(sessions.size).toBe(1)
  })

  it('gives handlers another session id for every request, so that callers never share one', async () => {
    const seen: (string | undefined)[] = []
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    await createServer(seen).connect(transport)
    await using http = await listen((request, response) => transport.handleRequest(request, response))
    await callStateless(http.url)
    await messagesOf(await post(http.url, initialize))
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } }
    await messagesOf(await post(http.url, call, inSession(transport.sessionId)))
    await callStateless(http.url)
    await callStateless(http.url, { 'mcp-session-id': transport.sessionId! })
    expect(seen).toHaveLength(4)
    expect(seen[1]).toBe(transport.sessionId)
    expect(new Set(seen).size).toBe(4)
    expect(seen).not.toContain(undefined)
  })

  it('answers past an initialize handler of the program', async () => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() })
    const server = createServer()
    server.server.setRequestHandler(InitializeRequestSchema, () => {
      throw new Error('No licence')
    })
    await server.connect(transport)
    await using http = await listen((request, response) => transport.handleRequest(request, response))
    await using client = await connect(http.url)
    expect(client.revision).toBe('2026-07-28')
    expect((await client.callTool('echo', { text: 'in' })).text).toBe('in')
  })
})

function toWebRequest({ method, headers }: IncomingMessage): Request {
  const init = { method: method!, headers: headers as Record<string, string>, body: '{}' }
  return new Request('http://127.0.0.1/mcp', init)
}

async function sendTo(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(await answer.text())
}
