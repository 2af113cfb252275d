import {
  Client,
  type ConnectOptions,
  connect,
  type FetchLike,
  HttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { answer, discovered, event, initialized, modern, once, type Received, script, sessions } from './support.ts'

/** A server of the HTTP+SSE transport: a stream by GET, and messages to the endpoint that its first event names. */
function sse(
  onGet: (received: Received) => void = (received) => received.stream('event: endpoint\ndata: /messages?session=7\n\n'),
  onPost: (received: Received) => boolean = () => false,
) {
  let stream: Received | undefined
  return script((received) => {
    const { method, path, message } = received
    if (method === 'GET') {
      stream = received
      return onGet(received)
    }
    if (!path.startsWith('/messages')) return received.status(404, 'Cannot POST')
    if (onPost(received)) return
    received.status(202, 'Accepted')
    if (message.id === undefined) return
    const result =
      message.method === 'initialize' ? initialized('2024-11-05') : { content: [{ type: 'text', text: 'done' }] }
    stream!.response.write(`event: message\n${event(answer(message.id, result))}`)
  })
}

describe('detecting the revision of an HTTP server', () => {
  it('starts with server/discover, which is enough for a 2026-07-28 server [VER-021]', async () => {
    await using server = await modern()
    await using client = await connect(server.url)
    expect(client.revision).toBe('2026-07-28')
    expect(server.methods()).toEqual(['server/discover'])
    expect(server.received[0]!.headers['mcp-protocol-version']).toBe('2026-07-28')
  })

  it.each([
    ['400 and no body', (probe: Received) => probe.status(400)],
    ['400 and text', (probe: Received) => probe.status(400, 'Bad Request: No valid session ID provided')],
    ['400 and an error that handshake servers use too', (probe: Received) => probe.error(-32000, 'No session', 400)],
    ['404 and an HTML page', (probe: Received) => probe.status(404, '<html>', { 'Content-Type': 'text/html' })],
    ['404 and an unknown method', (probe: Received) => probe.error(-32601, 'Method not found', 404)],
    ['405', (probe: Received) => probe.status(405)],
    ['406', (probe: Received) => probe.status(406)],
    ['415', (probe: Received) => probe.status(415)],
    ['422', (probe: Received) => probe.json({ detail: 'nope' }, 422)],
    ['200 and an unknown method', (probe: Received) => probe.error(-32601, 'Method not found')],
    ['200 and an HTML page', (probe: Received) => probe.status(200, '<html>', { 'Content-Type': 'text/html' })],
    ['202', (probe: Received) => probe.status(202)],
    ['a broken connection', (probe: Received) => void probe.response.destroy()],
  ] as [string, (probe: Received) => void][])(
    'falls back to the handshake after %s and keeps using it [VER-024, VER-031, VER-022]',
    async (_, refuse) => {
      await using server = await sessions((received) => {
        if (received.message.method !== 'server/discover') return false
        refuse(received)
        return true
      })
      await using client = await connect(server.url)
      expect(client.revision).toBe('2025-11-25')
      await client.listTools()
      expect(server.methods()).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'tools/list'])
      const [, greeting, , list] = server.received.filter(({ method }) => method === 'POST')
      expect(greeting!.headers['mcp-protocol-version']).toBeUndefined()
      expect(list!.headers['mcp-protocol-version']).toBe('2025-11-25')
      expect(list!.message.params?._meta).toBeUndefined()
    },
  )

  it.each([500, 502, 503])('does not take HTTP %s for the answer of an older server [VER-024]', async (status) => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'server/discover') return false
      received.status(status, 'broken')
      return true
    })
    await expect(connect(server.url)).rejects.toMatchObject({ code: 'http', status })
    expect(server.of('initialize')).toEqual([])
  })

  it('retries with the same version when the server rejects it but lists it as supported [VER-023]', async () => {
    await using server = await modern((received) => {
      if (server.received.length > 1) return false
      received.error(-32022, 'Unsupported protocol version', 400, {
        supported: ['2026-07-28'],
        requested: '2026-07-28',
      })
      return true
    })
    await using client = await connect(server.url)
    expect(client.revision).toBe('2026-07-28')
    expect(server.methods()).toEqual(['server/discover', 'server/discover'])
    expect(server.received[1]!.headers['mcp-protocol-version']).toBe('2026-07-28')
  })

  it.each([-32020, -32021, -32022])(
    'does not fall back when a 2026-07-28 server answers with %s [VER-022, VER-023]',
    async (code) => {
      await using server = await script((received) => received.error(code, 'No', 400, { supported: ['2099-01-01'] }))
      const error = await connect(server.url).catch((each) => each)
      expect(error.code === 'peer' || error.code === 'no-common-revision').toBe(true)
      expect(server.methods()).toEqual(['server/discover'])
    },
  )

  it('uses an earlier version that the server lists as supported [VER-023]', async () => {
    await using server = await sessions(
      (received) => {
        if (received.message.method !== 'server/discover') return false
        received.error(-32022, 'Unsupported', 400, { supported: ['2025-06-18'] })
        return true
      },
      { version: '2025-06-18' },
    )
    await using client = await connect(server.url)
    expect(client.revision).toBe('2025-06-18')
    expect(server.of('initialize')[0]!.message.params!.protocolVersion).toBe('2025-06-18')
  })

  it.each([401, 403])('stops at %s without a fallback', async (status) => {
    await using server = await script((received) => received.status(status, 'Who are you?'))
    await expect(connect(server.url)).rejects.toMatchObject({ code: 'http', status })
    expect(server.received).toHaveLength(1)
  })

  it('waits for a slow server instead of sending a second request', async () => {
    let hold: Received | undefined
    await using server = await modern((received) => {
      if (received.message.method !== 'server/discover') return false
      hold = received
      setTimeout(() => received.result(discovered()), 60)
      return true
    })
    await using client = await connect(server.url, { probeTimeoutMs: 10 })
    expect(client.revision).toBe('2026-07-28')
    expect(server.received).toEqual([hold])
  })

  it('remembers the result and detects it again when it is outdated [VER-025, VER-026]', async () => {
    const old = await sessions()
    const first = await connect(old.url)
    await first.close()
    const second = await connect(old.url)
    await second.close()
    expect(old.of('server/discover')).toHaveLength(1)
    await old.close()
    await using server = await modern((received) => {
      if (received.message.method !== 'initialize') return false
      received.status(400)
      return true
    }, old.port)
    await using third = await connect(server.url)
    expect(third.revision).toBe('2026-07-28')
    expect(server.methods()).toEqual(['initialize', 'server/discover'])
  })
})

describe('the fallback to HTTP+SSE', () => {
  it('is used from then on when server/discover and initialize failed [SSE-003, SSE-006, SSE-008, SSE-009, SSE-010, VER-031, SDK-015]', async () => {
    await using server = await sse()
    await using client = await connect(server.url, { headers: { 'x-key': 'k' } })
    expect(client.revision).toBe('2024-11-05')
    expect((await client.callTool('act')).text).toBe('done')
    expect(
      server.received.map(({ method, path, message }) => `${method} ${path} ${message.method ?? ''}`.trim()),
    ).toEqual([
      'POST /mcp server/discover',
      'POST /mcp initialize',
      'GET /mcp',
      'POST /messages?session=7 initialize',
      'POST /messages?session=7 notifications/initialized',
      'POST /messages?session=7 tools/call',
    ])
    expect(server.of('GET')[0]!.headers.accept).toBe('text/event-stream')
    expect(server.received.every(({ headers }) => headers['x-key'] === 'k')).toBe(true)
    await using again = await connect(server.url)
    expect(again.revision).toBe('2024-11-05')
    expect(server.received[6]).toMatchObject({ method: 'GET' })
  })

  it.each([400, 404, 405, 406, 415, 422])(
    'is used after a POST with %s [SSE-007, SSE-008, SSE-009]',
    async (status) => {
      let stream: Received | undefined
      await using server = await script((received) => {
        const { method, path, message } = received
        if (method === 'GET') {
          stream = received
          return received.stream('event: endpoint\ndata: /messages\n\n')
        }
        if (path !== '/messages') return received.status(status)
        received.status(202)
        if (message.method === 'initialize')
          stream!.response.write(event(answer(message.id, initialized('2024-11-05'))))
      })
      await using client = await connect(server.url)
      expect(client.revision).toBe('2024-11-05')
    },
  )

  it('is not tried when the server rejects initialize with a JSON-RPC error [SSE-009]', async () => {
    await using server = await script((received) =>
      received.message.method === 'initialize' ? received.error(-32601, 'Method not found', 404) : received.status(400),
    )
    await expect(connect(server.url)).rejects.toMatchObject({ code: 'peer', rpcCode: -32601 })
    expect(server.of('GET')).toHaveLength(0)
  })

  it('is not tried when the server lists only unsupported revisions [SSE-009]', async () => {
    await using server = await script((received) =>
      received.error(-32022, 'Unsupported', 400, { supported: ['2026-07-28'] }),
    )
    await expect(connect(server.url, { revision: '2025-06-18' })).rejects.toMatchObject({ code: 'no-common-revision' })
    expect(server.of('GET')).toHaveLength(0)
  })

  it('is not tried by a client with revision 2026-07-28', async () => {
    await using server = await sse()
    await expect(connect(server.url, { revision: '2026-07-28' })).rejects.toMatchObject({ code: 'no-common-revision' })
    expect(server.of('GET')).toHaveLength(0)
  })

  it('is not tried by a client with an explicit transport', async () => {
    await using server = await sse()
    const client = new Client({ name: 'x', version: '1' })
    await expect(client.connect(new StreamableHTTPClientTransport(server.url))).rejects.toMatchObject({ status: 404 })
    expect(server.of('GET')).toHaveLength(0)
  })

  it.each([
    ['an error status', (received: Received) => received.status(405), /event stream by GET: HTTP 405/],
    ['HTML', (received: Received) => received.status(200, 'x', { 'Content-Type': 'text/html' }), /by GET: HTTP 200/],
    [
      'an endpoint on another origin',
      (received: Received) => received.stream('event: endpoint\ndata: http://localhost:1/messages\n\n'),
      /another origin, http:\/\/localhost:1/,
    ],
    [
      'the end of the stream',
      (received: Received) => {
        received.stream()
        received.response.end()
      },
      /did not send the endpoint for messages/,
    ],
  ] as [string, (received: Received) => void, RegExp][])(
    'fails after %s, and the error lists all attempts',
    async (_, onGet, what) => {
      await using server = await sse(onGet)
      const error = await connect(server.url).catch((each) => each)
      expect(error).toBeInstanceOf(HttpError)
      expect(error.message).toMatch(/server\/discover by POST: HTTP 404; initialize by POST: HTTP 404/)
      expect(error.message + (error.cause as AggregateError).errors.map(String).join()).toMatch(what)
    },
  )

  it('is not needed with SSEClientTransport, which sends no other requests (fetch and node:http)', async () => {
    await using server = await sse()
    for (const fetcher of [undefined, (...args: Parameters<FetchLike>) => fetch(...args)]) {
      const client = new Client({ name: 'x', version: '1' })
      await client.connect(new SSEClientTransport(server.url, { fetch: fetcher }))
      expect((await client.callTool('act')).text).toBe('done')
      await client.close()
    }
    expect(server.of('server/discover')).toEqual([])
    expect(server.received.filter(({ path }) => path === '/mcp').map(({ method }) => method)).toEqual(['GET', 'GET'])
    expect(server.of('tools/call').every(({ headers }) => headers['mcp-protocol-version'] === '2024-11-05')).toBe(true)
  })

  it('opens a new session when the stream breaks', async () => {
    await using server = await sse()
    const options: ConnectOptions = { reconnect: { initialDelayMs: 5 } }
    await using client = await connect(server.url, options)
    const renewed = once<object>((listener) => client.on('sessionRenewed', listener))
    server.of('GET')[0]!.response.destroy()
    await renewed
    expect((await client.callTool('act')).text).toBe('done')
    expect(server.of('GET')).toHaveLength(2)
  })

  it.each([
    ['requests', { jsonrpc: '2.0', id: 1, method: 'ping' }],
    ['invalid messages', { jsonrpc: '2.0', id: 1, method: 5 }],
  ])('closes the stream of a server that sends %s but does not accept the responses', async (_, message) => {
    // Accepts the requests of the client, but never answers a POST that carries a response.
    await using server = await sse(undefined, (received) => received.message.method === undefined)
    const transport = new SSEClientTransport(server.url)
    const client = new Client({ name: 'x', version: '1' })
    await client.connect(transport)
    const renewed = once<object>((listener) => client.on('sessionRenewed', listener))
    server.of('GET')[0]!.response.write(`event: message\n${event(message)}`.repeat(1_000))
    await renewed
    const answers = server.received.filter((each) => each.method === 'POST' && each.message.method === undefined)
    expect(answers.length).toBeLessThanOrEqual(256)
    await client.close()
  })

  it('fails only the call whose message the server rejects', async () => {
    await using server = await sse(undefined, (received) => {
      if (received.message.method !== 'tools/call' || server.of('tools/call').length > 1) return false
      received.status(500, 'broken')
      return true
    })
    await using client = await connect(server.url)
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', status: 500 })
    expect((await client.callTool('act')).text).toBe('done')
  })
})
