import { createMcpHandler, type HttpOptions } from 'tenon/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { networkOf } from '../../../../src/util/account.ts'
import { eventually } from '../../../kit/eventually.ts'
import { modern } from '../../../kit/revisions.ts'
import { createServer, RawClient, serve } from './support.ts'

const forwarded: HttpOptions = { clientAddress: (request) => request.header('x-real-ip') }
const from = (address: string) => ({ 'X-Real-IP': address })

function createWithResources() {
  const server = createServer()
  server.registerResource('note', 'note://a', {}, () => 'A note')
  return server
}

function listenTo(client: RawClient, uris: string[], id = 1): string {
  return client.request(id, 'subscriptions/listen', { notifications: { resourceSubscriptions: uris } })
}

const noName = { 'Mcp-Name': undefined }

describe('anonymous callers', () => {
  it('have at most maxSessionsPerAddress sessions from one address', async () => {
    const http = await serve(createServer(), { maxSessionsPerAddress: 3 })
    const clients = []
    for (let count = 0; count < 3; count++) clients.push(await RawClient.open(http.port, '2025-11-25'))
    const refused = await clients[0]!.post(clients[0]!.initialize(), { 'Mcp-Session-Id': undefined })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(http.metrics.sessions).toMatchObject({ open: 3, refused: 1 })
    await clients[2]!.stillServes()
  })

  it('have at most 1,000 sessions from one address by default', async () => {
    const handler = createMcpHandler(createServer(), { clientAddress: () => '192.0.2.1' })
    const client = new RawClient(0, '2025-11-25')
    const open = async () => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: client.initialize() })
      const { status } = await handler.fetch(request)
      return status
    }
    for (let count = 0; count < 1_000; count++) expect(await open()).toBe(200)
    expect(await open()).toBe(429)
    await handler.close(0)
  })

  it('behind a proxy are distinguished by clientAddress', async () => {
    const http = await serve(createServer(), { ...forwarded, maxSessionsPerAddress: 1 })
    await RawClient.open(http.port, '2025-11-25', from('192.0.2.1'))
    await RawClient.open(http.port, '2025-11-25', from('192.0.2.2'))
    const again = new RawClient(http.port, '2025-11-25', from('192.0.2.1'))
    expect((await again.post(again.initialize())).status).toBe(429)
  })

  it('are not limited by maxSessionsPerPrincipal, and principals not by maxSessionsPerAddress', async () => {
    const principal: HttpOptions['principal'] = (request) => request.header('x-user')
    const http = await serve(createServer(), { principal, maxSessionsPerAddress: 1, maxSessionsPerPrincipal: 2 })
    await RawClient.open(http.port, '2025-11-25')
    for (let count = 0; count < 2; count++) await RawClient.open(http.port, '2025-11-25', { 'X-User': 'alice' })
    await RawClient.open(http.port, '2025-11-25', { 'X-User': '127.0.0.1' })
    const alice = new RawClient(http.port, '2025-11-25', { 'X-User': 'alice' })
    expect((await alice.post(alice.initialize())).status).toBe(429)
  })

  it('have at most maxStreamsPerAddress streams from one address', async () => {
    const http = await serve(createWithResources(), { ...forwarded, maxStreamsPerAddress: 2 })
    const client = new RawClient(http.port, modern, from('192.0.2.1'))
    for (let count = 0; count < 2; count++) await client.stream(listenTo(client, ['note://a']), noName)
    expect((await client.post(listenTo(client, ['note://a']), noName)).status).toBe(429)
    const other = new RawClient(http.port, modern, from('192.0.2.2'))
    await other.stream(listenTo(other, ['note://a']), noName)
    expect(http.metrics.streams).toBe(3)
  })
})

describe('the addresses of one IPv6 /64', () => {
  const hour = 1 / 3600
  const auth = {
    verify: () => undefined,
    authorizationServers: ['https://as.example'],
    resource: 'http://localhost/mcp',
    routes: {
      handles: (path: string) => path === '/login',
      respond: async () => ({ status: 200, headers: {}, body: '' }),
    },
  }

  it.each<[string, string, HttpOptions]>([
    ['rateLimit', '/mcp', { rateLimit: { perSecond: hour, burst: 2 } }],
    ['rateLimit.addressPerSecond', '/mcp', { rateLimit: { perSecond: 1_000, addressPerSecond: 1 } }],
    ['the rate limit of login pages', '/login', { auth, rateLimit: { perSecond: hour, burst: 2 } }],
    ['the address limit of login pages', '/login', { auth, rateLimit: { perSecond: 1_000, addressPerSecond: 1 } }],
  ])('share %s', async (_name, path, options) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const handler = createMcpHandler(createServer(), { ...forwarded, ...options } as object)
    onTestFinished(() => handler.close(0))
    const statusFrom = async (address: string) =>
      (await handler.fetch(new Request(`http://localhost${path}`, { headers: from(address) }))).status
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3::1']) expect(await statusFrom(address)).not.toBe(429)
    expect(await statusFrom('2001:db8:1:2::3')).toBe(429)
    expect(await statusFrom('2001:db8:1:3::1')).not.toBe(429)
  })
})

describe('subscriptions of one caller', () => {
  const many = (count: number, name: string) => Array.from({ length: count }, (_, index) => `note://${name}/${index}`)

  it('are limited across all of its streams, and released when a stream ends', async () => {
    const server = createWithResources()
    const http = await serve(server, forwarded)
    const client = new RawClient(http.port, modern, from('192.0.2.1'))
    const first = await client.stream(listenTo(client, many(9_900, 'a')), noName)
    await client.stream(listenTo(client, many(9_900, 'b')), noName)
    const refused = await client.post(listenTo(client, many(9_900, 'c')), noName)
    expect(refused.json.error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^Subscription limit reached/),
    })
    // A rejected request leaves nothing behind, and other callers are not affected.
    await client.stream(listenTo(client, many(200, 'd')), noName)
    const other = new RawClient(http.port, modern, from('192.0.2.2'))
    await other.stream(listenTo(other, many(9_900, 'e')), noName)
    expect(http.metrics.streams).toBe(4)
    first.connection.destroy()
    await eventually(() => http.metrics.streams === 3)
    await client.stream(listenTo(client, many(9_900, 'f')), noName)
  })

  it('are counted before their URIs are matched against templates, and each URI is matched once', async () => {
    const server = createWithResources()
    let matched = 0
    server.server.setResourceScopes(() => void matched++)
    const http = await serve(server, forwarded)
    const client = new RawClient(http.port, modern, from('192.0.2.1'))
    await client.stream(listenTo(client, [...many(9_000, 'a'), ...many(900, 'a')]), noName)
    expect(matched).toBe(9_000)
    await client.stream(listenTo(client, many(9_900, 'b')), noName)
    expect(matched).toBe(18_900)
    const refused = await client.post(listenTo(client, many(9_900, 'c')), noName)
    expect(refused.json.error?.message).toMatch(/^Subscription limit reached/)
    expect(matched).toBe(18_900)
  })

  it('are limited by the total length of their URIs', async () => {
    const http = await serve(createWithResources(), { ...forwarded, maxQueuedBytes: 16 * 1024 * 1024 })
    const client = new RawClient(http.port, modern, from('192.0.2.1'))
    const long = (name: string) =>
      Array.from({ length: 300 }, (_, index) => `note://${name}/${index}/${'x'.repeat(9_000)}`)
    await client.stream(listenTo(client, long('a')), noName)
    expect((await client.post(listenTo(client, long('b')), noName)).json.error?.code).toBe(-32602)
  })

  it('are limited in sessions too, and released when the session ends', async () => {
    const http = await serve(createWithResources(), forwarded)
    const subscribe = (client: RawClient, index: number, name: string) =>
      client.post(
        client.request(index + 1, 'resources/subscribe', { uri: `note://${name}/${'x'.repeat(9_900)}/${index}` }),
      )
    const first = await RawClient.open(http.port, '2025-11-25', from('192.0.2.1'))
    const second = await RawClient.open(http.port, '2025-11-25', from('192.0.2.1'))
    for (let index = 0; index < 400; index++) {
      expect((await subscribe(first, index, 'a')).json.error).toBeUndefined()
    }
    const { error } = (await subscribe(second, 0, 'b')).json
    // A few more fit, because the URIs are slightly shorter than the maximum.
    const isFull = error ?? (await fillUp(second, subscribe))
    expect(isFull).toMatchObject({ code: -32602, message: expect.stringMatching(/^Subscription limit reached/) })
    expect((await first.delete()).status).toBe(200)
    expect((await subscribe(second, 999, 'c')).json.error).toBeUndefined()
  })

  async function fillUp(
    client: RawClient,
    subscribe: (client: RawClient, index: number, name: string) => Promise<{ json: { error?: unknown } }>,
  ) {
    for (let index = 1; index < 20; index++) {
      const { error } = (await subscribe(client, index, 'b')).json
      if (error) return error
    }
    return undefined
  }
})

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('counts %s as %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  it('limits the length of the key that is derived from a header', () => {
    expect(networkOf('x'.repeat(10_000))).toHaveLength(100)
    expect(networkOf('a:'.repeat(10_000)).length).toBeLessThanOrEqual(100)
  })
})
