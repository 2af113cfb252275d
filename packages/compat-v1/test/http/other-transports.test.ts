import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { createMcpExpressApp } from '../../src/server/express.ts'
import { SSEServerTransport } from '../../src/server/sse.ts'
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
