import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '../../src/server/streamableHttp.ts'
import { WebStandardStreamableHTTPServerTransport } from '../../src/server/webStandardStreamableHttp.ts'
import type { JSONRPCMessage, MessageExtraInfo } from '../../src/types.ts'
import { initialize, inSession, jsonOf, listen, messagesOf, post } from './support.ts'

/** A program without a server: answers every request with its method. */
async function echoing(options: StreamableHTTPServerTransportOptions = { sessionIdGenerator: () => randomUUID() }) {
  const transport = new StreamableHTTPServerTransport(options)
  const seen: { message: JSONRPCMessage; extra: MessageExtraInfo | undefined }[] = []
  transport.onmessage = (message, extra) => {
    seen.push({ message, extra })
    if ('method' in message && 'id' in message) {
      void transport.send({ jsonrpc: '2.0', id: message.id, result: { method: message.method } })
    }
  }
  await transport.start()
  const http = await listen((request, response) => transport.handleRequest(request, response))
  return { ...http, transport, seen }
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const

describe('StreamableHTTPServerTransport without a server', () => {
  it('answers a malformed request if onerror throws', async () => {
    await using http = await echoing()
    http.transport.onerror = (error) => {
      throw error
    }
    const refused = await Promise.all([
      post(http.url, '{'),
      post(http.url, ping),
      post(http.url, ping, { accept: 'text/plain' }),
    ])
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 406])
  })

  it('passes each message with its headers, and answers on the stream of its request', async () => {
    await using http = await echoing()
    const opening = await post(http.url, initialize)
    expect(opening.headers.get('content-type')).toBe('text/event-stream')
    expect(opening.headers.get('mcp-session-id')).toBe(http.transport.sessionId)
    expect(await messagesOf(opening)).toEqual([{ jsonrpc: '2.0', id: 'init', result: { method: 'initialize' } }])
    const response = await post(http.url, ping, { ...inSession(http.transport.sessionId), 'x-test': 'yes' })
    expect(await messagesOf(response)).toEqual([{ jsonrpc: '2.0', id: 1, result: { method: 'ping' } }])
    const { requestInfo } = http.seen.at(-1)!.extra!
    expect(requestInfo?.headers['x-test']).toBe('yes')
    expect(requestInfo?.url?.pathname).toBe('/mcp')
  })

  it('sets the session id and calls onsessioninitialized before the program gets "initialize"', async () => {
    const order: string[] = []
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => 'chosen',
      onsessioninitialized: async (id) => void order.push(`initialized ${id}`),
    })
    transport.onmessage = (message) => {
      order.push(`message in ${transport.sessionId}`)
      void transport.send({ jsonrpc: '2.0', id: (message as { id: string }).id, result: {} })
    }
    await using http = await listen((request, response) => transport.handleRequest(request, response))
    await messagesOf(await post(http.url, initialize))
    expect(order).toEqual(['initialized chosen', 'message in chosen'])
  })

  it.each([
    ['a body that is not JSON', 'not json', {}, 400, -32700, 'Parse error: Invalid JSON'],
    [
      'a message that is not JSON-RPC',
      { id: 1, method: 'x' },
      {},
      400,
      -32700,
      'Parse error: Invalid JSON-RPC message',
    ],
    [
      'a missing session id',
      ping,
      { 'mcp-session-id': '' },
      400,
      -32000,
      'Bad Request: Mcp-Session-Id header is required',
    ],
    ['another session id', ping, { 'mcp-session-id': 'x' }, 404, -32001, 'Session not found'],
    ['a second initialize', initialize, {}, 400, -32600, 'Invalid Request: Server already initialized'],
    [
      'an unknown version',
      ping,
      { 'mcp-protocol-version': '1999-01-01' },
      400,
      -32000,
      /^Bad Request: Unsupported protocol version: 1999-01-01/,
    ],
    ['a missing Accept', ping, { accept: 'application/json' }, 406, -32000, /^Not Acceptable/],
    ['another content type', ping, { 'content-type': 'text/plain' }, 415, -32000, /^Unsupported Media Type/],
  ])('refuses %s with the code and text of SDK 1.x', async (_, body, headers, status, code, message) => {
    await using http = await echoing()
    const errors: string[] = []
    http.transport.onerror = (error) => errors.push(error.message)
    await messagesOf(await post(http.url, initialize))
    const response = await post(http.url, body, { ...inSession(http.transport.sessionId), ...headers })
    expect(response.status).toBe(status)
    const refusal = await jsonOf(response)
    expect(refusal).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code, message: expect.stringMatching(message) },
    })
    expect(errors).toEqual([refusal.error.message])
  })

  it('checks Host and Origin only if enableDnsRebindingProtection is set', async () => {
    const allowed = { sessionIdGenerator: () => randomUUID(), allowedHosts: ['example.com'] }
    await using open = await echoing(allowed)
    expect((await post(open.url, initialize)).status).toBe(200)
    await using closed = await echoing({ ...allowed, enableDnsRebindingProtection: true })
    const refused = await post(closed.url, initialize)
    expect([refused.status, (await jsonOf(refused)).error.message]).toEqual([
      403,
      expect.stringMatching(/^Invalid Host header: 127\.0\.0\.1/),
    ])
  })

  it('sends a wrapped send everything, also what it changes', async () => {
    await using http = await echoing()
    const { transport } = http
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send({ ...message, extra: true } as never, options)
    expect(await messagesOf(await post(http.url, initialize))).toEqual([
      { jsonrpc: '2.0', id: 'init', result: { method: 'initialize' }, extra: true },
    ])
  })

  it('continues the session of another process, as programs do it with private members', async () => {
    await using http = await echoing()
    http.transport._webStandardTransport.sessionId = 'other-process'
    http.transport._webStandardTransport._initialized = true
    expect((await messagesOf(await post(http.url, ping, inSession('other-process')))).length).toBe(1)
  })

  it('answers with 404 once it was closed, and calls onclose once', async () => {
    await using http = await echoing()
    let closed = 0
    http.transport.onclose = () => closed++
    await http.transport.close()
    await http.transport.close()
    expect(closed).toBe(1)
    expect((await post(http.url, initialize)).status).toBe(404)
  })
})

describe('WebStandardStreamableHTTPServerTransport', () => {
  const requestOf = (message: object) =>
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(message),
    })

  it('handles web requests, with the identity and body of a layer in front', async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const authInfo = { token: 'secret', clientId: 'client', scopes: [] }
    transport.onmessage = (message, extra) => {
      void transport.send({ jsonrpc: '2.0', id: (message as { id: number }).id, result: { ...extra?.authInfo } })
    }
    const options = { authInfo, parsedBody: { ...ping, id: 7 } }
    const response = await transport.handleRequest(requestOf(ping), options)
    expect(await jsonOf(response)).toEqual({ jsonrpc: '2.0', id: 7, result: authInfo })
  })

  it('rejects a second request without sessions', async () => {
    const transport = new WebStandardStreamableHTTPServerTransport()
    transport.onmessage = () => {}
    await transport.handleRequest(requestOf({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    await expect(transport.handleRequest(requestOf(ping))).rejects.toThrow('cannot be reused')
  })
})
