import { type Client, connect, SSEClientTransport, type TraceEvent } from 'tenon/client'
import { McpServer, type McpServerOptions, type ServeHttpOptions } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { Peer } from '../kit/http-peer.ts'
import { handshakeRevisions, modern, sessionRevisions } from '../kit/revisions.ts'
import { serve } from '../kit/serve-http.ts'
import { SseClient } from '../kit/sse-peer.ts'
import { type MovableTimers, movableTimers } from '../kit/time.ts'

const info = { name: 'pinged', version: '1' }
const minute = 60_000
/** A server that sends nothing on a quiet stream, as many do. */
const quiet: ServeHttpOptions = { keepAliveMs: 3_600_000 }

function createServer(options: McpServerOptions = {}): McpServer {
  const server = new McpServer(info, options)
  server.registerTool('hi', {}, () => 'hi')
  return server
}

type Revision = (typeof handshakeRevisions)[number]

/** Connects over the transport of a revision with an open stream, and counts the pings in both directions. */
async function opened(url: URL | string, revision: Revision, options: { ping?: false } = {}) {
  const pings = { client: 0, server: 0 }
  const trace = (event: TraceEvent) => {
    if (event.type !== 'message' || (event.message as { method?: string }).method !== 'ping') return
    pings[event.direction === 'sent' ? 'client' : 'server']++
  }
  const listening = { isOpen: revision === '2024-11-05' }
  const target = listening.isOpen ? new SSEClientTransport(new URL('/sse', url)) : String(url)
  const client: Client = await connect(target, {
    revision,
    ...options,
    trace: (event) => {
      trace(event)
      if (event.type === 'http-response' && event.headers['content-type']?.startsWith('text/event-stream'))
        listening.isOpen = true
    },
  })
  await eventually(() => listening.isOpen)
  return { client, pings }
}

/** Advances step by step, so that sockets get time in between. */
async function pass(timers: MovableTimers, ms: number, until: () => boolean = () => false): Promise<void> {
  for (let passed = 0; passed < ms && !until(); passed += 5_000) {
    await timers.advance(5_000)
    // A message and its answer over a local socket take a few turns of the event loop.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('pings of a server over HTTP', () => {
  it.each(handshakeRevisions)('are sent every minute while a stream is open (%s) [PING-004]', async (revision) => {
    using timers = movableTimers()
    await using http = await serve(createServer(), { sse: true })
    const { client, pings } = await opened(http.url, revision)
    for (const count of [1, 2]) {
      await pass(timers, 2 * minute, () => pings.server === count)
      await eventually(() => pings.server === count)
    }
    // Comments of the server show that the stream is alive, so the client does not ping.
    expect(pings).toEqual({ server: 2, client: 0 })
    await client.close()
  })

  it.each(handshakeRevisions)('can have another frequency, or be turned off (%s) [PING-004]', async (revision) => {
    using timers = movableTimers()
    await using often = await serve(createServer({ ping: { intervalMs: 30_000 } }), { sse: true })
    await using never = await serve(createServer({ ping: false }), { sse: true })
    const some = await opened(often.url, revision)
    const none = await opened(never.url, revision)
    await pass(timers, 35_000)
    await eventually(() => some.pings.server === 1)
    await pass(timers, 10 * minute)
    expect(none.pings.server).toBe(0)
    await Promise.all([some.client.close(), none.client.close()])
  })

  it.each(sessionRevisions)(
    'end the stream of a client that does not answer any more, but not its session (%s) [PING-005, PING-006]',
    async (revision) => {
      using timers = movableTimers()
      const onError = vi.fn()
      const ping = { intervalMs: 30_000, maxFailures: 2 }
      await using http = await serve(createServer({ ping, onError }))
      await using peer = await Peer.open(String(http.url), revision)
      const stream = await peer.get()
      await pass(timers, 5 * minute, () => stream.isOver)
      await stream.ended
      expect(onError.mock.calls.map(([error]) => error.message)).toEqual([
        'The client did not answer a ping (1 of 2)',
        'The client did not answer a ping (2 of 2)',
      ])
      expect(await peer.textOf('hi')).toBe('hi')
      expect((await peer.get()).status).toBe(200)
    },
  )

  it.each(sessionRevisions)('leave a client alone that never answers, by default (%s)', async (revision) => {
    using timers = movableTimers()
    const onError = vi.fn()
    await using http = await serve(createServer({ onError }))
    await using peer = await Peer.open(String(http.url), revision)
    const stream = await peer.get()
    await pass(timers, 10 * minute)
    await eventually(() => stream.messages.filter(({ method }) => method === 'ping').length === 3)
    expect([stream.isOver, onError.mock.calls]).toEqual([false, []])
  })

  it('end the connection of an HTTP+SSE client that stops answering [PING-006]', async () => {
    using timers = movableTimers()
    await using http = await serve(createServer({ onError: () => {} }), { sse: true })
    await using peer = await SseClient.open(String(http.url))
    await peer.initialize()
    const pings = () =>
      peer.stream.events
        .filter(({ event }) => event === 'message')
        .map(({ data }) => JSON.parse(data!))
        .filter(({ method }) => method === 'ping')
    await pass(timers, 2 * minute, () => pings().length === 1)
    await peer.stream.until(() => pings()[0])
    await peer.post({ jsonrpc: '2.0', id: pings()[0].id, result: {} })
    await pass(timers, 10 * minute, () => peer.stream.isOver)
    await peer.stream.ended
  })

  it('are not sent on 2026-07-28 [PING-007]', async () => {
    using timers = movableTimers()
    await using http = await serve(createServer({ ping: { intervalMs: 30_000 } }), quiet)
    await using peer = await Peer.open(String(http.url), modern)
    const stream = await peer.listen({ toolsListChanged: true })
    await stream.until(() => stream.messages[0])
    await pass(timers, 10 * minute)
    expect(stream.messages.filter(({ method }) => method === 'ping')).toEqual([])
  })
})

describe('pings of a client over HTTP', () => {
  it.each(handshakeRevisions)('are sent while the stream is open and quiet (%s) [PING-004]', async (revision) => {
    using timers = movableTimers()
    await using http = await serve(createServer({ ping: false }), { ...quiet, sse: true })
    const { client, pings } = await opened(http.url, revision)
    const off = await opened(http.url, revision, { ping: false })
    for (const count of [1, 2]) {
      await pass(timers, 3 * minute, () => pings.client === count)
      expect(pings.client).toBe(count)
    }
    expect(client.state).toBe('ready')
    expect([off.pings.client, off.client.state]).toEqual([0, 'ready'])
    await Promise.all([client.close(), off.client.close()])
  })

  it.each(handshakeRevisions)('open a new session if the server stops answering (%s) [PING-006]', async (revision) => {
    using timers = movableTimers()
    const server = createServer({ ping: false })
    let answers = 0
    server.server.setRequestHandler('ping', () => (answers++ === 0 ? {} : new Promise(() => {})))
    await using http = await serve(server, { ...quiet, sse: true })
    const { client } = await opened(http.url, revision)
    const errors: string[] = []
    client.on('error', ({ error }) => errors.push((error as Error).message))
    const states: string[] = []
    client.on('state', ({ state }) => states.push(state))
    await pass(timers, 15 * minute, () => states.includes('ready'))
    await eventually(() => states.includes('ready'))
    expect(states.slice(0, 2)).toEqual(['reconnecting', 'ready'])
    expect(errors).toContain('The server did not answer a ping (3 of 3)')
    expect((await client.callTool('hi')).text).toBe('hi')
    await client.close()
  })

  it('do not reset the session of a server that never answers them', async () => {
    using timers = movableTimers()
    const server = createServer({ ping: false })
    server.server.setRequestHandler('ping', () => new Promise(() => {}))
    await using http = await serve(server, quiet)
    const { client, pings } = await opened(http.url, '2025-11-25')
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    await pass(timers, 15 * minute)
    expect([pings.client, client.state, errors]).toEqual([3, 'ready', []])
    await client.close()
  })

  it('are not sent on 2026-07-28, nor without a stream [PING-007]', async () => {
    using timers = movableTimers()
    await using http = await serve(createServer({ ping: false }), { ...quiet, sse: true })
    const sent: string[] = []
    const trace = (event: TraceEvent) => {
      if (event.type === 'message' && event.direction === 'sent')
        sent.push((event.message as { method: string }).method)
    }
    const client = await connect(String(http.url), { revision: modern, trace })
    await using stateless = await serve(createServer(), { ...quiet, sessions: false })
    const other = await connect(String(stateless.url), { revision: '2025-11-25', trace })
    const before = sent.length
    await pass(timers, 10 * minute)
    expect(sent.slice(before)).toEqual([])
    await Promise.all([client.close(), other.close()])
  })
})
