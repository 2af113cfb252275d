import type { ServerResponse } from 'node:http'
import { SSEClientTransport, type SSEClientTransportOptions } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { listenWith } from '../../../kit/serve-http.ts'

interface Post {
  readonly body: unknown
  readonly headers: Readonly<Record<string, unknown>>
}

const endpoint = 'event: endpoint\ndata: /messages\n\n'

/** A server of 2024-11-05 that writes what the test tells it to. */
async function server(first: string = endpoint) {
  const streams: ServerResponse[] = []
  const posts: Post[] = []
  const behavior = { status: 202, holdPosts: undefined as Promise<void> | undefined }
  const closed = gate()
  const http = await listenWith((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(first)
      response.on('close', () => closed.open())
      streams.push(response)
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      posts.push({ body: JSON.parse(Buffer.concat(chunks).toString()), headers: request.headers })
      await behavior.holdPosts
      response.writeHead(behavior.status).end()
    })
  })
  const event = (data: unknown, type = 'message') =>
    streams.at(-1)!.write(`event: ${type}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  return { ...http, streams, posts, behavior, event, closed: closed.opened }
}

function client(url: string, options: SSEClientTransportOptions = {}) {
  const transport = new SSEClientTransport(url, options)
  const seen = { messages: [] as unknown[], errors: [] as string[], closes: [] as unknown[] }
  transport.onmessage = (message) => void seen.messages.push(message)
  transport.onerror = ({ message }) => void seen.errors.push(message)
  transport.onclose = (detail) => void seen.closes.push(detail)
  return { transport, ...seen, [Symbol.asyncDispose]: () => transport.close() }
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
const outgoing = { id: 1, method: 'ping', params: undefined, options: undefined }
const pong = { jsonrpc: '2.0', id: 1, result: {} } as const

describe('SSEClientTransport', () => {
  it('posts messages to the endpoint, with the version once it is negotiated [SSE-003]', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.start()
    await sse.transport.send(ping)
    sse.transport.setProtocolVersion('2024-11-05')
    await sse.transport.send([pong])
    expect(http.posts.map(({ body }) => body)).toEqual([ping, [pong]])
    expect(http.posts.map(({ headers }) => headers['mcp-protocol-version'])).toEqual([undefined, '2024-11-05'])
    expect(sse.transport.protocolVersion).toBe('2024-11-05')
    await sse.transport.start()
    expect(sse.transport.protocolVersion).toBeUndefined()
  })

  it('rejects a message that the server does not accept', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.start()
    http.behavior.status = 400
    await expect(sse.transport.send(ping)).rejects.toMatchObject({ status: 400 })
  })

  it('passes on messages, reports what is not JSON, and ignores other events', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.start()
    http.event('no JSON')
    http.event({ unknown: true }, 'other')
    http.event('https://evil.example/', 'endpoint')
    http.event(pong)
    await expect.poll(() => sse.messages).toEqual([pong])
    expect(sse.errors).toHaveLength(1)
    await sse.transport.send(ping)
    expect(http.posts).toHaveLength(1)
  })

  it('ignores messages before the endpoint', async () => {
    await using http = await server(`event: message\ndata: ${JSON.stringify(ping)}\n\n${endpoint}`)
    await using sse = client(http.url)
    await sse.transport.start()
    http.event(pong)
    await expect.poll(() => sse.messages).toEqual([pong])
  })

  it('does not send without a session', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await expect(sse.transport.send(ping)).rejects.toMatchObject({
      message: 'ping was not sent: there is no session',
      outcome: 'not-sent',
    })
    await sse.transport.start()
    await sse.transport.close()
    await expect(sse.transport.send(ping)).rejects.toThrow('there is no session')
    expect(http.posts).toEqual([])
  })

  it('ends the stream when it is closed, and reports that once', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.close()
    expect(sse.closes).toEqual([])
    await sse.transport.start()
    expect(sse.transport.quietMs).toBeGreaterThanOrEqual(0)
    await sse.transport.close()
    await sse.transport.close()
    await http.closed
    expect(sse.closes).toEqual([undefined])
    expect(sse.transport.quietMs).toBeUndefined()
  })

  it('reports that the session is lost when the server ends the stream', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.start()
    http.streams[0]!.end()
    await expect.poll(() => sse.closes).toEqual([{ sessionLost: true, reason: 'the server ended the event stream' }])
    await expect(sse.transport.send(ping)).rejects.toThrow('there is no session')
  })

  it('ends the earlier stream when it is started again, and takes nothing more from it', async () => {
    await using http = await server()
    await using sse = client(http.url)
    await sse.transport.start()
    await sse.transport.start()
    await http.closed
    http.event(pong)
    await expect.poll(() => sse.messages).toEqual([pong])
    expect(sse.closes).toEqual([])
    await sse.transport.send(ping)
  })

  it.each([
    ['is on another origin', 'event: endpoint\ndata: https://evil.example/messages\n\n', 'on another origin'],
    ['is not a URL', 'event: endpoint\ndata: http://\n\n', 'Invalid URL'],
  ])('does not connect if the endpoint %s', async (_, first, message) => {
    await using http = await server(first)
    await using sse = client(http.url)
    await expect(sse.transport.start()).rejects.toThrow(message)
    await http.closed
  })

  it('does not connect if the endpoint does not come in time, or before the end of the stream', async () => {
    await using http = await server(':\n\n')
    await using sse = client(http.url, { endpointTimeoutMs: 50 })
    await expect(sse.transport.start()).rejects.toThrow('within 50 ms (endpointTimeoutMs)')
    await http.closed
    await using ending = await listenWith((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(':\n\n')
    })
    await using other = client(ending.url)
    await expect(other.transport.start()).rejects.toThrow('before the stream ended')
  })

  it('does not connect to what is not an event stream', async () => {
    await using http = await listenWith((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await using sse = client(http.url)
    await expect(sse.transport.start()).rejects.toThrow('did not answer a GET with an event stream')
  })

  it('sends requests as text, or through a send that a program replaced', async () => {
    await using http = await server()
    await using sse = client(http.url)
    const { transport } = sse
    await transport.start()
    await transport.sendRequest(JSON.stringify(ping), outgoing)
    const seen: unknown[] = []
    const { send } = transport
    transport.send = (message) => {
      seen.push(message)
      return send.call(transport, message)
    }
    await transport.sendRequest(JSON.stringify(ping), outgoing)
    expect([seen, http.posts.length]).toEqual([[ping], 2])
  })
})
