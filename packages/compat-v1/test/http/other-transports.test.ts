import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { createMcpExpressApp } from '../../src/server/express.ts'
import { readRequestBody } from '../../src/server/requestBody.ts'
import { SSEServerTransport, type SSEServerTransportOptions } from '../../src/server/sse.ts'
import { StdioServerTransport } from '../../src/server/stdio.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../../src/types.ts'
import { jsonOf, listen, post } from './support.ts'

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const

describe('InMemoryTransport', () => {
  it('delivers messages with the identity of the sender, and keeps those sent before onmessage was set', async () => {
    const [client, server] = InMemoryTransport.createLinkedPair()
    const authInfo = { token: 't', clientId: 'c', scopes: [] }
    await client.send(ping, { authInfo })
    const seen: unknown[] = []
    server.onmessage = (message, extra) => seen.push(message, extra)
    await server.start()
    expect(seen).toEqual([ping, { authInfo }])
    await client.close()
    await expect(server.send(ping)).rejects.toThrow('Not connected')
  })
})

describe('StdioServerTransport', () => {
  it('reports input that is not a message, and answers nothing', async () => {
    const stdin = new PassThrough()
    const stdout = new PassThrough()
    const transport = new StdioServerTransport(stdin, stdout)
    const errors: Error[] = []
    const seen: JSONRPCMessage[] = []
    transport.onerror = (error) => errors.push(error)
    transport.onmessage = (message) => seen.push(message)
    await transport.start()
    stdin.write(`not json\n{"a":1}\n${JSON.stringify(ping)}\n`)
    await expect.poll(() => seen.length).toBe(1)
    expect(errors).toHaveLength(2)
    expect(stdout.read()).toBeNull()
    await transport.close()
  })

  it('leaves listeners of other code on stdin alone', async () => {
    const stdin = new PassThrough()
    const seen: string[] = []
    stdin.on('data', (chunk) => seen.push(String(chunk)))
    const transport = new StdioServerTransport(stdin, new PassThrough())
    await transport.start()
    await transport.close()
    stdin.write('after')
    await expect.poll(() => seen).toEqual(['after'])
  })
})

describe('SSEServerTransport', () => {
  it('sends the endpoint, takes POSTs with their headers, and answers on the stream', async () => {
    const open = new Map<string, SSEServerTransport>()
    const seen: (MessageExtraInfo | undefined)[] = []
    await using http = await listen(async (request, response) => {
      const id = new URL(request.url!, 'http://localhost').searchParams.get('sessionId')
      if (id) return open.get(id)!.handlePostMessage(request, response)
      const transport = new SSEServerTransport('/messages?room=1', response)
      open.set(transport.sessionId, transport)
      transport.onmessage = (message, extra) => {
        seen.push(extra)
        void transport.send({ jsonrpc: '2.0', id: (message as { id: number }).id, result: {} })
      }
      await transport.start()
    })
    const stream = await fetch(http.url)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    const [transport] = open.values()
    const first = (await reader.read()).value!
    expect(first).toBe(`event: endpoint\ndata: /messages?room=1&sessionId=${transport!.sessionId}\n\n`)
    const target = new URL(first.split('data: ')[1]!.trim(), http.url).href
    const accepted = await post(target, ping, { 'x-test': 'yes' })
    expect([accepted.status, await accepted.text()]).toEqual([202, 'Accepted'])
    expect((await reader.read()).value).toContain('"id":1')
    expect(seen[0]?.requestInfo?.headers['x-test']).toBe('yes')
    expect((await post(target, { not: 'a message' })).status).toBe(400)
    await reader.cancel()
  })
})

describe('POSTs to SSEServerTransport', () => {
  /** Opens a stream and returns where to post to. */
  async function open(options?: SSEServerTransportOptions) {
    const seen: JSONRPCMessage[] = []
    const errors: Error[] = []
    let transport: SSEServerTransport | undefined
    const http = await listen(async (request, response) => {
      if (request.method === 'POST') return transport!.handlePostMessage(request, response)
      transport = new SSEServerTransport('/messages', response, options)
      transport.onmessage = (message) => seen.push(message)
      transport.onerror = (error) => errors.push(error)
      await transport.start()
    })
    const stream = await fetch(http.url)
    const dispose = async () => {
      await stream.body?.cancel()
      await http[Symbol.asyncDispose]()
    }
    return { url: http.url, seen, errors, [Symbol.asyncDispose]: dispose }
  }

  it('are refused for another host or origin with enableDnsRebindingProtection [SDK-030]', async () => {
    const allowed = { allowedHosts: ['mcp.example.com'], allowedOrigins: ['https://app.example.com'] }
    await using foreign = await open({ ...allowed, enableDnsRebindingProtection: true })
    const refused = await post(foreign.url, ping)
    const host = new URL(foreign.url).host
    expect([refused.status, await refused.text()]).toEqual([403, `Invalid Host header: ${host}`])
    expect([foreign.seen, foreign.errors.map(({ message }) => message)]).toEqual([[], [`Invalid Host header: ${host}`]])
    await using unprotected = await open(allowed)
    expect((await post(unprotected.url, ping, { origin: 'https://evil.example' })).status).toBe(202)
    await using own = await open({ ...allowed, allowedHosts: [], enableDnsRebindingProtection: true })
    const evil = await post(own.url, ping, { origin: 'https://evil.example' })
    expect([evil.status, await evil.text()]).toEqual([403, 'Invalid Origin header: https://evil.example'])
    expect((await post(own.url, ping, { origin: 'https://app.example.com' })).status).toBe(202)
    expect((await post(own.url, ping)).status).toBe(202)
    expect(own.seen).toHaveLength(2)
  })

  it('are refused while they stream more than 4 MiB, whatever their Content-Length says', async () => {
    await using http = await open()
    const target = new URL(http.url)
    const request = httpRequest(target, { method: 'POST', headers: { 'content-type': 'application/json' } })
    // The connection may be closed before everything was written.
    request.on('error', () => {})
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    request.write('"')
    const mebibyte = 'x'.repeat(1024 * 1024)
    for (let count = 0; count < 5; count++) request.write(mebibyte)
    // The body never ends, so only the limit can cause this response.
    const [response] = await answered
    expect([response.statusCode, await text(response)]).toEqual([400, 'Error: request entity too large'])
    request.destroy()
    expect([http.seen, http.errors.map(({ message }) => message)]).toEqual([[], ['request entity too large']])
  })
})

describe('readRequestBody', () => {
  const limit = 100
  const stream = (...chunks: string[]) => {
    let pulled = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const chunk = chunks[pulled++]
          if (chunk === undefined) controller.close()
          else controller.enqueue(new TextEncoder().encode(chunk))
        },
      },
      { highWaterMark: 0 },
    )
    const request = new Request('http://127.0.0.1/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    return { request, pulled: () => pulled }
  }

  it('stops reading a body without Content-Length as soon as it exceeds the limit', async () => {
    const { request, pulled } = stream('x'.repeat(60), 'x'.repeat(41), 'never read')
    expect(await readRequestBody(request, limit)).toEqual({ tooLarge: true })
    expect(pulled()).toBe(2)
  })

  it('reads nothing of a body whose Content-Length exceeds the limit', async () => {
    const { request, pulled } = stream('x')
    request.headers.set('content-length', '101')
    expect(await readRequestBody(request, limit)).toEqual({ tooLarge: true })
    expect(pulled()).toBe(0)
  })

  it('reads a body of exactly the limit, with characters that are split between chunks', async () => {
    const bytes = new TextEncoder().encode(`${'x'.repeat(98)}é`)
    const body = new Blob([bytes.slice(0, 99), bytes.slice(99)]).stream()
    const request = new Request('http://127.0.0.1/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(await readRequestBody(request, limit)).toEqual({ tooLarge: false, text: `${'x'.repeat(98)}é` })
  })
})

describe('createMcpExpressApp', () => {
  it('accepts local host names only, and parses JSON', async () => {
    const app = createMcpExpressApp()
    app.post('/mcp', (req, res) => void res.json(req.body))
    await using http = await listen(app)
    expect(await (await post(http.url, ping)).json()).toEqual(ping)
    const foreign = createMcpExpressApp({ allowedHosts: ['mcp.example.com'] })
    await using other = await listen(foreign)
    const refused = await post(other.url, ping)
    expect([refused.status, (await jsonOf(refused)).error.message]).toEqual([403, 'Invalid Host: 127.0.0.1'])
  })
})
