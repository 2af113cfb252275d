import { McpServer, serveHttp } from 'tenon/server'
import { expect, it } from 'vitest'
import { StreamableHTTPClientTransport } from '../../src/client/streamableHttp.ts'
import type { JSONRPCMessage } from '../../src/types.ts'

const requests = [
  { jsonrpc: '2.0', id: 'a', method: 'ping' },
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } },
  { jsonrpc: '2.0', id: 'b', method: 'ping' },
] as const satisfies JSONRPCMessage[]

const pong = (id: string) => ({ jsonrpc: '2.0', id, result: {} })

it.each([
  ['one JSON body', 'application/json', JSON.stringify([pong('b'), pong('a')])],
  ['one event', 'text/event-stream', `data: ${JSON.stringify([pong('b'), pong('a')])}\n\n`],
  [
    'several events',
    'text/event-stream',
    `data: ${JSON.stringify(pong('b'))}\n\ndata: ${JSON.stringify(pong('a'))}\n\n`,
  ],
])('posts an array as one body, and reads the answers from %s', async (_name, type, answer) => {
  const posted: unknown[] = []
  const fetch = async (_url: unknown, init?: RequestInit) => {
    posted.push(JSON.parse(String(init?.body)))
    return new Response(answer, { headers: { 'content-type': type } })
  }
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch: fetch as never })
  const received: JSONRPCMessage[] = []
  const errors: Error[] = []
  transport.onmessage = (message) => received.push(message)
  transport.onerror = (error) => errors.push(error)
  await transport.start()
  await transport.send([...requests])
  expect(posted).toEqual([requests])
  await expect.poll(() => received).toEqual([pong('b'), pong('a')])
  expect(errors).toEqual([])
  await transport.close()
})

it('gets the answers to all requests that a program sends as one array', async () => {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('hi', {}, () => 'hi')
  await using http = await serveHttp(server, { port: 0, sessions: false })
  const transport = new StreamableHTTPClientTransport(new URL(http.url))
  const received: JSONRPCMessage[] = []
  transport.onmessage = (message) => received.push(message)
  await transport.start()
  await transport.send([
    { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
    { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'hi', arguments: {} } },
  ])
  await expect.poll(() => received.map((message) => 'id' in message && message.id).toSorted()).toEqual(['a', 'b'])
  await transport.close()
})
