import type { IncomingMessage, ServerResponse } from 'node:http'
import { createMcpHandler, ResourceTemplate, SSEServerTransport, StreamableHTTPServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../../kit/message.ts'
import { toBytes, toHead } from '../../../kit/raw-http.ts'
import { modern } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, listen, OldClient, RawClient, serve } from './support.ts'

describe('every HTTP entry point', () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  /** Serves the handler over `node:http` and posts to it under a rebound host name. */
  async function rebind(answer: (request: IncomingMessage, response: ServerResponse) => void, method = 'POST') {
    const port = await listen(answer)
    const client = new RawClient(port, '2025-11-25')
    const good = await client.post(body)
    expect(good.status).toBe(200)
    for (const origin of [undefined, `http://evil.example:${port}`]) {
      const more = { Host: `evil.example:${port}`, Origin: origin, 'Content-Length': String(body.length) }
      expectRefusal(await client.exchange(toBytes(method, '/mcp', client.headers('', '', more), body)), 403, -32000)
    }
    expectRefusal(
      await client.exchange(
        toBytes(
          method,
          '/mcp',
          client.headers('', '', { Origin: 'http://evil.example', 'Content-Length': String(body.length) }),
          body,
        ),
      ),
      403,
      -32000,
    )
    return client
  }

  it('CVE-2026-34742: createMcpHandler().node rejects rebound host names by default', async () => {
    const handler = createMcpHandler(createServer())
    await rebind((request, response) => handler.node(request, response))
    await handler.close()
  })

  it('GHSA-8jxr-pr72-r468: createMcpHandler().fetch rejects rebound host names by default', async () => {
    const handler = createMcpHandler(createServer())
    const ask = async (url: string, more: Record<string, string> = {}) =>
      (await handler.fetch(new Request(url, { method: 'POST', headers: { ...headers, ...more }, body }))).status
    expect(await ask('http://127.0.0.1:3000/mcp')).toBe(200)
    expect(await ask('http://evil.example:3000/mcp')).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { origin: 'http://evil.example' })).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { host: 'evil.example' })).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { origin: 'null' })).toBe(403)
    await handler.close()
  })

  it('CVE-2026-42559: StreamableHTTPServerTransport rejects rebound host names by default', async () => {
    const server = createServer()
    await rebind(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      response.on('close', () => void transport.close())
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
  })

  it('CVE-2026-63118: SSEServerTransport rejects rebound host names by default', async () => {
    const server = createServer()
    const transports = new Map<string, SSEServerTransport>()
    const port = await listen(async (request, response) => {
      if (request.method === 'GET') {
        const transport = new SSEServerTransport('/messages', response)
        transports.set(transport.sessionId, transport)
        await server.connect(transport).catch(() => {})
        return
      }
      const id = new URL(request.url!, 'http://localhost').searchParams.get('sessionId')!
      await transports.get(id)!.handlePostMessage(request, response)
    })
    const client = await OldClient.open(port)
    for (const more of [
      { Host: 'evil.example' },
      { Host: 'evil.example', Origin: 'http://evil.example' },
      { Origin: 'http://evil.example' },
    ]) {
      expectRefusal(await client.get(more), 403, -32000)
      expectRefusal(await client.post('{}', more), 403, -32000)
    }
    expectRefusal(await client.post('{"jsonrpc":"2.0"}'), 400, -32600)
    expectRefusal(await client.post('{'), 400, -32700)
    expectRefusal(await client.post('', { 'Content-Length': '999999999' }), 413, -32000)
    expectRefusal(await client.post('{}', { 'Content-Type': 'text/plain' }), 415, -32000)
    await client.stillServes()
    client.stream.connection.destroy()
  })

  it('csharp-sdk #1520: DELETE, PUT, OPTIONS and PATCH are rejected under rebound host names too', async () => {
    const handler = createMcpHandler(createServer(), { cors: { origins: ['http://app.example'] } })
    for (const method of ['DELETE', 'PUT', 'OPTIONS', 'PATCH']) {
      await rebind((request, response) => handler.node(request, response), method)
    }
    await handler.close()
  })

  it('PR #2698: createMcpHandler().fetch limits bodies to 4 MiB and batches to 100 messages by default', async () => {
    const handler = createMcpHandler(createServer(), { sessions: false })
    const post = (text: string | ReadableStream, more: Record<string, string> = {}) =>
      handler.fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: { ...headers, ...more },
          body: text,
          ...(typeof text !== 'string' && { duplex: 'half' }),
        } as RequestInit),
      )
    const limit = 4 * 1024 * 1024
    const large = await post(' '.repeat(limit + 1))
    expect([large.status, ((await large.json()) as Message).error?.code]).toEqual([413, -32000])
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 0x10000
        controller.enqueue(new Uint8Array(0x10000).fill(32))
      },
    })
    expect((await post(endless)).status).toBe(413)
    expect(pulled).toBeLessThan(2 * limit)
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const batch = (length: number) => `[${Array.from({ length }, (_, at) => ping.replace('1', String(at))).join(',')}]`
    const version = { 'mcp-protocol-version': '2025-03-26' }
    expect((await post(batch(100), version)).status).toBe(200)
    const long = await post(batch(101), version)
    expect([long.status, ((await long.json()) as Message).error?.code]).toEqual([400, -32600])
    await handler.close()
  })

  it('CVE-2026-0621: matching an exploded template does not block the event loop', async () => {
    const server = createServer()
    server.registerResource('files', new ResourceTemplate('x://files{/path*}{?query*}'), {}, () => 'found')
    const served = await serve(server)
    const client = await RawClient.open(served.port, '2025-11-25')
    for (const uri of [
      `x://files${'/a'.repeat(50_000)}\u0000`,
      `x://files${',a=a'.repeat(50_000)}!`,
      `x://files?${'a=,'.repeat(50_000)}`,
    ]) {
      const response = await client.post(client.request(1, 'resources/read', { uri }))
      expect(response.json.id).toBe(1)
    }
    await client.stillServes()
  })

  it('createMcpHandler().node does not miss a header after thousands of tiny ones', async () => {
    const handler = createMcpHandler(createServer())
    const port = await listen((request, response) => handler.node(request, response))
    const client = new RawClient(port, '2025-11-25')
    const head = toHead('POST', '/mcp', client.headers('', '', { 'Content-Length': String(body.length) })).toString()
    for (const count of [998, 1_500, 2_000, 3_000]) {
      const bytes = `${head.slice(0, -2)}${'a:\r\n'.repeat(count)}Origin: http://evil.example\r\n\r\n${body}`
      const response = await client.exchange(bytes)
      expect([403, 431]).toContain(response.status)
      // Since Node 24 the HTTP server of Node.js itself rejects too many headers, with 431 and no body.
      if (response.status === 403 || response.text !== '') expectRefusal(response, response.status, -32000)
    }
    expect((await client.post(body)).status).toBe(200)
    await handler.close()
  })

  it('a message with very many members does not block the event loop', async () => {
    const served = await serve(createServer())
    const client = new RawClient(served.port, modern)
    // In quadratic time this many members would exceed the timeout of the test.
    const members = Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`).join(',')
    const body = `{${members},${client.call('wide', 'echo', {}).slice(1)}`
    const response = await client.post(body)
    expect(response.json.id).toBe('wide')
    await client.stillServes()
  })

  it('a transport that is not connected answers 500 over node:http', async () => {
    const transport = new StreamableHTTPServerTransport({})
    const port = await listen((request, response) => void transport.handleRequest(request, response))
    expectRefusal(await new RawClient(port, '2025-11-25').post(body), 500, -32000)
  })

  it('a transport that is not connected answers 500 over fetch', async () => {
    const transport = new StreamableHTTPServerTransport({})
    const asked = transport.handleFetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body }))
    expect(await asked).toMatchObject({ status: 500 })
  })
})
