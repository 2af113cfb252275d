import { StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { answer, changed, event, type Received, type Scripted, script, sessions } from './support.ts'

function client(server: Scripted, options: StreamableHTTPClientTransportOptions = {}) {
  const transport = new StreamableHTTPClientTransport(server.url, options)
  const seen = { messages: [] as unknown[], errors: [] as string[], closes: [] as unknown[] }
  transport.onmessage = (message) => void seen.messages.push(message)
  transport.onerror = ({ message }) => void seen.errors.push(message)
  transport.onclose = (detail) => void seen.closes.push(detail)
  return { transport, ...seen, [Symbol.asyncDispose]: () => transport.close() }
}

const request = (id: number, method = 'tools/call', params: Record<string, string> = { name: 'act' }) =>
  ({ jsonrpc: '2.0', id, method, params }) as const
const notice = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' } as const
const greeting = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } } as const

/** Opens a session, up to the point where the server listens. */
async function greet(transport: StreamableHTTPClientTransport, version = '2025-11-25'): Promise<void> {
  await transport.start()
  await transport.send(greeting)
  transport.setProtocolVersion(version)
}

/** Resolves when the client has closed the connection of a request. */
function closed({ response }: Received): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve()
    else response.on('close', () => resolve())
  })
}

/** Answers a request instead of the scripted server. */
function answers(reply: () => void): true {
  reply()
  return true
}

describe('StreamableHTTPClientTransport', () => {
  it('sends nothing before it is started and after it is closed', async () => {
    await using server = await sessions()
    await using http = client(server)
    const { transport } = http
    await transport.close()
    expect(http.closes).toEqual([])
    expect(() => transport.send(notice)).toThrow('The transport is not started, or closed')
    expect(transport.cancelRequest(1)).toBe(true)
    await transport.terminateSession()
    await transport.start()
    await transport.close()
    await transport.close()
    expect(http.closes).toEqual([undefined])
    expect(() => transport.send(notice)).toThrow('The transport is not started, or closed')
    expect(server.received).toEqual([])
  })

  it('sends notifications of 2026-07-28 with the headers of that revision, and none of a session', async () => {
    await using server = await sessions()
    await using http = client(server)
    await greet(http.transport, '2026-07-28')
    await http.transport.send(notice)
    const { headers } = server.received[1]!
    expect([headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-session-id']]).toEqual([
      '2026-07-28',
      notice.method,
      undefined,
    ])
  })

  it('sends the session id and the version with everything but the handshake [SESS-005]', async () => {
    await using server = await sessions()
    await using http = client(server)
    await greet(http.transport)
    expect(http.transport.sessionId).toBe('session-1')
    await http.transport.send(request(1))
    await http.transport.send(notice)
    await http.transport.terminateSession()
    const facts = server.received.map(({ headers }) => [headers['mcp-session-id'], headers['mcp-protocol-version']])
    expect(facts[0]).toEqual([undefined, undefined])
    expect(facts.slice(1)).toEqual(Array(3).fill(['session-1', '2025-11-25']))
    expect(server.of('DELETE')[0]?.headers['content-type']).toBeUndefined()
    expect(http.transport.sessionId).toBeUndefined()
    await http.transport.terminateSession()
    expect(server.of('DELETE')).toHaveLength(1)
  })

  it('accepts that a server refuses to end a session with 405, and rejects with other errors', async () => {
    let status = 405
    await using server = await sessions(
      ({ method, status: reply }) => method === 'DELETE' && answers(() => reply(status)),
    )
    await using http = client(server, { recover: false })
    await greet(http.transport)
    await http.transport.terminateSession()
    status = 500
    await expect(http.transport.terminateSession()).rejects.toMatchObject({ status: 500 })
    expect(http.transport.sessionId).toBe('session-1')
  })

  it('does not end the session when it closes if terminateOnClose is false', async () => {
    await using server = await sessions()
    const { transport } = client(server, { terminateOnClose: false })
    await greet(transport)
    await transport.close()
    expect(server.of('DELETE')).toEqual([])
  })

  it('opens the stream of a session that another transport opened, once', async () => {
    await using server = await sessions(undefined, { stream: true })
    await using http = client(server, { sessionId: 'given' })
    expect(http.transport.sessionId).toBe('given')
    await http.transport.start()
    expect(http.transport.quietMs).toBeUndefined()
    http.transport.setProtocolVersion('2025-11-25')
    const { headers } = await server.until('GET')
    expect([headers['mcp-session-id'], headers['mcp-protocol-version']]).toEqual(['given', '2025-11-25'])
    http.transport.setProtocolVersion('2025-11-25')
    await expect.poll(() => http.transport.quietMs).toBeGreaterThanOrEqual(0)
    await http.transport.send(notice)
    expect(server.of('GET')).toHaveLength(1)
  })

  it.each([
    ['opens its own session', { initialize: true }, '2025-11-25', {}],
    ['has 2026-07-28', {}, '2026-07-28', {}],
    ['does not recover', {}, '2025-11-25', { recover: false }],
  ] as const)(
    'does not open a stream by itself if it %s',
    async (_, { initialize = false }: { initialize?: boolean }, version, options) => {
      await using server = await sessions(undefined, { stream: true })
      await using http = client(server, { sessionId: initialize ? undefined : 'given', ...options })
      await http.transport.start()
      if (initialize) await http.transport.send(greeting)
      http.transport.setProtocolVersion(version)
      await http.transport.send(notice)
      expect(server.of('GET')).toEqual([])
    },
  )

  it('closes a stream that it resumed when it is closed', async () => {
    await using server = await sessions(undefined, { stream: true })
    await using http = client(server)
    await greet(http.transport)
    const ids: string[] = []
    await http.transport.resumeStream('event-1', { onresumptiontoken: (id) => void ids.push(id) })
    const resumed = server.of('GET')[0]!
    expect(resumed.headers['last-event-id']).toBe('event-1')
    resumed.response.write(event(changed, 'event-2'))
    await expect.poll(() => http.messages.at(-1)).toEqual(changed)
    expect(ids).toEqual(['event-2'])
    await http.transport.close()
    await closed(resumed)
  })

  it('resumes a stream for a notification with a token', async () => {
    await using server = await sessions(undefined, { stream: true })
    await using http = client(server)
    await greet(http.transport)
    const ids: string[] = []
    const onresumptiontoken = (id: string) => void ids.push(id)
    await http.transport.send(notice, { resumptionToken: 'event-1', onresumptiontoken })
    const resumed = server.of('GET')[0]!
    expect([resumed.headers['last-event-id'], server.of(notice.method)]).toEqual(['event-1', []])
    resumed.response.write(event(changed, 'event-2'))
    await expect.poll(() => ids).toEqual(['event-2'])
  })

  it('opens the stream of a session of another transport after a request, but not after a handshake', async () => {
    await using server = await sessions(undefined, { stream: true })
    await using renewed = client(server, { sessionId: 'given' })
    await greet(renewed.transport)
    await renewed.transport.send(notice)
    expect(server.of('GET')).toEqual([])
    await using continued = client(server, { sessionId: 'given' })
    await continued.transport.start()
    await continued.transport.send(request(1))
    continued.transport.setProtocolVersion('2025-11-25')
    expect((await server.until('GET')).headers['mcp-session-id']).toBe('given')
  })

  it('closes a stream that a server answers a notification with', async () => {
    await using server = await sessions(
      ({ message, stream }) => message.method === notice.method && answers(() => stream()),
    )
    await using http = client(server)
    await greet(http.transport)
    await http.transport.send(notice)
    await closed(server.of(notice.method)[0]!)
  })

  it('rejects if the server refuses to resume a stream', async () => {
    await using server = await sessions()
    await using http = client(server)
    await greet(http.transport)
    await expect(http.transport.resumeStream('event-1')).rejects.toMatchObject({ status: 405 })
    await expect(http.transport.send(notice, { resumptionToken: 'event-1' })).rejects.toMatchObject({ status: 405 })
  })

  it('fails requests that wait for their response when it is closed, and drops what arrives later', async () => {
    await using server = await sessions(({ message }) => message.method === 'tools/call')
    await using http = client(server)
    await greet(http.transport)
    const waiting = http.transport.send(request(1))
    waiting.catch(() => {})
    const call = await server.until('tools/call')
    await http.transport.close()
    await expect(waiting).rejects.toThrow('The connection was closed')
    await closed(call)
    expect(http.messages).toHaveLength(1)
  })

  it('rejects a notification that the server has not accepted when it is closed', async () => {
    await using server = await sessions(({ message }) => message.method === notice.method)
    await using http = client(server)
    await greet(http.transport)
    const sent = http.transport.send(notice).then(String, String)
    const received = await server.until(notice.method)
    await http.transport.close()
    expect(await sent).toContain('The connection was closed')
    await closed(received)
  })

  it('reports an error of the program that receives a message', async () => {
    await using server = await sessions()
    await using http = client(server)
    await greet(http.transport)
    http.transport.onmessage = () => {
      throw new Error('a mistake')
    }
    await http.transport.send(request(1))
    expect(http.errors).toEqual(['a mistake'])
  })

  it.each([
    [404, 'anything'],
    [400, '{"error":{"message":"Bad Request: No valid session ID provided"}}'],
    [400, '{"error":{"message":"Session not found"}}'],
    [400, '{"error":{"message":"Bad Request: Server not initialized"}}'],
  ])('reports once that the session is lost after %d %s', async (status, body) => {
    let isLost = false
    await using server = await sessions(({ status: reply }) => isLost && answers(() => reply(status, body)))
    await using http = client(server)
    await greet(http.transport)
    isLost = true
    const sent = [http.transport.send(request(1)), http.transport.send(request(2)), http.transport.send(notice)]
    await Promise.allSettled(sent)
    expect(http.closes).toEqual([{ sessionLost: true, reason: 'the server no longer knows the session' }])
    expect(http.transport.sessionId).toBeUndefined()
  })

  it.each([
    [400, '{"error":{"message":"Invalid params"}}'],
    [400, 'session not found'],
    [400, '{"error":"session not found"}'],
    [400, '{"error":{"message":7}}'],
    [400, ''],
    [403, '{"error":{"message":"Session not found"}}'],
  ])('does not take %d %s for the end of the session', async (status, body) => {
    await using server = await sessions(
      ({ message, status: reply }) => message.id === 1 && answers(() => reply(status, body)),
    )
    await using http = client(server)
    await greet(http.transport)
    await Promise.allSettled([http.transport.send(request(1))])
    expect([http.closes, http.transport.sessionId]).toEqual([[], 'session-1'])
    await http.transport.send(request(2))
  })

  it('repeats long names in headers only after the server asked for them', async () => {
    const name = 'x'.repeat(5_000)
    let isStrict = true
    await using server = await sessions(({ message, headers, error }) => {
      if (message.method !== 'tools/call' || !isStrict || headers['mcp-name'] !== undefined) return false
      error(-32020, 'Header mismatch: Mcp-Name header is required', 400)
      return true
    })
    await using http = client(server, { standardHeaders: true })
    await greet(http.transport)
    await http.transport.send(request(1, 'tools/call', { name }))
    isStrict = false
    await http.transport.send(request(2, 'tools/call', { name }))
    expect(server.of('tools/call').map(({ headers }) => headers['mcp-name']?.length)).toEqual([undefined, 5_000, 5_000])
    expect(http.messages.slice(1)).toEqual([answer(1), answer(2)])
  })

  it('does not repeat a request that was refused because of its headers if none was left out', async () => {
    await using server = await sessions(
      ({ message, error }) => message.method === 'tools/call' && answers(() => error(-32020, 'Header mismatch', 400)),
    )
    await using http = client(server, { standardHeaders: true })
    await greet(http.transport)
    await http.transport.send(request(1))
    expect(server.of('tools/call')).toHaveLength(1)
    expect(http.messages.at(-1)).toMatchObject({ id: 1, error: { code: -32020 } })
  })

  it('cancels by closing the stream where that is enough, else leaves it to a notification', async () => {
    await using server = await sessions(({ message }) => message.method === 'tools/call')
    await using http = client(server)
    const { transport } = http
    await greet(transport)
    expect(transport.cancelRequest(1)).toBe(false)
    void transport.send(request(1)).catch(() => {})
    const call = await server.until('tools/call')
    expect(transport.cancelRequest(1)).toBe(false)
    await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    await closed(call)
    transport.setProtocolVersion('2026-07-28')
    expect(transport.cancelRequest(7)).toBe(true)
    void transport.send(request(2)).catch(() => {})
    const modern = await server.until('tools/call', 2)
    expect(transport.cancelRequest(2)).toBe(true)
    await closed(modern)
  })

  it('fails if the answer is neither JSON nor a stream, or a response to another request', async () => {
    const bodies: Record<number, (received: Received) => void> = {
      1: ({ status }) => status(200, '<html>', { 'content-type': 'text/html' }),
      2: ({ status }) => status(200),
      3: ({ json }) => json(answer(7)),
      4: ({ status }) => status(200, 'no JSON', { 'content-type': 'application/json' }),
      5: ({ json }) => json([answer(5)]),
    }
    await using server = await sessions((received) => {
      const reply = bodies[received.message.id ?? 0]
      reply?.(received)
      return reply !== undefined
    })
    await using http = client(server)
    await greet(http.transport)
    const failure = (id: number) => http.transport.send(request(id)).then(String, ({ message }) => message)
    expect(await failure(1)).toContain('HTTP 200 and "text/html", which is not an MCP message. This is a web page')
    expect(await failure(2)).toContain('HTTP 200 and no content')
    expect(await failure(3)).toContain('something that is not a response to it')
    expect(await failure(4)).toContain('not a response to it. The server sent an invalid message')
    expect(await failure(5)).toContain('The server sent a batch, which its revision does not support')
    expect(http.errors).toHaveLength(2)
  })

  it('refuses a session id that is not visible ASCII', async () => {
    for (const id of ['with space', 'x'.repeat(1_025)]) {
      await using server = await script(({ result }) => result({}, { 'Mcp-Session-Id': id }))
      await using http = client(server)
      await http.transport.start()
      await expect(http.transport.send(greeting)).rejects.toThrow('not visible ASCII')
    }
    await using server = await script(({ result }) => result({}, { 'Mcp-Session-Id': 'x'.repeat(1_024) }))
    const { transport } = client(server, { terminateOnClose: false })
    await transport.start()
    await transport.send(greeting)
    expect(transport.sessionId).toHaveLength(1_024)
    await transport.close()
  })

  it('passes requests through a send that a program replaced, with what belongs to them', async () => {
    await using server = await sessions()
    await using http = client(server, { standardHeaders: true })
    const { transport } = http
    await greet(transport)
    const { send } = transport
    const seen: unknown[] = []
    transport.send = (message, options) => {
      seen.push(message, options)
      return send.call(transport, message, options)
    }
    const options = { headers: { 'mcp-param-a': 'b' } } as object
    const { id, method, params } = request(1)
    await transport.sendRequest(JSON.stringify(request(1)), { id, method, params, options })
    expect(seen).toEqual([request(1), undefined])
    expect(server.of('tools/call')[0]?.headers['mcp-param-a']).toBe('b')
  })

  it('sends several messages one by one, or as one batch on request', async () => {
    await using server = await script((received) => {
      const messages = JSON.parse(received.text || '{}')
      if (!Array.isArray(messages))
        return received.message.id === undefined ? received.status(202) : received.result({})
      received.json(messages.flatMap(({ id }: { id?: number }) => (id === undefined ? [] : answer(id))))
    })
    await using http = client(server)
    await greet(http.transport, '2025-03-26')
    await http.transport.send([request(1), notice, request(2)])
    expect(server.received).toHaveLength(4)
    await http.transport.send([request(3), notice, request(4)], { batch: true })
    expect(JSON.parse(server.received[4]!.text)).toEqual([request(3), notice, request(4)])
    expect(server.received).toHaveLength(5)
    expect(http.messages.at(-1)).toEqual([answer(3), answer(4)])
  })
})
