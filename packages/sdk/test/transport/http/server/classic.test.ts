import type { IncomingMessage, ServerResponse } from 'node:http'
import { revisionIds } from 'tenon'
import {
  MemoryEventStore,
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { overFetch, overHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, handshakeRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { withProgress, workshop } from '../../../kit/workshop.ts'

type Options = StreamableHTTPServerTransportOptions

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
}

/** One transport behind one URL. */
async function one(options: Options, server = workshop()) {
  const transport = new StreamableHTTPServerTransport(options)
  await server.connect(transport)
  const http = await listenWith((request, response) => void transport.handleRequest(request, response))
  return { ...http, transport }
}

/** Routes sessions as documented for the classic transport: one transport each, kept in a map, with parsed bodies. */
async function routed(server = workshop(), options: Options = {}) {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = request.method === 'POST' ? await bodyOf(request) : undefined
    const known = transports.get(String(request.headers['mcp-session-id']))
    if (known) return known.handleRequest(request, response, body)
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
      ...options,
    })
    transport.onclose = () => void (transport.sessionId && transports.delete(transport.sessionId))
    await server.connect(transport)
    return transport.handleRequest(request, response, body)
  }
  const http = await listenWith((request, response) => void answer(request, response))
  return { ...http, transports }
}

describe('StreamableHTTPServerTransport with a session', () => {
  eachRevision(
    handshakeRevisions,
    'uses the id of the generator and calls the callbacks when it starts and ends [SDK-005, SESS-001]',
    async (revision) => {
      const told: string[] = []
      await using http = await one({
        sessionIdGenerator: () => 'chosen-by-me',
        onsessioninitialized: (id) => void told.push(`initialized ${id}`),
        onsessionclosed: (id) => void told.push(`closed ${id}`),
      })
      expect(http.transport.sessionId).toBeUndefined()
      await using peer = await Peer.open(http.url, revision)
      expect([peer.sessionId, http.transport.sessionId]).toEqual(['chosen-by-me', 'chosen-by-me'])
      expect(told).toEqual(['initialized chosen-by-me'])
      expect(await peer.textOf('session')).toBe('chosen-by-me')
      expect((await peer.delete()).status).toBe(200)
      expect(told).toEqual(['initialized chosen-by-me', 'closed chosen-by-me'])
    },
  )

  it('calls onsessioninitialized before the response, so the next request finds the session [SDK-005]', async () => {
    await using http = await routed()
    await using peer = new Peer(http.url, '2025-11-25')
    const opening = await peer.request('initialize', peer.greeting())
    expect(http.transports.has(opening.headers['mcp-session-id'] ?? '')).toBe(true)
  })

  it('waits for an async onsessioninitialized before it answers [SDK-005]', async () => {
    const begun = gate()
    const finish = gate()
    let isDone = false
    const onsessioninitialized = async () => {
      begun.open()
      await finish.opened
      isDone = true
    }
    await using http = await one({ sessionIdGenerator: () => 'slow', onsessioninitialized })
    await using peer = new Peer(http.url, '2025-11-25')
    const seen = peer.request('initialize', peer.greeting()).then(() => isDone)
    await begun.opened
    // Enough time for a response that is not delayed.
    setTimeout(finish.open, 50)
    expect(await seen).toBe(true)
  })

  eachRevision(
    sessionRevisions,
    'calls onclose and ends its streams when the session ends [SDK-005, SESS-008]',
    async (revision) => {
      const closed = gate()
      await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() })
      const before = http.transport.onclose
      http.transport.onclose = (detail) => {
        before?.(detail)
        closed.open()
      }
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.get()
      await peer.delete()
      await closed.opened
      expect(await stream.ended).toBe('ended')
      // The transport ended with its session, so the request belongs to none.
      expect([404, 503]).toContain((await peer.call('echo')).status)
    },
  )

  eachRevision(
    sessionRevisions,
    'answers a request with the id of the ended session with 404 [SESS-008]',
    async (revision) => {
      await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() })
      await using peer = await Peer.open(http.url, revision)
      await peer.delete()
      expect((await peer.call('echo')).status).toBe(404)
    },
    it,
  )

  it('rejects a second initialize: one transport has one session', async () => {
    await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() })
    await using first = await Peer.open(http.url, '2025-11-25')
    await using second = new Peer(http.url, '2025-11-25')
    const answer = await second.request('initialize', second.greeting())
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
    expect(await first.textOf('session')).toBe(first.sessionId)
  })

  eachRevision(
    sessionRevisions,
    'answers POST, GET and DELETE without an id with 400, -32000 and id null [SDK-006, SESS-006]',
    async (revision) => {
      await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() })
      await using peer = new Peer(http.url, revision)
      for (const answer of [await peer.call('echo'), await peer.get(), await peer.delete()]) {
        const { id, error } = await answer.json()
        expect([answer.status, id, error?.code]).toEqual([400, null, -32000])
      }
    },
  )

  eachRevision(
    handshakeRevisions,
    'serves many sessions of one server, routed by a map as documented [SDK-005]',
    async (revision) => {
      await using http = await routed()
      const peers = await Promise.all(Array.from({ length: 10 }, () => Peer.open(http.url, revision)))
      expect(http.transports.size).toBe(10)
      const texts = await Promise.all(peers.map((peer, index) => peer.textOf('echo', { text: `${index}` })))
      expect(texts).toEqual(peers.map((_, index) => `${index}`))
      expect(new Set(await Promise.all(peers.map((peer) => peer.textOf('session')))).size).toBe(10)
      for (const peer of peers) await peer[Symbol.asyncDispose]()
    },
  )

  it('calls an onclose that was set before connecting, which documented code relies on [SDK-005]', async () => {
    const closed = gate<boolean>()
    const server = workshop()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    transport.onclose = () => closed.open(true)
    await server.connect(transport)
    await transport.close()
    closed.open(false)
    expect(await closed.opened).toBe(true)
  })

  it(`${modern} needs no session`, async () => {
    await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() })
    await using peer = new Peer(http.url, modern)
    expect(await peer.textOf('session')).toBe('none')
  })
})

describe('StreamableHTTPServerTransport without sessions', () => {
  for (const revision of revisionIds) {
    it(`${revision}: one transport serves any number of requests and clients [SDK-003]`, async () => {
      await using http = await one({ sessionIdGenerator: undefined })
      const headers = { 'mcp-protocol-version': revision }
      const texts = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          await using peer = new Peer(http.url, revision, { headers })
          const answer = await peer.call('echo', { text: `${index}` }, { id: 1 })
          return (await answer.response()).result?.content?.[0]?.text
        }),
      )
      expect(texts).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`))
    })

    it(`${revision}: a transport for each request, as documented, does not mix up equal ids [SDK-003]`, async () => {
      const server = workshop()
      const everyone = gate()
      let present = 0
      server.registerTool('meet', {}, async (_, ctx) => {
        if (++present === 10) everyone.open()
        await everyone.opened
        return ctx.request?.header('x-who') ?? ''
      })
      await using http = await listenWith(async (request, response) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        response.on('close', () => void transport.close())
        await server.connect(transport)
        await transport.handleRequest(request, response, await bodyOf(request))
      })
      const texts = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const headers = { 'mcp-protocol-version': revision, 'x-who': `${index}` }
          await using peer = new Peer(http.url, revision, { headers })
          return (await (await peer.call('meet', {}, { id: 1 })).response()).result?.content?.[0]?.text
        }),
      )
      expect(texts).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`))
    })
  }

  eachRevision(sessionRevisions, 'answers GET and DELETE with 405 [HTTP-029, SESS-011, HTTP-030]', async (revision) => {
    await using http = await one({})
    await using peer = new Peer(http.url, revision)
    for (const answer of [await peer.get(), await peer.delete()]) {
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
    }
  })
})

describe('the options of StreamableHTTPServerTransport', () => {
  for (const revision of revisionIds) {
    it(`${revision}: enableJsonResponse returns every response as JSON [SDK-004]`, async () => {
      await using http = await routed(workshop(), { enableJsonResponse: true })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.call('steps', {}, withProgress)
      expect([answer.type, (await answer.json()).result?.content?.[0]?.text]).toEqual([
        'application/json',
        'three steps',
      ])
    })
  }

  eachRevision(
    sessionRevisions,
    'eventStore makes streams resumable, and receives messages as objects [SSE-016]',
    async (revision) => {
      const inner = new MemoryEventStore()
      const kept: unknown[] = []
      const eventStore = {
        storeEvent: async (streamId: string, message: unknown) => {
          kept.push(message)
          return inner.storeEvent(streamId, message)
        },
        replayEventsAfter: async (id: string, to: { send(id: string, message: unknown): void | Promise<void> }) =>
          inner.replayEventsAfter(id, to),
      }
      await using http = await one({ sessionIdGenerator: () => crypto.randomUUID(), eventStore })
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('steps', {}, { ...withProgress, id: 4 })
      await stream.ended
      expect(kept.every((message) => typeof message === 'object')).toBe(true)
      const resumed = await peer.resume(stream.events.find(({ data }) => data)!.id!)
      expect(await resumed.ended).toBe('ended')
      expect(resumed.messages).toEqual(stream.messages.slice(1))
    },
  )

  it('allowedHosts and allowedOrigins are exhaustive lists [SDK-008, HTTP-003]', async () => {
    await using http = await one({
      enableDnsRebindingProtection: true,
      allowedHosts: ['mcp.example'],
      allowedOrigins: ['https://app.example'],
    })
    const way = overHttp(http.url)
    const statusOf = async (headers: Record<string, string>) => {
      await using peer = new Peer((ask) => way({ ...ask, headers: { ...ask.headers, ...headers } }), modern)
      return (await peer.call('echo')).status
    }
    expect(await statusOf({ host: 'mcp.example' })).toBe(200)
    expect(await statusOf({ host: 'mcp.example', origin: 'https://app.example' })).toBe(200)
    expect(await statusOf({ host: 'evil.example' })).toBe(403)
    expect(await statusOf({ host: '127.0.0.1' })).toBe(403)
    expect(await statusOf({ host: 'mcp.example', origin: 'https://evil.example' })).toBe(403)
  })

  it('checks are on by default, and off with enableDnsRebindingProtection: false [SDK-008, HTTP-003]', async () => {
    const origin = { headers: { origin: 'https://evil.example' } }
    await using guarded = await one({})
    await using refused = new Peer(guarded.url, modern, origin)
    expect((await refused.call('echo')).status).toBe(403)
    await using open = await one({ enableDnsRebindingProtection: false })
    await using peer = new Peer(open.url, modern, origin)
    expect((await peer.call('echo')).status).toBe(200)
  })
})

describe('a transport and its server', () => {
  it('one process can have two servers, each behind its own transport', async () => {
    const first = workshop()
    first.registerTool('name', {}, () => 'first')
    const second = workshop()
    second.registerTool('name', {}, () => 'second')
    await using a = await one({ sessionIdGenerator: () => crypto.randomUUID() }, first)
    await using b = await one({ sessionIdGenerator: () => crypto.randomUUID() }, second)
    await using one_ = await Peer.open(a.url, '2025-11-25')
    await using two = await Peer.open(b.url, '2025-11-25')
    expect([await one_.textOf('name'), await two.textOf('name')]).toEqual(['first', 'second'])
    expect((await two.at(a.url).call('name')).status).toBe(404)
  })

  it('a transport cannot be connected twice', async () => {
    const transport = new StreamableHTTPServerTransport({})
    await workshop().connect(transport)
    await expect(workshop().connect(transport)).rejects.toThrow(/connected already/)
  })

  it('a request before connect is answered with 500', async () => {
    const transport = new StreamableHTTPServerTransport({})
    await using http = await listenWith((request, response) => void transport.handleRequest(request, response))
    await using peer = new Peer(http.url, modern)
    expect((await peer.call('echo')).status).toBe(500)
  })

  it('a fetch before connect is answered with 500', async () => {
    const transport = new StreamableHTTPServerTransport({})
    await using peer = new Peer(overFetch({ fetch: (request) => transport.handleFetch(request) }), modern)
    expect(await peer.call('echo')).toMatchObject({ status: 500 })
  })

  it('server.close() closes the transport', async () => {
    const server = workshop()
    await using http = await one({ sessionIdGenerator: () => crypto.randomUUID() }, server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const stream = await peer.get()
    await server.close()
    expect(await stream.ended).toBe('ended')
    expect([404, 503]).toContain((await peer.call('echo')).status)
  })
})
