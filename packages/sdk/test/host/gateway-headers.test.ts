import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createGateway } from '../../src/host/gateway/gateway.ts'
import { createHost } from '../../src/host/host.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { createMcpHandler } from '../../src/serve/http-handler.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { allowAll } from './support.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'caller', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A gateway in front of a server over HTTP that records the requests that reach it. */
async function open() {
  const server = new McpServer({ name: 'region', version: '1.0.0' })
  const region = { type: 'string', 'x-mcp-header': 'Region' }
  server.registerTool(
    'query',
    { inputSchema: { type: 'object', properties: { region } } },
    ({ region }) => `in ${region}`,
  )
  const handler = createMcpHandler(server)
  const received: IncomingMessage['headers'][] = []
  const upstream = createServer((request, response) => {
    if (request.headers['mcp-method'] === 'tools/call') received.push(request.headers)
    return handler.node(request, response)
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  const host = await createHost({ servers: { db: { url: `http://127.0.0.1:${port}/mcp` } }, policy: allowAll })
  await host.tools()
  const http = await serveHttp(createGateway(host), { port: 0 })
  return {
    received,
    call: async (headers: Record<string, string>, name = 'db_query', args: object = { region: 'eu' }) => {
      const params = { name, arguments: args, _meta: meta }
      const response = await fetch(http.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      })
      return { status: response.status, text: await response.text() }
    },
    [Symbol.asyncDispose]: async () => {
      await http.close()
      await host.close()
      await handler.close()
      upstream.closeAllConnections()
      await new Promise((resolve) => upstream.close(resolve))
    },
  }
}

describe('the headers of a call through a gateway (2026-07-28)', () => {
  it('are created again for the server, and unknown Mcp-Param headers are forwarded [HDR-045]', async () => {
    await using gateway = await open()
    const { status, text } = await gateway.call({ 'mcp-param-region': 'eu', 'mcp-param-tenant': 'acme' })
    expect([status, text]).toEqual([200, expect.stringContaining('in eu')])
    expect(gateway.received).toHaveLength(1)
    expect(gateway.received[0]).toMatchObject({
      'mcp-name': 'query',
      'mcp-param-region': 'eu',
      'mcp-param-tenant': 'acme',
    })
  })

  it('of call_tool are checked against the tool that it calls, and only those of its arguments are sent [HDR-014]', async () => {
    await using gateway = await open()
    const callTool = (headers: Record<string, string>, args: object) =>
      gateway.call(headers, 'call_tool', { name: 'db_query', arguments: args })
    expect((await callTool({ 'mcp-param-region': 'us' }, { region: 'eu' })).status).toBe(400)
    expect((await callTool({ 'mcp-param-region': 'us' }, {})).status).toBe(400)
    expect(gateway.received).toEqual([])
    expect((await callTool({ 'mcp-param-other': 'x' }, { region: 'eu' })).status).toBe(200)
    expect((await callTool({}, { region: 'eu' })).status).toBe(200)
    expect((await callTool({ 'mcp-param-region': 'eu' }, { region: 'eu' })).status).toBe(200)
    const sent = gateway.received.map((headers) => Object.entries(headers).filter(([name]) => /^mcp-param/.test(name)))
    expect(sent).toEqual(Array.from({ length: 3 }, () => [['mcp-param-region', 'eu']]))
  })

  it('that disagree with the body are refused with an HTTP error before anything is sent [HDR-014]', async () => {
    await using gateway = await open()
    expect((await gateway.call({ 'mcp-param-region': 'us' })).status).toBe(400)
    expect((await gateway.call({ 'mcp-param-region': 'eu', 'mcp-name': 'other' })).status).toBe(400)
    expect((await gateway.call({})).status).toBe(400)
    expect(gateway.received).toEqual([])
  })

  it('with a version that has no header checks are refused with an HTTP error [HDR-015]', async () => {
    await using gateway = await open()
    const { status } = await gateway.call({ 'mcp-param-region': 'eu', 'mcp-protocol-version': '2025-11-25' })
    expect(status).toBe(400)
    expect(gateway.received).toEqual([])
  })

  it('do not carry the token of the caller to the server', async () => {
    await using gateway = await open()
    await gateway.call({ 'mcp-param-region': 'eu', authorization: 'Bearer of-the-caller', cookie: 'a=b' })
    expect(JSON.stringify(gateway.received)).not.toContain('of-the-caller')
    expect(gateway.received[0]).not.toHaveProperty('cookie')
  })
})
