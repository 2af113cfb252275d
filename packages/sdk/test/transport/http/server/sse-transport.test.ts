import type { IncomingMessage, ServerResponse } from 'node:http'
import { SSEServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { overHttp } from '../../../kit/http-client.ts'
import type { Message } from '../../../kit/message.ts'
import { listenWith, serve } from '../../../kit/serve-http.ts'
import { responses, SseClient } from '../../../kit/sse-peer.ts'
import { workshop } from '../../../kit/workshop.ts'

type Received = { message: unknown; extra: Parameters<NonNullable<SSEServerTransport['onmessage']>>[1] }

/** A program that uses the transport without a server, and a client of it. */
async function program(options: ConstructorParameters<typeof SSEServerTransport>[2] = {}) {
  const made = gate<SSEServerTransport>()
  const failures: unknown[] = []
  const received: Received[] = []
  const closes: unknown[] = []
  let transport: SSEServerTransport
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'GET') {
      return transport.handlePostMessage(request, response).catch((error) => {
        failures.push(error)
        response.writeHead(500).end()
      })
    }
    transport = new SSEServerTransport('/messages', response, options)
    transport.onmessage = (message, extra) => void received.push({ message, extra })
    transport.onclose = (detail) => void closes.push(detail)
    await transport.start()
    made.open(transport)
  }
  const http = await listenWith((request, response) => void answer(request, response))
  const client = await SseClient.open(http.url)
  const close = async () => {
    await client[Symbol.asyncDispose]()
    await http[Symbol.asyncDispose]()
  }
  return { transport: await made.opened, client, received, closes, failures, [Symbol.asyncDispose]: close }
}

const ping: Message = { jsonrpc: '2.0', id: 1, method: 'ping' }
const pong = { jsonrpc: '2.0', id: 1, result: {} } as const

describe('SSEServerTransport without a server', () => {
  it('passes each message with its request, and sends what the program answers', async () => {
    await using raw = await program()
    const { client, received, transport } = raw
    expect((await client.post(ping, { 'x-test': 'yes' })).status).toBe(202)
    const { message, extra } = received[0]!
    expect([message, extra?.era, extra?.requestInfo?.headers['x-test']]).toEqual([ping, 'handshake', 'yes'])
    transport.send(pong)
    expect(await client.answerTo(1)).toEqual(pong)
  })

  it('passes a batch as it is, and refuses messages that are none [RPC-006]', async () => {
    await using raw = await program()
    expect((await raw.client.post([ping])).status).toBe(202)
    expect(raw.received[0]?.message).toEqual([ping])
    const refused = await raw.client.post({ jsonrpc: '2.0', id: 3, method: 7 } as never)
    expect([refused.status, (await refused.json()).error?.code]).toEqual([400, -32600])
    expect(raw.received).toHaveLength(1)
  })

  it('sends the responses of a handler through a send that the program replaced, and reports its failures', async () => {
    await using raw = await program()
    const { transport, client, received } = raw
    await client.post(ping)
    const { extra } = received[0]!
    const errors: string[] = []
    transport.onerror = ({ message }) => void errors.push(message)
    const { send } = transport
    const seen: unknown[] = []
    transport.send = async (message) => {
      seen.push(message)
      send.call(transport, message)
    }
    expect(extra?.sendText?.(JSON.stringify(pong), true)).toBe(true)
    expect(await client.answerTo(1)).toEqual(pong)
    expect(seen).toEqual([pong])
    transport.send = async () => {
      throw 'no Error object'
    }
    expect(extra?.sendText?.(JSON.stringify(pong), true)).toBe(true)
    await expect.poll(() => errors).toEqual(['no Error object'])
    expect(responses(client.stream)).toHaveLength(1)
  })

  it('ends once: later messages are refused, and there is nowhere to answer', async () => {
    await using raw = await program()
    const { transport, client, received, closes } = raw
    await client.post(ping)
    await transport.close()
    await transport.close()
    expect([await client.stream.ended, closes.length]).toEqual(['ended', 1])
    expect(() => transport.send(pong)).toThrow('The stream is closed')
    expect(received[0]?.extra?.sendText?.(JSON.stringify(pong), true)).toBe(false)
    const refused = await client.post(ping)
    expect([refused.status, (await refused.json()).error?.message]).toEqual([500, 'The stream is not open'])
    expect(received).toHaveLength(1)
  })

  it('ends when the client disconnects', async () => {
    await using raw = await program()
    raw.client.stream.close()
    await expect.poll(() => raw.closes.length).toBe(1)
    expect(() => raw.transport.send(pong)).toThrow('The stream is closed')
  })

  it('hands an error of the program to the caller of handlePostMessage', async () => {
    await using raw = await program()
    raw.transport.onmessage = () => {
      throw new Error('a mistake')
    }
    expect((await raw.client.post(ping)).status).toBe(500)
    expect(raw.failures.map(String)).toEqual(['Error: a mistake'])
  })

  it('refuses a body above maxBodyBytes, and content that is not JSON', async () => {
    await using raw = await program({ maxBodyBytes: 100 })
    expect((await raw.client.post({ ...ping, params: { text: 'x'.repeat(100) } })).status).toBe(413)
    expect((await raw.client.post(ping, { 'content-type': 'text/plain' })).status).toBe(415)
    expect(raw.received).toEqual([])
  })

  it('disconnects a client that does not read more than 4 MiB', async () => {
    await using raw = await program()
    const { transport, closes } = raw
    const ended = raw.client.stream.ended
    // Written in one turn of the event loop, so that the client cannot read meanwhile.
    const text = JSON.stringify({ ...ping, params: { text: 'x'.repeat(1024 * 1024) } })
    for (let each = 0; each < 64 && closes.length === 0; each++) transport.sendText(text)
    expect(await ended).toBe('cut')
    expect(closes).toHaveLength(1)
  })
})

describe('The HTTP+SSE endpoints of serveHttp', () => {
  it('refuse a GET that accepts no events, and a body that cannot be read', async () => {
    await using http = await serve(workshop(), { sse: true })
    const send = overHttp(http.url)
    const get = await send({ method: 'GET', path: '/sse', headers: { accept: 'application/json' } })
    expect(get.status).toBe(406)
    await using client = await SseClient.open(http.url)
    const broken = await send({
      path: client.endpoint,
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":',
    })
    expect([broken.status, (await broken.json()).error?.code]).toEqual([400, -32700])
    expect((await client.post(ping, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('refuse a stream above the limit', async () => {
    await using http = await serve(workshop(), { sse: true, maxStreams: 1 })
    await using _client = await SseClient.open(http.url)
    const send = overHttp(http.url)
    const refused = await send({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream' } })
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5'])
  })

  it('refuse a message without a session id', async () => {
    await using http = await serve(workshop(), { sse: true })
    const send = overHttp(http.url)
    for (const path of ['/messages', '/messages?sessionId=', '/messages?session=1']) {
      const refused = await send({ path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(ping) })
      expect([refused.status, (await refused.json()).error?.code]).toEqual([404, -32001])
    }
  })
})
