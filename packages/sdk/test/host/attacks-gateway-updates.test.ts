import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'

describe('log messages of a server whose connection all callers share', () => {
  it('do not reach another caller than the one whose call caused them', async () => {
    const server = new McpServer({ name: 'notes', version: '1' }, { revisions: ['2025-11-25'] })
    const gates = [deferred<void>(), deferred<void>()]
    const begun = [deferred<void>(), deferred<void>()]
    let calls = 0
    server.registerTool('quiet', {}, async () => {
      const call = calls++
      begun[call]?.resolve()
      await gates[call]?.promise
      return 'done'
    })
    await using upstream = await serveHttp(server, { port: 0, exit: false })
    await using gateway = await serveGateway({ notes: { url: upstream.url, shared: true } })
    const logs: unknown[] = []
    await using curious = await connect(gateway.url, { revision: '2026-07-28', logLevel: 'debug' })
    curious.on('log', ({ data }) => logs.push(data))
    await using other = await connect(gateway.url, { revision: '2026-07-28', logLevel: undefined })
    const first = curious.callTool('notes_quiet')
    await begun[0]?.promise
    const second = other.callTool('notes_quiet')
    await begun[1]?.promise
    server.server.sendLoggingMessage({ level: 'error', data: 'the secret of the other caller' })
    gates[1]?.resolve()
    await second
    gates[0]?.resolve()
    await first
    expect(logs).toEqual([])
  })
})

describe('a caller with many subscriptions', () => {
  it('can still call tools', async () => {
    const server = new McpServer({ name: 'notes', version: '1' }, { revisions: ['2026-07-28'] })
    server.registerTool('now', {}, () => 'now')
    server.registerResource('note', 'notes://0', {}, () => 'x')
    const errors: unknown[] = []
    await using gateway = await serveGateway(
      { notes: { server } },
      { server: { onError: (error) => void errors.push(error) } },
    )
    await using client = await connect(gateway.url, { revision: '2025-11-25' })
    const updated = new Set<string>()
    client.on('resourceUpdated', ({ uri }) => updated.add(uri))
    const uris = Array.from({ length: 1_010 }, (_, index) => `tenon-gateway:notes/notes%3A%2F%2F${index}!`)
    expect((await client.callTool('notes_now')).text).toBe('now')
    for (const uri of uris) await client.subscribeResource(uri)
    expect((await client.callTool('notes_now')).text).toBe('now')
    await eventually(() => {
      server.sendResourceUpdated('notes://1009!')
      return updated.size > 0
    })
    expect([...updated]).toEqual([uris.at(-1)])
    expect(errors).toEqual([])
  })
})

describe('subscriptions of several callers to one resource', () => {
  it('end at the server with the last of them, however many began at the same time', async () => {
    const server = new McpServer({ name: 'notes', version: '1' }, { revisions: ['2026-07-28'] })
    server.registerResource('today', 'notes://today', {}, () => 'x')
    const subscriptions = countSubscriptions(server)
    await using upstream = await serveHttp(server, { port: 0, exit: false })
    await using gateway = await serveGateway({ notes: { url: upstream.url } })
    const updates: string[] = []
    const callers = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const client = await connect(gateway.url, { revision: '2025-11-25' })
        client.on('resourceUpdated', () => updates.push(name))
        return client
      }),
    )
    await Promise.all(callers.map((client) => client.subscribeResource('notes://today')))
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return new Set(updates).size === callers.length
    })
    expect(subscriptions.now).toBe(1)
    for (const client of callers) await client.unsubscribeResource('notes://today')
    await eventually(() => subscriptions.now === 0, 5_000)
    for (const client of callers) await client.close()
  })

  it('stay when one begins while another ends, in whatever order the server handles the requests', async () => {
    await using upstream = await serveSlowUnsubscribe()
    await using gateway = await serveGateway({ notes: { url: upstream.url, shared: true } })
    await using a = await connect(gateway.url, { revision: '2025-11-25' })
    await using b = await connect(gateway.url, { revision: '2025-11-25' })
    const uri = 'tenon-gateway:notes/notes%3A%2F%2Ftoday'
    await a.subscribeResource(uri)
    await eventually(() => upstream.subscribed.has('notes://today'))
    await a.unsubscribeResource(uri)
    await upstream.unsubscribing
    // Confirmed when the server has it, after the request to unsubscribe.
    const subscribing = b.subscribeResource(uri)
    // Lets the server handle the request to unsubscribe, after those that arrived meanwhile.
    await b.callTool('notes_continue')
    await subscribing
    await eventually(() => upstream.handled.filter((method) => method.endsWith('subscribe')).length >= 3)
    expect([...upstream.subscribed]).toEqual(['notes://today'])
  })
})

describe.each(['2025-11-25', '2026-07-28'] as const)('a client of %s', (revision) => {
  it('that subscribes twice at the same time has one subscription, and ends it', async () => {
    const server = new McpServer({ name: 'notes', version: '1' }, { revisions: [revision] })
    server.registerResource('today', 'notes://today', {}, () => 'x')
    const subscriptions = countSubscriptions(server)
    await using upstream = await serveHttp(server, { port: 0, exit: false })
    await using client = await connect(upstream.url, { revision })
    await Promise.all([client.subscribeResource('notes://today'), client.subscribeResource('notes://today')])
    expect(subscriptions.now).toBe(1)
    await client.unsubscribeResource('notes://today')
    await eventually(() => subscriptions.now === 0, 5_000)
    const subscribing = client.subscribeResource('notes://today')
    await client.unsubscribeResource('notes://today')
    await subscribing
    await eventually(() => subscriptions.now === 0, 5_000)
  })
})

/** Counts the subscriptions at a server. */
function countSubscriptions({ server }: McpServer): { now: number } {
  const count = { now: 0 }
  server.followSubscriptions(() => ({
    audience: '',
    added: () => void count.now++,
    removed: () => void count.now--,
  }))
  return count
}

/** A server of 2025-11-25 that handles the request to unsubscribe only when its tool was called. */
async function serveSlowUnsubscribe() {
  const subscribed = new Set<string>()
  const handled: string[] = []
  const unsubscribing = deferred<void>()
  const gate = deferred<void>()
  const tool = { name: 'continue', inputSchema: { type: 'object' } }
  const answers: Record<string, (uri: string) => object | Promise<object>> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { resources: { subscribe: true }, tools: {} },
      serverInfo: { name: 'notes', version: '1' },
    }),
    'tools/list': () => ({ tools: [tool] }),
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/subscribe': (uri) => {
      subscribed.add(uri)
      return {}
    },
    'resources/unsubscribe': async (uri) => {
      unsubscribing.resolve()
      await gate.promise
      subscribed.delete(uri)
      return {}
    },
    'tools/call': () => {
      gate.resolve()
      return { content: [] }
    },
  }
  const http = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { id, method, params } = body ? JSON.parse(body) : {}
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    const answer = answers[method]
    const outcome = answer
      ? { result: await answer(params?.uri) }
      : { error: { code: -32601, message: 'Method not found' } }
    handled.push(method)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    subscribed,
    handled,
    unsubscribing: unsubscribing.promise,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
