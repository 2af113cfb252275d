import { revisionIds } from 'tenon'
import { createMcpHandler, type HttpOptions, type McpServer, StreamableHTTPServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { overFetch, overHttp, type SendHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { onlyModern, registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

/** Creates a handler that is reachable through both of its functions, fetch and node. */
async function handling(server: McpServer, options: HttpOptions = {}) {
  const handler = createMcpHandler(server, options)
  const http = await listenWith(handler.node)
  return {
    handler,
    doors: { fetch: overFetch(handler), node: overHttp(http.url) },
    [Symbol.asyncDispose]: async () => {
      await handler.close(100)
      await http[Symbol.asyncDispose]()
    },
  }
}

type DoorName = 'fetch' | 'node'

/** Runs a test with each function of a handler. */
function eachDoor(title: string, body: (name: DoorName) => Promise<void>): void {
  for (const name of ['fetch', 'node'] as const) it(`${name}: ${title}`, () => body(name))
}

describe('createMcpHandler', () => {
  for (const revision of revisionIds) {
    eachDoor(`${revision}: serves calls as JSON and as streams [HTTP-016, HTTP-024]`, async (name) => {
      await using served = await handling(workshop())
      await using peer = await Peer.open(served.doors[name], revision)
      expect(await peer.textOf('revision')).toBe(revision)
      const stream = await peer.call('steps', {}, withProgress)
      expect([stream.status, stream.headers['x-accel-buffering'], await stream.ended]).toEqual([200, 'no', 'ended'])
      expect(stream.methods.filter((method) => method === 'notifications/progress')).toHaveLength(3)
      expect(stream.messages.at(-1)?.result?.content?.[0]?.text).toBe('three steps')
    })
  }

  for (const revision of httpRevisions) {
    eachDoor(`${revision}: answers notifications with 202 and no body [HTTP-013]`, async (name) => {
      await using served = await handling(workshop())
      await using peer = await Peer.open(served.doors[name], revision)
      const answer = await peer.notify('notifications/x')
      expect([answer.status, await answer.text()]).toEqual([202, ''])
    })
  }

  for (const revision of sessionRevisions) {
    eachDoor(`${revision}: keeps sessions until DELETE [SESS-001, SESS-008]`, async (name) => {
      await using served = await handling(workshop())
      await using peer = await Peer.open(served.doors[name], revision)
      expect(await peer.textOf('session')).toBe(peer.sessionId)
      const stream = await peer.get()
      expect((await peer.delete()).status).toBe(200)
      expect(await stream.ended).toBe('ended')
      expect((await peer.call('echo')).status).toBe(404)
    })

    eachDoor(`${revision}: GET streams deliver changes and can be resumed [SSE-016]`, async (name) => {
      const server = workshop()
      await using served = await handling(server)
      await using peer = await Peer.open(served.doors[name], revision)
      const stream = await peer.get()
      server.sendLoggingMessage({ level: 'error', data: 1 })
      await stream.notified('notifications/message')
      stream.close()
      await eventually(() => served.handler.metrics.streams === 0)
      server.sendLoggingMessage({ level: 'error', data: 2 })
      const resumed = await peer.resume(stream.ids.at(-1)!)
      expect((await resumed.notified('notifications/message')).params?.data).toBe(2)
    })

    eachDoor(`${revision}: a lost stream does not cancel its call [HTTP-025]`, async (name) => {
      const server = workshop()
      const slow = registerSlow(server)
      const done = gate<boolean>()
      server.use(async ({ ctx }, next) => {
        const result = await next()
        done.open(ctx.signal.aborted)
        return result
      })
      await using served = await handling(server)
      await using peer = await Peer.open(served.doors[name], revision)
      const stream = await peer.call('slow', {}, withProgress)
      await stream.notified('notifications/progress')
      stream.close()
      await eventually(() => served.handler.metrics.streams === 0)
      slow.finish('on')
      expect(await done.opened).toBe(false)
    })
  }

  eachDoor(`${modern}: a closed stream cancels its call [HTTP-054]`, async (name) => {
    const server = workshop()
    const slow = registerSlow(server)
    await using served = await handling(server)
    await using peer = await Peer.open(served.doors[name], modern)
    const stream = await peer.call('slow', {}, withProgress)
    await stream.notified('notifications/progress')
    stream.close()
    await slow.aborted
    await eventually(() => served.handler.metrics.calls === 0 && served.handler.metrics.streams === 0)
  })

  it(`fetch: ${modern}: an aborted request cancels its call before the response begins [HTTP-054]`, async () => {
    const server = workshop()
    const slow = registerSlow(server)
    const handler = createMcpHandler(server)
    const abort = new AbortController()
    const way: SendHttp = ({ headers, body }) => {
      const fields = headers as Record<string, string>
      const request = new Request('http://localhost/mcp', {
        method: 'POST',
        headers: fields,
        body: body!,
        signal: abort.signal,
      })
      return handler.fetch(request) as never
    }
    void new Peer(way, modern).call('slow')
    await slow.began
    abort.abort()
    await slow.aborted
    expect(handler.metrics.calls).toBe(0)
  })

  eachDoor(`${modern}: subscriptions deliver changes, and close() completes them [SUB-015, SUB-012]`, async (name) => {
    const server = workshop()
    await using served = await handling(server)
    await using peer = await Peer.open(served.doors[name], modern)
    const stream = await peer.listen({ toolsListChanged: true }, 'x')
    server.sendToolListChanged()
    await stream.notified('notifications/tools/list_changed')
    await served.handler.close()
    expect(await stream.ended).toBe('ended')
    expect(stream.messages.at(-1)).toMatchObject({ id: 'x', result: { resultType: 'complete' } })
  })

  eachDoor('rejects requests with the same errors [HTTP-004, HTTP-030, HTTP-040, HTTP-045, HDR-009]', async (name) => {
    await using served = await handling(workshop())
    await using old = await Peer.open(served.doors[name], '2025-11-25')
    await using young = new Peer(served.doors[name], modern)
    const answers = {
      origin: await young.call('echo', {}, { headers: { origin: 'https://evil.example' } }),
      put: await young.send('PUT', {}),
      version: await old.call('echo', {}, { headers: { 'mcp-protocol-version': 'x' } }),
      method: await young.request('no/such'),
      header: await young.call('echo', {}, { headers: { 'mcp-name': 'other' } }),
      type: await young.call('echo', {}, { headers: { 'content-type': 'text/plain' } }),
      accept: await young.call('echo', {}, { headers: { accept: 'application/json' } }),
    }
    const seen = await Promise.all(
      Object.values(answers).map(async (answer) => [answer.status, answer.type, (await answer.json()).error?.code]),
    )
    const json = 'application/json'
    expect(seen).toEqual([
      [403, json, -32000],
      [405, json, -32000],
      [400, json, -32000],
      [404, json, -32601],
      [400, json, -32020],
      [415, json, -32000],
      [406, json, -32000],
    ])
    expect(answers.put.headers.allow).toBe('GET, POST, DELETE')
  })

  eachDoor(`with ${modern} only: GET and DELETE are a 405 [HTTP-058]`, async (name) => {
    await using served = await handling(workshop(onlyModern))
    await using peer = new Peer(served.doors[name], modern)
    for (const answer of [await peer.get(), await peer.delete()]) {
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
    }
  })

  eachDoor('idle streams send comments [HTTP-052]', async (name) => {
    await using served = await handling(workshop(), { keepAliveMs: 5 })
    await using peer = await Peer.open(served.doors[name], modern)
    const stream = await peer.listen({ toolsListChanged: true })
    await stream.until(() => stream.comments.length >= 2)
  })

  it('one handler serves a session through fetch and node at once', async () => {
    await using served = await handling(workshop())
    await using peer = await Peer.open(served.doors.fetch, '2025-11-25')
    await using other = peer.at(served.doors.node)
    expect(await other.textOf('session')).toBe(peer.sessionId)
  })

  it('fetch: the host is taken from the URL when there is no Host header [HTTP-003]', async () => {
    const handler = createMcpHandler(workshop())
    await using foreign = new Peer(overFetch(handler, 'http://evil.example'), modern)
    expect((await foreign.call('echo')).status).toBe(403)
    const named = createMcpHandler(workshop(), { allowedHosts: ['mcp.example'] })
    await using peer = new Peer(overFetch(named, 'https://mcp.example'), modern)
    expect(await peer.textOf('echo', { text: 'x' })).toBe('x')
  })

  it('fetch: an identity from an authentication layer is in the context and owns the session [SESS-014]', async () => {
    const server = workshop()
    server.registerTool('who', {}, (_, ctx) => JSON.stringify(ctx.auth))
    const handler = createMcpHandler(server)
    const as = (auth: unknown) => overFetch({ fetch: (request) => handler.fetch(request, { auth }) })
    const alice = { clientId: 'app', extra: { sub: 'alice' } }
    await using peer = await Peer.open(as(alice), '2025-11-25')
    expect(JSON.parse((await peer.textOf('who')) ?? '')).toEqual(alice)
    await using thief = peer.at(as({ clientId: 'app', extra: { sub: 'mallory' } }))
    expect((await thief.call('who')).status).toBe(404)
  })

  it('fetch: accepts a parsed body', async () => {
    const handler = createMcpHandler(workshop())
    const way = overFetch({
      fetch: async (request) => handler.fetch(request, { parsedBody: await request.json() }),
    })
    await using peer = new Peer(way, modern)
    expect(await peer.textOf('echo', { text: 'parsed' })).toBe('parsed')
  })

  it('node: accepts a body parsed by a framework, from the request or as an argument', async () => {
    const handler = createMcpHandler(workshop())
    for (const way of ['property', 'argument'] as const) {
      await using http = await listenWith((request, response) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('end', () => {
          const body = JSON.parse(Buffer.concat(chunks).toString())
          if (way === 'argument') handler.node(request, response, body)
          else handler.node(Object.assign(request, { body }), response)
        })
      })
      await using peer = new Peer(http.url, modern)
      expect(await peer.textOf('echo', { text: way })).toBe(way)
    }
  })

  it('a handler can access the HTTP request of its call', async () => {
    const server = workshop()
    server.registerTool('headers', {}, (_, ctx) =>
      JSON.stringify([ctx.request?.header('X-Trace'), ctx.request?.headers['x-trace'], ctx.request?.url]),
    )
    await using served = await handling(server)
    for (const name of ['fetch', 'node'] as const) {
      await using peer = new Peer(served.doors[name], modern, { headers: { 'x-trace': 'abc' } })
      const [one, two, url] = JSON.parse((await peer.textOf('headers')) ?? '')
      expect([one, two, new URL(url, 'http://localhost').pathname]).toEqual(['abc', 'abc', '/mcp'])
    }
  })

  eachRevision(sessionRevisions, 'the classic transport has a fetch function too', async (revision) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    await workshop().connect(transport)
    await using peer = await Peer.open(overFetch({ fetch: (request) => transport.handleFetch(request) }), revision)
    expect(await peer.textOf('session')).toBe(peer.sessionId)
    await transport.close()
  })
})
