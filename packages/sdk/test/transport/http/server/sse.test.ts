import { McpServer, SSEServerTransport, serveHttp } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import type { NodeRequest } from '../../../../src/transport/http/server/node-request.ts'
import { eventually } from '../../../kit/eventually.ts'
import { overHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { officialSchema } from '../../../kit/official-schemas.ts'
import { handshakeRevisions, modern } from '../../../kit/revisions.ts'
import { listenWith, serve } from '../../../kit/serve-http.ts'
import { responses, SseClient } from '../../../kit/sse-peer.ts'
import { registerSlow, workshop } from '../../../kit/workshop.ts'

const old = { sse: true }

describe('2024-11-05: HTTP+SSE beside Streamable HTTP', () => {
  it('has a stream endpoint and a POST endpoint [SSE-001, SSE-005]', async () => {
    await using http = await serve(workshop(), old)
    await using client = await SseClient.open(http.url)
    expect([client.stream.status, client.stream.type]).toEqual([200, 'text/event-stream'])
    expect((await client.initialize()).result?.protocolVersion).toBe('2024-11-05')
    expect(await client.textOf('echo', { text: 'hello' })).toBe('hello')
    await using young = await Peer.open(http.url, modern)
    expect(await young.textOf('echo', { text: 'beside it' })).toBe('beside it')
    await using middle = await Peer.open(http.url, '2025-11-25')
    expect(await middle.textOf('echo', { text: 'too' })).toBe('too')
  })

  it.each([
    ['sse.messagesPath', { sse: { messagesPath: '/mcp' } }],
    ['sse.path', { path: '/sse', sse: true }],
  ])('refuses %s equal to the path of the MCP endpoint when it starts [SSE-027]', async (name, options) => {
    const starting = serveHttp(workshop(), { port: 0, exit: false, ...options })
    await expect(starting).rejects.toThrow(`${name} must differ from path, the MCP endpoint`)
  })

  it('is refused if its health check would hide the MCP endpoint', async () => {
    const message = "healthPath must differ from path, the MCP endpoint, but both are '/mcp'. Choose another path."
    await expect(serveHttp(workshop(), { port: 0, healthPath: '/mcp' })).rejects.toThrow(new TypeError(message))
  })

  it('is off by default [SSE-011]', async () => {
    await using http = await serve(workshop())
    const way = overHttp(http.url)
    const stream = await way({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream' } })
    const post = await way({ path: '/messages', headers: { 'content-type': 'application/json' }, body: '{}' })
    expect([stream.status, post.status]).toEqual([404, 404])
  })

  it('sends the endpoint event first, with a URI for this client only [SSE-002]', async () => {
    await using http = await serve(workshop(), old)
    await using one = await SseClient.open(http.url)
    await using two = await SseClient.open(http.url)
    for (const { stream, endpoint } of [one, two]) {
      expect(stream.events[0]?.event).toBe('endpoint')
      const uri = new URL(endpoint, http.url)
      expect([uri.origin, uri.pathname]).toEqual([new URL(http.url).origin, '/messages'])
    }
    expect(one.endpoint).not.toBe(two.endpoint)
  })

  it('sends messages as events of type message with the JSON message as data [SSE-004]', async () => {
    const server = workshop()
    await using http = await serve(server, old)
    await using client = await SseClient.open(http.url)
    await client.initialize()
    await client.request(2, 'tools/call', { name: 'steps', _meta: { progressToken: 't' } })
    server.sendToolListChanged()
    await client.stream.until(() => client.stream.events.find(({ data }) => data?.includes('list_changed')))
    const [endpoint, ...events] = client.stream.events
    expect(endpoint?.event).toBe('endpoint')
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['message']))
    const messages = responses(client.stream)
    expect(messages.map(({ method }) => method)).toEqual([
      undefined,
      ...Array(3).fill('notifications/progress'),
      undefined,
      'notifications/tools/list_changed',
    ])
    const schema = officialSchema('2024-11-05')
    const methods = ['initialize', undefined, undefined, undefined, 'tools/call', undefined]
    for (const [index, message] of messages.entries()) {
      expect(schema?.problem(message as never, methods[index])).toBeUndefined()
    }
  })

  it('answers a POST with 202 immediately, and sends the response on the stream [SSE-004]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server, old)
    await using client = await SseClient.open(http.url)
    await client.initialize()
    const post = await client.post({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'slow' } })
    expect(post.status).toBe(202)
    slow.finish('later')
    expect((await client.answerTo(9)).result?.content?.[0]?.text).toBe('later')
  })

  it('has configurable paths', async () => {
    await using http = await serve(workshop(), { sse: { path: '/old/stream', messagesPath: '/old/post' } })
    await using client = await SseClient.open(http.url, { path: '/old/stream' })
    expect(client.endpoint).toMatch(/^\/old\/post\?/)
    await client.initialize()
    expect(await client.textOf('echo', { text: 'x' })).toBe('x')
  })

  for (const revision of handshakeRevisions) {
    it(`supports ${revision} if the client requests it`, async () => {
      await using http = await serve(workshop(), old)
      await using client = await SseClient.open(http.url)
      expect((await client.initialize(revision)).result?.protocolVersion).toBe(revision)
      expect(await client.textOf('revision')).toBe(revision)
    })
  }

  it('does not mix up clients with equal request ids', async () => {
    await using http = await serve(workshop(), old)
    await using one = await SseClient.open(http.url)
    await using two = await SseClient.open(http.url)
    await Promise.all([one.initialize(), two.initialize()])
    const texts = await Promise.all([one.textOf('echo', { text: '1' }, 5), two.textOf('echo', { text: '2' }, 5)])
    expect(texts).toEqual(['1', '2'])
  })

  it('answers a POST to the endpoint of a closed stream with 404', async () => {
    await using http = await serve(workshop(), old)
    await using gone = await SseClient.open(http.url)
    gone.stream.close()
    await eventually(() => http.metrics.streams === 0)
    expect((await gone.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404)
  })

  it('answers a POST to the endpoint of another user with 404', async () => {
    const principal = (request: { header(name: string): string | undefined }) => request.header('x-user')
    await using http = await serve(workshop(), { sse: true, principal })
    await using alice = await SseClient.open(http.url, { headers: { 'x-user': 'alice' } })
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await alice.post(message, { 'x-user': 'mallory' })).status).toBe(404)
    expect((await alice.post(message)).status).toBe(202)
  })

  it('answers other methods on its paths with 405 and the allowed method [HTTP-030]', async () => {
    await using http = await serve(workshop(), old)
    const way = overHttp(http.url)
    const stream = await way({ method: 'POST', path: '/sse', body: '{}' })
    const post = await way({ method: 'GET', path: '/messages' })
    expect([stream.status, stream.headers.allow]).toEqual([405, 'GET'])
    expect([post.status, post.headers.allow]).toEqual([405, 'POST'])
  })

  it('checks Origin and Host on both paths [HTTP-003]', async () => {
    await using http = await serve(workshop(), old)
    await using client = await SseClient.open(http.url)
    const way = overHttp(http.url)
    for (const foreign of [{ origin: 'https://evil.example' }, { host: 'evil.example' }] as Record<string, string>[]) {
      const stream = await way({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream', ...foreign } })
      const post = await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, foreign)
      expect([stream.status, post.status]).toEqual([403, 403])
    }
  })

  it('ends the session and cancels the calls of a client that disconnects, without effect on others [SSE-026]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server, old)
    await using leaving = await SseClient.open(http.url)
    await using staying = await SseClient.open(http.url)
    await Promise.all([leaving.initialize(), staying.initialize()])
    await leaving.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } })
    await slow.began
    leaving.stream.close()
    await slow.aborted
    expect(await staying.textOf('echo', { text: 'here' })).toBe('here')
    expect(http.metrics.streams).toBe(1)
    expect((await leaving.post({ jsonrpc: '2.0', id: 2, method: 'ping' })).status).toBe(404)
  })

  it.each([
    [{ messagesPath: '/mcp' }, 'sse.messagesPath'],
    [{ path: '/mcp' }, 'sse.path'],
  ])('is refused with %j, which would hide the MCP endpoint [SSE-027]', async (sse, option) => {
    const message = `${option} must differ from path, the MCP endpoint, but both are '/mcp'. Choose another path.`
    await expect(serveHttp(workshop(), { port: 0, sse })).rejects.toThrow(new TypeError(message))
    await using http = await serve(workshop(), { path: '/other', sse })
    await using client = await Peer.open(http.url, '2025-11-25')
    expect(await client.textOf('echo', { text: 'both' })).toBe('both')
  })

  it('answers pending calls and ends the stream when the server closes', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server, { sse: true, graceMs: 5_000 })
    await using client = await SseClient.open(http.url)
    await client.initialize()
    await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } })
    await slow.began
    const closed = http.close()
    slow.finish('finished')
    expect((await client.answerTo(1)).result?.content?.[0]?.text).toBe('finished')
    expect(await client.stream.ended).toBe('ended')
    await closed
  })

  it('sends comments on idle streams', async () => {
    await using http = await serve(workshop(), { sse: true, keepAliveMs: 5 })
    await using client = await SseClient.open(http.url)
    await client.stream.until(() => client.stream.comments.length >= 2)
  })
})

/** The transport with application code that routes both endpoints. */
async function classic(options: ConstructorParameters<typeof SSEServerTransport>[2] = {}, server = workshop()) {
  const transports = new Map<string, SSEServerTransport>()
  const http = await listenWith((request: NodeRequest, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const user = request.headers['x-user']
    // Sets the identity as an authentication layer in front does.
    if (user !== undefined) request.auth = { subject: user, scopes: user === 'alice' ? ['admin'] : [] }
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response, options)
      transports.set(transport.sessionId, transport)
      response.on('close', () => transports.delete(transport.sessionId))
      server.connect(transport).catch(() => {})
      return
    }
    const transport = transports.get(url.searchParams.get('sessionId') ?? '')
    if (transport) void transport.handlePostMessage(request, response)
    else response.writeHead(404).end()
  })
  return { ...http, transports }
}

function guardedServer(): McpServer {
  const server = new McpServer({ name: 'lab', version: '1.0.0' }, { tasks: tasks() })
  server.registerTool('guarded', { requiredScopes: ['admin'] }, () => 'secret')
  server.registerTool('who', {}, (_args, ctx) => JSON.stringify([ctx.auth?.subject, ctx.request?.header('x-user')]))
  server.registerTool('report', { execution: { taskSupport: 'optional' } }, () => 'private')
  return server
}

async function openAs(user: string | undefined, url: string): Promise<SseClient> {
  const client = await SseClient.open(url, { headers: user === undefined ? {} : { 'x-user': user } })
  await client.initialize('2025-11-25')
  return client
}

describe('SSEServerTransport', () => {
  it('serves any number of clients of one server with manual routing [SSE-001, SSE-002, SSE-004]', async () => {
    await using http = await classic()
    await using one = await SseClient.open(http.url)
    await using two = await SseClient.open(http.url)
    expect(one.stream.events[0]).toMatchObject({ event: 'endpoint' })
    await Promise.all([one.initialize(), two.initialize()])
    const texts = await Promise.all([one.textOf('echo', { text: '1' }, 5), two.textOf('echo', { text: '2' }, 5)])
    expect(texts).toEqual(['1', '2'])
    expect([...http.transports.keys()].map((id) => `/messages?sessionId=${id}`)).toEqual([one.endpoint, two.endpoint])
  })

  it('has its own session', async () => {
    await using http = await classic()
    await using client = await SseClient.open(http.url)
    await client.initialize()
    expect(await client.textOf('session')).toBe([...http.transports.keys()][0])
  })

  it('accepts a parsed body', async () => {
    const server = workshop()
    let transport: SSEServerTransport | undefined
    await using http = await listenWith((request, response) => {
      if (request.method === 'GET') {
        transport = new SSEServerTransport('/messages?a=b', response)
        void server.connect(transport)
        return
      }
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        void transport?.handlePostMessage(request, response, JSON.parse(Buffer.concat(chunks).toString()))
      })
    })
    await using client = await SseClient.open(http.url)
    expect(client.endpoint).toMatch(/^\/messages\?a=b&sessionId=/)
    await client.initialize()
    expect(await client.textOf('echo', { text: 'parsed' })).toBe('parsed')
  })

  it('checks Origin and Host unless disabled [HTTP-003, SDK-008]', async () => {
    const foreign = { origin: 'https://evil.example', accept: 'text/event-stream' }
    await using guarded = await classic()
    expect((await overHttp(guarded.url)({ method: 'GET', headers: foreign })).status).toBe(403)
    await using client = await SseClient.open(guarded.url)
    expect((await client.post({ jsonrpc: '2.0', method: 'x' }, { origin: 'https://evil.example' })).status).toBe(403)
    await using open = await classic({ enableDnsRebindingProtection: false })
    await using stream = await overHttp(open.url)({ method: 'GET', headers: foreign })
    expect(stream.status).toBe(200)
    await using listed = await classic({ allowedOrigins: ['https://evil.example'] })
    await using allowed = await overHttp(listed.url)({ method: 'GET', headers: foreign })
    expect(allowed.status).toBe(200)
  })

  it('runs a guarded tool only for a caller whose request has the scope', async () => {
    await using http = await classic({}, guardedServer())
    await using alice = await openAs('alice', http.url)
    await using bob = await openAs('bob', http.url)
    await using anonymous = await openAs(undefined, http.url)
    expect(await alice.textOf('guarded')).toBe('secret')
    for (const client of [bob, anonymous]) {
      expect((await client.request(1, 'tools/call', { name: 'guarded' })).error?.message).toContain('admin')
    }
  })

  it('gives handlers access to the request of the call', async () => {
    await using http = await classic({}, guardedServer())
    await using alice = await openAs('alice', http.url)
    expect(await alice.textOf('who')).toBe(JSON.stringify(['alice', 'alice']))
  })

  it('does not give the task of a user to other users who know its id [TASK-049]', async () => {
    await using http = await classic({}, guardedServer())
    await using alice = await openAs('alice', http.url)
    await using bob = await openAs('bob', http.url)
    await using anonymous = await openAs(undefined, http.url)
    const { result } = await alice.request(1, 'tools/call', { name: 'report', task: {} })
    const { taskId } = (result as unknown as { task: { taskId: string } }).task
    for (const client of [bob, anonymous]) {
      const unknown = await client.request(1, 'tasks/result', { taskId: 'unknown' })
      const found = await client.request(2, 'tasks/result', { taskId })
      expect(found.error).toBeDefined()
      expect({ ...found.error }).toEqual({ ...unknown.error })
    }
    expect((await alice.request(2, 'tasks/result', { taskId })).result?.content?.[0]?.text).toBe('private')
  })

  it('has the user who opened the stream as its principal', async () => {
    await using http = await classic()
    await using _alice = await openAs('alice', http.url)
    await using _bob = await openAs('bob', http.url)
    const [alice, bob] = [...http.transports.values()].map(({ principal }) => principal)
    expect(alice).toContain('alice')
    expect(bob).toContain('bob')
  })

  it('ends its stream when the server closes', async () => {
    const server = workshop()
    await using http = await classic({}, server)
    await using client = await SseClient.open(http.url)
    await client.initialize()
    await server.close()
    expect(await client.stream.ended).toBe('ended')
  })
})
