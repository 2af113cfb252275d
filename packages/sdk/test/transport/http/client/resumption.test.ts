import type { HttpError } from 'tenon'
import { Client, StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../../../kit/error-of.ts'
import { eventually } from '../../../kit/eventually.ts'
import { answer, event, type Received, sessions } from './support.ts'

const fast = { reconnect: { initialDelayMs: 1, maxDelayMs: 5, maxRetries: 1 } }

async function open(url: string, options: StreamableHTTPClientTransportOptions = fast) {
  const transport = new StreamableHTTPClientTransport(url, options)
  const client = new Client({ name: 'test', version: '1' }, { recover: false, negotiation: 'handshake-first' })
  await client.connect(transport)
  return { transport, client }
}

/** Answers a call with two events that have ids, of which the second is the response. */
const streamed = (received: Received) => {
  const { id, method } = received.message
  if (method !== 'tools/call') return false
  received.stream('id: one\ndata:\n\n', event(answer(id), 'two'))
  received.response.end()
  return true
}

describe('resumption tokens', () => {
  it('reports the id of each event on the stream of a request', async () => {
    await using server = await sessions(streamed)
    const { client } = await open(server.url)
    const tokens: string[] = []
    await client.request('tools/call', { name: 'act' }, { onresumptiontoken: (token) => tokens.push(token) })
    expect(tokens).toEqual(['one', 'two'])
    await client.close()
  })

  it('continues a request of another connection with its token instead of sending it', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET' || received.headers['last-event-id'] !== 'one') return false
      received.stream(event(answer(4711), 'two'))
      return true
    })
    const { client } = await open(server.url)
    const result = await client.request('tools/call', { name: 'act' }, { resumptionToken: 'one' })
    expect(result).toMatchObject({ content: [{ text: 'done' }] })
    expect(server.of('tools/call')).toHaveLength(0)
    await client.close()
  })

  it('opens a stream after an event, and rejects if the server refuses that', async () => {
    await using server = await sessions((received) => {
      const last = received.headers['last-event-id']
      if (received.method !== 'GET' || last === undefined) return false
      if (last === 'known') received.stream(event({ jsonrpc: '2.0', method: 'custom/note' }, 'next'))
      else received.status(400, 'Unknown event')
      return true
    })
    const { transport, client } = await open(server.url)
    const notes: string[] = []
    const tokens: string[] = []
    client.setFallbackNotificationHandler(({ method }) => notes.push(method))
    await transport.resumeStream('known', { onresumptiontoken: (token) => tokens.push(token) })
    await eventually(() => notes.length === 1)
    expect(tokens).toEqual(['next'])
    expect(await errorOf<HttpError>(transport.resumeStream('unknown'))).toMatchObject({ status: 400, method: 'GET' })
    await client.close()
  })

  it('reconnects when the given scheduler says so', async () => {
    await using server = await sessions((received) => {
      if (received.message.method === 'tools/call') {
        received.stream('id: one\ndata:\n\n')
        received.response.end()
        return true
      }
      if (received.headers['last-event-id'] !== 'one') return false
      received.stream(event(answer(server.of('tools/call')[0]?.message.id)))
      return true
    })
    const scheduled: (() => void)[] = []
    const { client } = await open(server.url, {
      reconnectionScheduler: (reconnect) => void scheduled.push(reconnect),
    })
    const called = client.callTool('act')
    await eventually(() => scheduled.length === 1)
    expect(server.of('GET').filter(({ headers }) => headers['last-event-id'])).toHaveLength(0)
    scheduled[0]?.()
    expect((await called).text).toBe('done')
    await client.close()
  })
})

describe('a transport that leaves recovery to the program', () => {
  const plain = { ...fast, recover: false }

  it('fails a request of a lost session with its status, and stays open', async () => {
    let isLost = true
    await using server = await sessions((received) => {
      if (received.message.method !== 'tools/list' || !isLost) return false
      isLost = false
      received.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, 404)
      return true
    })
    const { client, transport } = await open(server.url, plain)
    const error = await errorOf<HttpError>(client.listTools())
    expect(error).toMatchObject({ code: 'http', status: 404 })
    expect(error.body).toContain('Session not found')
    expect(transport.sessionId).toBe('session-1')
    expect((await client.listTools()).tools).toHaveLength(1)
    await client.close()
  })

  it('gives up the stream of the server after the retries', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      if (server.of('GET').length > 1) received.status(500)
      else {
        received.stream()
        received.response.end()
      }
      return true
    })
    const { client } = await open(server.url, plain)
    const errors: string[] = []
    client.on('error', ({ error }) => errors.push((error as Error).message))
    await eventually(() => errors.some((message) => message.includes('keeps failing')))
    const attempts = server.of('GET').length
    await client.listTools()
    expect(server.of('GET')).toHaveLength(attempts)
    await client.close()
  })

  it('ends the session on request, and not on close if that is turned off', async () => {
    await using server = await sessions()
    const { client } = await open(server.url, { ...plain, terminateOnClose: false })
    await client.close()
    expect(server.of('DELETE')).toHaveLength(0)
    const second = await open(server.url, { ...plain, terminateOnClose: false })
    await second.transport.terminateSession()
    expect(server.of('DELETE')).toHaveLength(1)
    expect(second.transport.sessionId).toBeUndefined()
    await second.client.close()
  })

  it('rejects terminateSession if the server fails', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'DELETE') return false
      received.status(500)
      return true
    })
    const { client, transport } = await open(server.url, { ...plain, terminateOnClose: false })
    expect(await errorOf(transport.terminateSession())).toMatchObject({ status: 500, method: 'DELETE' })
    expect(transport.sessionId).toBe('session-1')
    await client.close()
  })
})

describe('a continued session', () => {
  it('is used without a handshake, and its stream is opened', async () => {
    await using server = await sessions(undefined, { stream: true })
    const first = await open(server.url, { ...fast, terminateOnClose: false })
    const known = first.client.server
    const { sessionId } = first.transport
    await server.until('GET')
    await first.client.close()
    const transport = new StreamableHTTPClientTransport(server.url, { sessionId })
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport, { server: known })
    await client.listTools()
    expect(server.of('initialize')).toHaveLength(1)
    expect(server.of('tools/list')[0]?.headers).toMatchObject({
      'mcp-session-id': 'session-1',
      'mcp-protocol-version': '2025-11-25',
    })
    await server.until('GET', 2)
    await client.close()
  })
})

describe('a subclass of the transport', () => {
  it('sees every message in the `send` that it overrides', async () => {
    const methods: unknown[] = []
    class Watching extends StreamableHTTPClientTransport {
      override send(...args: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
        methods.push('method' in args[0] ? args[0].method : undefined)
        return super.send(...args)
      }
    }
    await using server = await sessions()
    const client = new Client({ name: 'test', version: '1' }, { negotiation: 'handshake-first' })
    await client.connect(new Watching(server.url))
    await client.listTools()
    expect(methods).toEqual(['initialize', 'notifications/initialized', 'tools/list'])
    await client.close()
  })
})
