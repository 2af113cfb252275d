import { fileURLToPath } from 'node:url'
import { Client, connect, StdioClientTransport } from 'tenon/client'
import { McpServer, ResourceTemplate, Server } from 'tenon/server'
import { ScriptedClient, ScriptedServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { isAlive, NodeProcess } from '../../kit/child-process.ts'
import { eventually } from '../../kit/eventually.ts'

const info = { name: 's', version: '1' }
const modern = '2026-07-28'

describe('a server under attack', () => {
  it.each([
    'file:///docs/.\t./etc/passwd',
    'file:///docs/.\n./etc/passwd',
    'file:///docs/..?',
    'file:///docs/%2e%2e/etc/passwd',
    'file:///docs//etc/passwd',
    'file:///docs/c:/windows',
  ])('does not pass a URI that leaves the folder to a file: template: %j', async (uri) => {
    const server = new McpServer(info)
    const seen: string[] = []
    server.registerResource('f', new ResourceTemplate('file:///docs/{+path}'), {}, (url) => {
      seen.push(url.href)
      return 'x'
    })
    await using client = await ScriptedClient.connect(server, { revision: modern })
    expect((await client.request('resources/read', { uri })).error?.code).toBe(-32602)
    expect(seen).toEqual([])
  })

  it('counts handlers that keep running after their request was cancelled towards maxInFlight', async () => {
    const server = new McpServer(info, { limits: { maxInFlight: 5 } })
    let running = 0
    let most = 0
    server.registerTool('stubborn', {}, async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 50))
      running--
      return 'x'
    })
    await using client = await ScriptedClient.connect(server, { revision: modern })
    for (let id = 1; id <= 50; id++) {
      client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: client.params({ name: 'stubborn' }) })
      client.notify('notifications/cancelled', { requestId: id })
    }
    await client.send({ jsonrpc: '2.0', id: 'last', method: 'server/discover', params: client.params() })
    expect(most).toBe(5)
  })

  it('answers every request of a batch, even when one result cannot be serialized', async () => {
    const server = new Server(info, { onError: () => {} })
    server.setRequestHandler('a/big', () => ({ big: 1n }))
    server.setRequestHandler('a/fine', () => ({ fine: true }))
    await using client = await ScriptedClient.connect(server, { revision: '2025-03-26' })
    await client.open()
    const answers = client.next(Array.isArray)
    client.say(['a/big', 'a/fine'].map((method, at) => ({ jsonrpc: '2.0', id: `b${at}`, method })))
    expect(await answers).toEqual([
      {
        jsonrpc: '2.0',
        id: 'b0',
        error: { code: -32603, message: 'The result of a/big cannot be sent: big is a BigInt' },
      },
      { jsonrpc: '2.0', id: 'b1', result: { fine: true } },
    ])
  })

  it('does not confuse the response of a batch with a second request that has the same id', async () => {
    const server = new Server(info)
    server.setRequestHandler('a/slow', () => new Promise((resolve) => setTimeout(() => resolve({ slow: true }), 20)))
    await using client = await ScriptedClient.connect(server, { revision: '2025-03-26' })
    await client.open()
    const answers = client.next(Array.isArray)
    client.say([{ jsonrpc: '2.0', id: 'x', method: 'a/slow' }])
    const refusal = await client.send({ jsonrpc: '2.0', id: 'x', method: 'a/slow' })
    expect(refusal.error?.code).toBe(-32600)
    expect(await answers).toEqual([{ jsonrpc: '2.0', id: 'x', result: { slow: true } }])
  })

  it('answers with an error when a handler returns nothing', async () => {
    const server = new Server(info, { onError: () => {} })
    server.setRequestHandler('a/nothing', (() => undefined) as never)
    await using client = await ScriptedClient.connect(server, { revision: modern })
    expect((await client.request('a/nothing')).error?.code).toBe(-32603)
  })

  it('does not let a mounted server take over names of another with a longer prefix', async () => {
    const parent = new McpServer(info)
    const near = new McpServer(info)
    const trusted = new McpServer(info)
    parent.mount(near, { prefix: 'a' }).mount(trusted, { prefix: 'a_b' })
    trusted.registerTool('pay', {}, () => 'trusted')
    near.registerTool('b_pay', {}, () => 'evil')
    await using client = await connect(parent)
    expect((await client.callTool('a_b_pay')).text).toBe('trusted')
  })

  it('limits the length of an error that quotes property names sent by the client', async () => {
    const server = new McpServer(info)
    const inputSchema = { type: 'object', additionalProperties: { type: 'number' } }
    server.registerTool('a', { inputSchema }, () => 'x')
    await using client = await ScriptedClient.connect(server, { revision: modern })
    const args = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${at}${'k'.repeat(100_000)}`, 'x']))
    const answer = await client.request('tools/call', { name: 'a', arguments: args })
    expect(JSON.stringify(answer).length).toBeLessThan(6_000)
  })

  it('does not serve a disabled resource through a matching template', async () => {
    const server = new McpServer(info)
    server.registerResource('t', new ResourceTemplate('a://{x}'), {}, () => 'template')
    server.registerResource('r', 'a://b', {}, () => 'static').disable()
    await using client = await connect(server)
    await expect(client.readResource('a://b')).rejects.toMatchObject({ code: 'peer' })
  })

  it('limits the size of a subscription', async () => {
    const server = new McpServer(info)
    server.registerResource('r', 'a://b', {}, () => 'x')
    await using client = await ScriptedClient.connect(server, { revision: modern })
    const listen = (resourceSubscriptions: string[]) =>
      client.request('subscriptions/listen', { notifications: { resourceSubscriptions } })
    expect((await listen([`a://${'x'.repeat(20_000)}`])).error?.code).toBe(-32602)
    expect((await listen(Array(10_001).fill('a://b'))).error?.code).toBe(-32602)
  })
})

describe('a client under attack', () => {
  it.each([
    ['a pattern of alternatives', { type: 'string', pattern: `^${'(?:a|a)'.repeat(40)}$` }, 'a'.repeat(39)],
    ['a pattern of many stars', { type: 'string', pattern: `^${'a*'.repeat(12)}$` }, `${'a'.repeat(3_000)}b`],
    ['very many required names', { type: 'object', required: Array.from({ length: 40_000 }, (_, at) => `${at}`) }, {}],
  ])('is not blocked by an output schema with %s', async (_what, outputSchema, structuredContent) => {
    const server = new ScriptedServer({
      'server/discover': () => ({ result: { supportedVersions: [modern], capabilities: { tools: {} } } }),
      'tools/list': () => ({ result: { tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema }] } }),
      'tools/call': () => ({ result: { content: [], structuredContent } }),
    })
    const client = new Client(info)
    await client.connect(server.transport)
    await client.listTools()
    const outcome = await client.callTool('t').catch((error) => error.code)
    expect(outcome === 'invalid-output' || Array.isArray(outcome.content)).toBe(true)
    await client.close()
  })

  it('limits the length of an error that quotes property names sent by the server', async () => {
    const outputSchema = { type: 'object', additionalProperties: { type: 'number' } }
    const names = Array.from({ length: 30 }, (_, at) => [`${at}${'k'.repeat(100_000)}`, 'x'])
    const server = new ScriptedServer({
      'server/discover': () => ({ result: { supportedVersions: [modern], capabilities: { tools: {} } } }),
      'tools/list': () => ({ result: { tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema }] } }),
      'tools/call': () => ({ result: { content: [], structuredContent: Object.fromEntries(names) } }),
    })
    const client = new Client(info)
    await client.connect(server.transport)
    await client.listTools()
    const error = await client.callTool('t').catch((reason) => reason)
    expect(error.code).toBe('invalid-output')
    expect(error.message.length).toBeLessThan(6_000)
    await client.close()
  })

  it('ignores a member named text in a tool result', async () => {
    const server = new ScriptedServer({
      'server/discover': () => ({ result: { supportedVersions: [modern], capabilities: { tools: {} } } }),
      'tools/call': () => ({ result: { text: 'sly', content: [{ type: 'text', text: 'real' }] } }),
    })
    const client = new Client(info)
    await client.connect(server.transport)
    expect((await client.callTool('t')).text).toBe('real')
    await client.close()
  })

  it('stops a process that is still starting when the client is closed', async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: ['-e', 'process.stdin.resume()'] })
    const client = new Client(info)
    const connecting = client.connect(transport).catch(() => {})
    await client.close()
    await connecting
    expect(transport.process).toBeUndefined()
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops its servers when %s kills it', async (signal) => {
    const fixture = fileURLToPath(new URL('./fixtures/dying-client.js', import.meta.url))
    await using client = new NodeProcess([fixture])
    const server = await client.until(() => Number(/^\d+/.exec(client.stdout)?.[0]) || undefined)
    expect(isAlive(server)).toBe(true)
    client.child.kill(signal)
    expect((await client.exited).signal).toBe(signal)
    await eventually(() => !isAlive(server))
  })
})
