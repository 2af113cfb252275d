import { metaKeys } from 'tenon'
import { connect, InMemoryTransport } from 'tenon/client'
import { createMcpHandler, MemoryEventStore, MemorySessionStore, StreamableHTTPServerTransport } from 'tenon/server'
import { record } from 'tenon/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { overFetch, overHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, handshakeRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith, serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

describe('a GET stream that the server closes temporarily', () => {
  it('2025-11-25: sends a retry time and can be resumed without loss [SSE-025, SSE-021, SSE-023]', async () => {
    const server = workshop()
    server.registerTool('let-go', {}, (_, ctx) => {
      ctx.closeListeningStream({ retryMs: 1_234 })
      return 'let go'
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const first = await peer.get()
    await first.until(() => first.events[0])
    expect(await peer.textOf('let-go')).toBe('let go')
    expect(await first.ended).toBe('ended')
    expect(first.events.at(-1)).toEqual({ retry: 1_234 })
    server.sendToolListChanged()
    const second = await peer.resume(first.ids.at(-1)!)
    await second.notified('notifications/tools/list_changed')
    server.sendPromptListChanged()
    await second.notified('notifications/prompts/list_changed')
  })

  it('2025-11-25: is resumed automatically by the Tenon client [SSE-022, SSE-025]', async () => {
    const server = workshop()
    server.registerTool('let-go', {}, (_, ctx) => {
      ctx.closeListeningStream({ retryMs: 1 })
      return 'let go'
    })
    await using http = await serve(server)
    const client = await connect(http.url, { revision: '2025-11-25' })
    onTestFinished(() => client.close())
    await eventually(() => http.metrics.streams === 1)
    const changed = gate()
    client.on('promptsChanged', () => changed.open())
    await client.callTool('let-go')
    server.sendPromptListChanged()
    await changed.opened
  })

  eachRevision(['2025-03-26', '2025-06-18'], 'is not closed on revisions without resumption', async (revision) => {
    const server = workshop()
    server.registerTool('let-go', {}, (_, ctx) => {
      ctx.closeListeningStream()
      return 'let go'
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    await peer.textOf('let-go')
    server.sendToolListChanged()
    await stream.notified('notifications/tools/list_changed')
    expect(stream.isOver).toBe(false)
  })
})

describe('a session older than sessionMaxMs', () => {
  eachRevision(
    sessionRevisions,
    'ends with its streams although it is in use [HTTP-023, SESS-008]',
    async (revision) => {
      const server = workshop()
      const slow = registerSlow(server)
      await using http = await serve(server, { sessionMaxMs: 300 })
      await using peer = await Peer.open(http.url, revision)
      const streams = [await peer.get(), await peer.call('slow', {}, withProgress)]
      for (const stream of streams) expect(await stream.ended).toBe('ended')
      await slow.aborted
      expect((await peer.call('echo')).status).toBe(404)
      expect(http.metrics.sessions).toMatchObject({ open: 0, expired: 1 })
    },
  )

  it('ends on every node that shares it', async () => {
    const shared = { sessionStore: new MemorySessionStore(), eventStore: new MemoryEventStore() }
    const first = createMcpHandler(workshop(), { ...shared, sessionMaxMs: 300 })
    const second = createMcpHandler(workshop(), { ...shared, sessionMaxMs: 300 })
    await using peer = await Peer.open(overFetch(first), '2025-11-25')
    const elsewhere = peer.at(overFetch(second))
    expect(await elsewhere.textOf('session')).toBe(peer.sessionId)
    await eventually(() => first.metrics.sessions.open === 0 && second.metrics.sessions.open === 0)
    expect([(await peer.call('echo')).status, (await elsewhere.call('echo')).status]).toEqual([404, 404])
    await first.close()
    await second.close()
  })
})

describe(`a ${modern} request that is cancelled by a disconnect`, () => {
  /** Records what the server tries to send with a wrapped send, even if no client can receive it. */
  async function watched() {
    const server = workshop()
    const [began, over] = [gate(), gate()]
    server.registerTool('persistent', {}, async (_, ctx) => {
      began.open()
      ctx.progress(1)
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      ctx.progress(2)
      ctx.log.error('still here')
      ctx.notify('notifications/custom', {})
      await ctx.elicit('Anybody?').catch(() => {})
      setImmediate(over.open)
      return 'too late'
    })
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      streamAfterMs: Number.POSITIVE_INFINITY,
    })
    await server.connect(transport)
    const sent: Message[] = []
    const { send } = transport
    transport.send = async (message, options) => {
      sent.push(message as Message)
      return send.call(transport, message, options)
    }
    const http = await listenWith((request, response) => void transport.handleRequest(request, response))
    onTestFinished(async () => {
      await transport.close()
      await http[Symbol.asyncDispose]()
    })
    return { transport, sent, began: began.opened, over: over.opened, url: http.url }
  }

  const options = { capabilities: { elicitation: {} } }
  const meta = { meta: { progressToken: 'p', [metaKeys.logLevel]: 'debug' } }

  it('sends nothing more, whatever its handler does [HTTP-056]', async () => {
    const { sent, over, url } = await watched()
    await using peer = new Peer(url, modern, options)
    const stream = await peer.call('persistent', {}, meta)
    await stream.notified('notifications/progress')
    stream.close()
    await over
    expect(sent.map(({ method }) => method)).toEqual(['notifications/progress'])
  })

  it('sends nothing more over fetch [HTTP-056]', async () => {
    const { transport, sent, over } = await watched()
    await using peer = new Peer(overFetch({ fetch: (request) => transport.handleFetch(request) }), modern, options)
    const stream = await peer.call('persistent', {}, meta)
    await stream.notified('notifications/progress')
    stream.close()
    await over
    expect(sent.map(({ method }) => method)).toEqual(['notifications/progress'])
  })

  it('sends nothing at all if it was cancelled before the response began [HTTP-056]', async () => {
    const { sent, began, over, url } = await watched()
    const aborter = new AbortController()
    const { signal } = aborter
    await using peer = new Peer((ask) => overHttp(url)({ ...ask, signal }), modern, options)
    // Without a progress token nothing is sent, so the response has not begun.
    const call = peer.call('persistent').catch((error: Error) => error.name)
    await began
    aborter.abort()
    expect(await call).toBe('AbortError')
    await over
    expect(sent).toEqual([])
  })
})

describe('initialize with an invalid version', () => {
  for (const revision of handshakeRevisions) {
    it.each([undefined, 20251125, ''])(
      `${revision}: is rejected with -32602 and the supported versions, for %j [VER-010]`,
      async (protocolVersion) => {
        await using http = await serve(workshop({ revisions: [revision] }))
        await using peer = new Peer(http.url, revision)
        const answer = await peer.request('initialize', { ...peer.greeting(), protocolVersion }, { id: 1 })
        const { error } = await answer.json()
        expect(error?.code).toBe(-32602)
        expect(error?.data).toEqual({
          supported: [revision],
          ...(protocolVersion !== undefined && { requested: protocolVersion }),
        })
      },
    )
  }

  it('that is merely unknown is answered with a supported one [VER-005]', async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, '2025-11-25')
    const answer = await peer.request('initialize', { ...peer.greeting(), protocolVersion: '1.0.0' })
    expect((await answer.json()).result?.protocolVersion).toBe('2025-11-25')
  })
})

describe('x-mcp-header on a transport without headers', () => {
  it('is ignored by the client [HDR-030]', async () => {
    const server = workshop()
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    } as const
    server.registerTool('where', { inputSchema }, (args) => JSON.stringify(args))
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = await connect(ours, { revision: modern })
    await client.listTools()
    expect((await client.callTool('where', { region: 'eu' })).text).toBe('{"region":"eu"}')
    const said = transcript.lines
      .map(({ message }) => message as Message)
      .find(({ method }) => method === 'tools/call')!
    expect(Object.keys(said).sort()).toEqual(['id', 'jsonrpc', 'method', 'params'])
    expect(JSON.stringify(said)).not.toMatch(/mcp-param|x-mcp-header/i)
    await client.close()
  })
})
