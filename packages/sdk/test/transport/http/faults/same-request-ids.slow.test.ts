import { setTimeout as sleep } from 'node:timers/promises'
import { createMcpHandler, StreamableHTTPServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../../kit/message.ts'
import { httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { SseReader } from '../../../kit/sse-reader.ts'
import { createServer, listen, RawClient, serve } from './support.ts'

describe('CVE-2026-25536: many clients that use the same request ids', () => {
  const clients = 100
  const calls = 5

  function createEcho() {
    const server = createServer()
    server.registerTool('late', { inputSchema: { type: 'object', additionalProperties: true } }, async (args, ctx) => {
      // Responses overtake each other, and half of them are streams.
      const { client } = args as { client: number }
      if (client % 2 === 0) ctx.notify('notifications/message', { level: 'info', data: args })
      await sleep((client * 7) % 20)
      return JSON.stringify(args)
    })
    return server
  }

  /** All clients call at the same time with the same ids; each response must belong to its own request. */
  async function askAll(open: (index: number) => Promise<RawClient>) {
    const all = await Promise.all(Array.from({ length: clients }, (_, index) => open(index)))
    let answered = 0
    for (let id = 0; id < calls; id++) {
      await Promise.all(
        all.map(async (client, index) => {
          const args = { client: index, secret: `${index}/${id}` }
          const response = await client.post(client.call(id, 'late', args))
          const isStream = response.headers.get('content-type') === 'text/event-stream'
          const messages: Message[] = isStream ? eventsIn(response.body) : [response.json]
          expect(messages.at(-1)?.id).toBe(id)
          expect(messages.at(-1)?.result?.content?.[0]?.text).toBe(JSON.stringify(args))
          for (const { params } of messages.slice(0, -1)) expect(params?.data).toEqual(args)
          answered++
        }),
      )
    }
    expect(answered).toBe(clients * calls)
  }

  function eventsIn(body: Buffer): Message[] {
    return new SseReader().push(body).flatMap(({ data }) => (data ? [JSON.parse(data)] : []))
  }

  it('no response is mixed up: one server object, a transport for each request', async () => {
    const server = createEcho()
    const port = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      response.on('close', () => void transport.close())
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
    await askAll(async () => new RawClient(port, '2025-11-25'))
  })

  it('no response is mixed up: one server object and one transport without sessions for all clients', async () => {
    const server = createEcho()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    const port = await listen((request, response) => transport.handleRequest(request, response))
    await askAll(async () => new RawClient(port, '2025-11-25'))
    await transport.close()
  })

  it('no response is mixed up: one server object, a transport for each session', async () => {
    const server = createEcho()
    const transports = new Map<string, StreamableHTTPServerTransport>()
    const port = await listen(async (request, response) => {
      const known = transports.get(String(request.headers['mcp-session-id']))
      if (known) return known.handleRequest(request, response)
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
      })
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
    await askAll(() => RawClient.open(port, '2025-11-25'))
    expect(transports.size).toBe(clients)
    await server.close()
  })

  it.each([...sessionRevisions])('no response is mixed up: sessions (%s)', async (revision) => {
    const http = await serve(createEcho())
    await askAll(() => RawClient.open(http.port, revision))
    expect(http.metrics.sessions.open).toBe(clients)
  })

  it.each([...sessionRevisions])('no response is mixed up: handler without sessions (%s)', async (revision) => {
    const handler = createMcpHandler(createEcho(), { sessions: false })
    const port = await listen((request, response) => handler.node(request, response))
    await askAll(async () => new RawClient(port, revision))
    expect(handler.metrics).toMatchObject({ calls: 0, streams: 0 })
    await handler.close()
  })

  it('no response is mixed up: 2026-07-28', async () => {
    const http = await serve(createEcho())
    await askAll(async () => new RawClient(http.port, modern))
    expect(http.metrics).toMatchObject({ calls: 0, streams: 0, sessions: { open: 0 } })
  })

  it('no response is mixed up: every revision at once on one URL', async () => {
    const http = await serve(createEcho())
    await askAll((index) => RawClient.open(http.port, httpRevisions[index % httpRevisions.length]!))
  })
})
