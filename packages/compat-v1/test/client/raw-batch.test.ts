import { McpServer, serveHttp } from 'tenon/server'
import { expect, it } from 'vitest'
import { StreamableHTTPClientTransport } from '../../src/client/streamableHttp.ts'
import type { JSONRPCMessage } from '../../src/types.ts'

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
