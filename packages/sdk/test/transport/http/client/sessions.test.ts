import { Client, connect, McpError, StreamableHTTPClientTransport, type TraceEvent } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { serve } from '../../../kit/serve-http.ts'
import { movableDate } from '../../../kit/time.ts'
import { answer, changed, event, modern, once, type Received, type Scripted, sessions } from './support.ts'

const revisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
const quick = { initialDelayMs: 5, maxDelayMs: 20 }

/** A server whose tool repeats arguments in headers. */
function annotated(version: string) {
  const properties = {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
  }
  return sessions(
    (received) => {
      if (received.message.method !== 'tools/list') return false
      received.result({ tools: [{ name: 'act', inputSchema: { type: 'object', properties } }] })
      return true
    },
    { version },
  )
}

/** A server with tools of these input schemas, on any revision. */
function listing(version: string, tools: Record<string, object>): Promise<Scripted> {
  const list = Object.entries(tools).map(([name, schema]) => ({ name, inputSchema: { type: 'object', ...schema } }))
  const result = { tools: list, resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  const answerToo = (received: Received) => {
    if (Array.isArray(received.message)) {
      const [first, second] = received.message as { id: number }[]
      received.json([answer(first!.id, result), answer(second!.id, { prompts: [] })])
      return true
    }
    if (received.message.method !== 'tools/list') return false
    received.result(result)
    return true
  }
  return version === '2026-07-28' ? modern(answerToo) : sessions(answerToo, { version })
}

function settledValue(settled: PromiseSettledResult<unknown> | undefined): unknown {
  return settled?.status === 'fulfilled' ? settled.value : settled?.reason
}

/** A server that can drop all sessions, like a server that was restarted. */
function forgetful(answerToo: (received: Received) => unknown = () => false) {
  const known = new Set<string>()
  let count = 0
  const forget = () => known.clear()
  const server = sessions((received) => {
    const { message, headers, method } = received
    if (message.method === 'initialize') {
      const id = `s${++count}`
      known.add(id)
      received.result(
        {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
          serverInfo: { name: 'x', version: '1' },
        },
        { 'mcp-session-id': id },
      )
      return true
    }
    if (message.method === 'server/discover' || method === 'DELETE') return false
    if (!known.has(String(headers['mcp-session-id']))) {
      received.error(-32001, 'Session not found', 404)
      return true
    }
    if (answerToo(received)) return true
    if (method !== 'GET') return false
    received.stream()
    return true
  })
  return server.then((scripted) => Object.assign(scripted, { forget }))
}

const readsOnly = { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }

describe('a session', () => {
  it.each(revisions)(
    'is sent with every request, together with the negotiated version [SESS-005, SESS-010, SESS-015, HTTP-037, HTTP-038, HTTP-028] (%s)',
    async (revision) => {
      await using server = await sessions(undefined, { version: revision })
      const client = await connect(server.url, { revision })
      await client.listTools()
      await server.until('GET')
      await client.close()
      const [greeting, ...later] = server.received
      expect(greeting!.message.method).toBe('initialize')
      expect(greeting!.headers['mcp-session-id']).toBeUndefined()
      expect(greeting!.headers['mcp-protocol-version']).toBeUndefined()
      expect(later.map(({ method }) => method).sort()).toEqual(['DELETE', 'GET', 'POST', 'POST'])
      for (const { headers, message } of later) {
        expect(headers['mcp-session-id']).toBe('session-1')
        expect(headers['mcp-protocol-version']).toBe(revision)
        expect(headers['mcp-method']).toBe(message.method)
      }
      expect(later.find(({ method }) => method === 'GET')!.headers.accept).toBe('text/event-stream')
    },
  )

  it.each(revisions)(
    'its requests repeat method, name and annotated arguments in headers on %s [HDR-016, HDR-049, HDR-051, HDR-052]',
    async (revision) => {
      await using server = await annotated(revision)
      await using client = await connect(server.url, { revision })
      await client.listTools().all()
      await client.callTool('act', { region: 'Größe', count: 2 ** 60 })
      await client.readResource('note://1').catch(() => {})
      const headersOf = (method: string) => server.of(method).at(-1)!.headers
      expect(headersOf('initialize')['mcp-method']).toBe('initialize')
      expect(headersOf('notifications/initialized')['mcp-method']).toBe('notifications/initialized')
      // A number that cannot be repeated exactly has no header, and the call is sent all the same.
      expect(headersOf('tools/call')).toMatchObject({
        'mcp-method': 'tools/call',
        'mcp-name': 'act',
        'mcp-param-region': '=?base64?R3LDtsOfZQ==?=',
      })
      expect(headersOf('tools/call')['mcp-param-count']).toBeUndefined()
      expect(headersOf('resources/read')['mcp-name']).toBe('note://1')
    },
  )

  it('its requests have no such headers with standardHeaders: false, as in browsers [HDR-049]', async () => {
    await using server = await annotated('2025-11-25')
    await using client = await connect(server.url, { revision: '2025-11-25', standardHeaders: false })
    await client.listTools().all()
    await client.callTool('act', { region: 'eu' })
    for (const { headers } of server.received)
      expect(Object.keys(headers).filter((name) => /^mcp-(method|name|param)/.test(name))).toEqual([])
  })

  it('leaves out a name that is too long for an optional header [HDR-051]', async () => {
    await using server = await sessions()
    await using client = await connect(server.url, { revision: '2025-11-25' })
    await client.readResource(`note://${'x'.repeat(20_000)}`).catch(() => {})
    const { headers } = server.of('resources/read').at(-1)!
    expect([headers['mcp-method'], headers['mcp-name']]).toEqual(['resources/read', undefined])
  })

  it('sends a long name and long arguments in headers to a server that requires them [HDR-051, HDR-052]', async () => {
    const definition = new McpServer({ name: 'strict', version: '1' })
    const long = 'x'.repeat(4_000)
    definition.registerResource('note', `note://${long}`, {}, () => 'found')
    const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } } as const
    definition.registerTool('act', { inputSchema: { type: 'object', properties } }, () => 'done')
    await using server = await serve(definition, { standardHeaders: 'require' })
    const posts: string[] = []
    const trace = (event: TraceEvent) => {
      if (event.type === 'http-request' && event.method === 'POST') posts.push(event.headers['mcp-name'] ?? '')
    }
    await using client = await connect(server.url, { revision: '2025-11-25', trace })
    await client.listTools()
    posts.length = 0
    expect((await client.readResource(`note://${long}`)).contents).toMatchObject([{ text: 'found' }])
    expect(posts.map((name) => name.length)).toEqual([0, 4_007])
    // The server has said what it requires.
    expect((await client.callTool('act', { region: long })).text).toBe('done')
    await client.readResource(`note://${long}`)
    expect(posts.map((name) => name.length)).toEqual([0, 4_007, 3, 4_007])
  })

  it('sends a request once if the server refuses it for another reason than its headers [HDR-051]', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'resources/read') return false
      received.error(-32001, 'Request timed out', 400)
      return true
    })
    await using client = await connect(server.url, { revision: '2025-11-25' })
    await expect(client.readResource(`note://${'x'.repeat(4_000)}`)).rejects.toThrow('Request timed out')
    expect(server.of('resources/read')).toHaveLength(1)
  })

  it.each([false, true])(
    'repeats a call with the headers that the server misses, after it has listed the tools [HDR-056] (listed before: %s)',
    async (isListed) => {
      const definition = new McpServer({ name: 'strict', version: '1' })
      const register = (header: string) => {
        const properties = { region: { type: 'string', 'x-mcp-header': header } } as const
        return definition.registerTool('act', { inputSchema: { type: 'object', properties } }, () => header)
      }
      const first = register('Zone')
      await using server = await serve(definition, { standardHeaders: 'require' })
      const sent: string[] = []
      const trace = (event: TraceEvent) => {
        if (event.type === 'message' && event.direction === 'sent' && 'method' in (event.message as object))
          sent.push((event.message as { method: string }).method)
      }
      await using client = await connect(server.url, { revision: '2025-11-25', trace })
      if (isListed) await client.listTools()
      first.remove()
      register('Region')
      sent.length = 0
      expect((await client.callTool('act', { region: 'eu' })).text).toBe('Region')
      expect((await client.callTool('act', { region: 'eu' })).text).toBe('Region')
      expect(sent).toEqual(['tools/call', 'tools/list', 'tools/call', 'tools/call'])
    },
  )

  it('calls a tool once if it fails with a code that servers also use for other errors [HDR-056]', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'tools/call') return false
      received.error(-32001, 'Request timed out')
      return true
    })
    await using client = await connect(server.url, { revision: '2025-11-25' })
    await expect(client.callTool('act', { region: 'eu' })).rejects.toThrow('Request timed out')
    expect(server.of('tools/call')).toHaveLength(1)
    expect(server.of('tools/list')).toHaveLength(0)
  })

  it('repeats numbers in headers, which the draft allows and 2026-07-28 does not [HDR-052, HDR-057]', async () => {
    const numeric = { type: 'number', 'x-mcp-header': 'Ratio' }
    await using server = await listing('2025-11-25', { act: { properties: { ratio: numeric } } })
    await using client = await connect(server.url, { revision: '2025-11-25' })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['act'])
    for (const ratio of [3.14, 42, -0.5, 1e-7, 2 ** 60]) await client.callTool('act', { ratio })
    const sent = server.of('tools/call').map(({ headers }) => headers['mcp-param-ratio'])
    expect(sent).toEqual(['3.14', '42', '-0.5', undefined, undefined])
  })

  describe.each(['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)('on %s', (revision) => {
    const mirrored = (header: unknown) => ({ properties: { a: { type: 'string', 'x-mcp-header': header } } })
    const tools = { good: mirrored('A'), bad: mirrored('a b'), worse: mirrored('') }
    const warningsOf = (client: Client) => {
      const warnings: string[] = []
      client.on('warning', ({ message }) => warnings.push(message))
      return warnings
    }
    const names = (result: unknown) => (result as { tools: { name: string }[] }).tools.map(({ name }) => name)

    it.each([
      ['listTools()', (client: Client) => client.listTools()],
      ['request()', (client: Client) => client.request('tools/list')],
      ['request() by hand', (client: Client) => client.request('tools/list', {}, { inputRequired: 'return' })],
      ['batch()', async (client: Client) => settledValue((await client.batch([{ method: 'tools/list' }]))[0])],
      [
        'batch() of two',
        async (client: Client) =>
          settledValue((await client.batch([{ method: 'tools/list' }, { method: 'prompts/list' }]))[0]),
      ],
    ])(
      '%s leaves out a tool with an invalid header annotation, with a warning [HDR-028, HDR-029, HDR-057]',
      async (_, list) => {
        await using server = await listing(revision, tools)
        await using client = await connect(server.url, { revision })
        const warnings = warningsOf(client)
        expect(names(await list(client))).toEqual(['good'])
        expect(warnings).toHaveLength(2)
        expect(warnings[0]).toMatch(/"bad" .*x-mcp-header/)
      },
    )
  })

  it('lists tools with invalid header annotations if it sends no such headers [HDR-030]', async () => {
    const invalid = { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }
    await using server = await listing('2025-11-25', { bad: invalid })
    await using client = await connect(server.url, { revision: '2025-11-25', standardHeaders: false })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['bad'])
  })

  it('is optional: without a session id no header and no DELETE is sent', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'initialize') return false
      received.result({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      })
      return true
    })
    const client = await connect(server.url)
    await client.listTools()
    await client.close()
    expect(server.received.some(({ headers }) => 'mcp-session-id' in headers)).toBe(false)
    expect(server.of('DELETE')).toHaveLength(0)
  })

  it('delays requests until the server accepted notifications/initialized', async () => {
    let hold: Received | undefined
    await using server = await sessions((received) => {
      if (received.message.method !== 'notifications/initialized') return false
      hold = received
      return true
    })
    await using client = await connect(server.url)
    const listed = client.listTools()
    await server.until('notifications/initialized')
    await new Promise((resolve) => setImmediate(resolve))
    expect(server.of('tools/list')).toHaveLength(0)
    hold!.status(202)
    await listed
  })

  it('is refused when its id contains invalid characters [SESS-004]', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'initialize') return false
      received.result({}, { 'mcp-session-id': 'a b' })
      return true
    })
    await expect(connect(server.url)).rejects.toThrow(/session id/)
  })

  it('can be terminated before the client is closed', async () => {
    await using server = await sessions()
    const transport = new StreamableHTTPClientTransport(server.url)
    await using client = new Client({ name: 'x', version: '1' })
    await client.connect(transport)
    expect(transport).toMatchObject({ sessionId: 'session-1', protocolVersion: '2025-11-25' })
    await transport.terminateSession()
    expect(transport.sessionId).toBeUndefined()
    expect(server.of('DELETE')).toHaveLength(1)
  })
})

describe('a session that the server lost', () => {
  it('is renewed without its id, reported with sessionRenewed, and safe requests are repeated [SESS-009]', async () => {
    await using server = await forgetful()
    await using client = await connect(server.url)
    const renewed = once<object>((listener) => client.on('sessionRenewed', listener))
    await client.listTools()
    server.forget()
    expect((await client.listTools()).tools).toHaveLength(1)
    expect(await renewed).toEqual({ sessionId: 's2', previous: 's1' })
    const [, second] = server.of('initialize')
    expect(second!.headers['mcp-session-id']).toBeUndefined()
    expect(server.of('tools/list').map(({ headers }) => headers['mcp-session-id'])).toEqual(['s1', 's1', 's2'])
  })

  it('fails a call that may have had side effects, names the reason, and serves the next call', async () => {
    await using server = await forgetful()
    await using client = await connect(server.url)
    await client.ping()
    server.forget()
    const error = await client.callTool('act').catch((each) => each)
    expect(error).toBeInstanceOf(McpError)
    expect(error).toMatchObject({ code: 'session-renewed' })
    expect(error.message).toMatch(/during tools\/call\. The client has a new session, but did not repeat the request/)
    expect(server.of('tools/call')).toHaveLength(1)
    expect((await client.callTool('act')).text).toBe('done')
  })

  function forgetfulReader() {
    return forgetful((received) => {
      if (received.message.method !== 'tools/list') return false
      received.result({ tools: [readsOnly] })
      return true
    })
  }

  it('repeats a call of a read-only tool if the server is trusted', async () => {
    await using server = await forgetfulReader()
    await using client = await connect(server.url, { trusted: true })
    await client.listTools()
    server.forget()
    expect((await client.callTool('look')).text).toBe('done')
    expect(server.of('tools/call')).toHaveLength(2)
  })

  it.each([undefined, false])(
    'does not repeat a call of a tool that claims to be read-only (trusted: %s) [TOOL-012]',
    async (trusted) => {
      await using server = await forgetfulReader()
      await using client = await connect(server.url, { trusted })
      await client.listTools()
      server.forget()
      await expect(client.callTool('look')).rejects.toMatchObject({ code: 'session-renewed' })
      expect(server.of('tools/call')).toHaveLength(1)
    },
  )

  it('is renewed once, however many calls fail', async () => {
    await using server = await forgetful()
    await using client = await connect(server.url)
    server.forget()
    const lists = await Promise.all(
      Array.from({ length: 20 }, () =>
        client.listPrompts().then(
          () => 1,
          () => client.ping().then(() => 1),
        ),
      ),
    )
    expect(lists).toHaveLength(20)
    expect(server.of('initialize')).toHaveLength(2)
  })

  it('is renewed with its resource subscriptions and log level', async () => {
    await using server = await forgetful()
    await using client = await connect(server.url)
    await client.subscribeResource('file:///a')
    await client.setLoggingLevel('error')
    server.forget()
    await client.ping()
    await server.until('logging/setLevel', 2)
    const subscribed = server.of('resources/subscribe')
    expect(subscribed.map(({ headers, message }) => [headers['mcp-session-id'], message.params])).toEqual([
      ['s1', { uri: 'file:///a' }],
      ['s2', { uri: 'file:///a' }],
    ])
  })

  it('is detected on its GET stream too, without any call', async () => {
    await using server = await forgetful()
    await using client = await connect(server.url, { reconnect: quick })
    const renewed = once<object>((listener) => client.on('sessionRenewed', listener))
    const stream = await server.until('GET')
    server.forget()
    stream.response.end()
    await renewed
    expect(client.state).toBe('ready')
  })

  it('is renewed a limited number of times', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'tools/list') return false
      received.status(404)
      return true
    })
    await using client = await connect(server.url)
    await expect(client.listTools()).rejects.toMatchObject({ code: 'session-renewed' })
    expect(server.of('tools/list')).toHaveLength(3)
    expect(server.of('initialize')).toHaveLength(4)
  })

  it('delivers no late messages of the old session to the new one', async () => {
    let late: Received | undefined
    await using server = await forgetful((received) => {
      if (received.message.method !== 'tools/call') return false
      late = received
      received.stream()
      return true
    })
    await using client = await connect(server.url)
    const heard: string[] = []
    client.setNotificationHandler('notifications/tools/list_changed', () => heard.push('changed'))
    const call = client.callTool('act').catch((error) => error)
    await server.until('tools/call')
    const gone = new Promise((resolve) => late!.response.on('close', resolve))
    server.forget()
    await client.ping()
    late!.response.write(event(changed))
    late!.response.end(event(answer(late!.message.id)))
    expect(await call).toMatchObject({ code: 'session-renewed' })
    await gone
    expect(heard).toEqual([])
  })
})

describe('the GET stream', () => {
  it('is opened after the handshake and delivers messages [HTTP-027]', async () => {
    await using server = await sessions(undefined, { stream: true })
    await using client = await connect(server.url)
    const told = once<undefined>((listener) => client.on('toolsChanged', listener))
    const stream = await server.until('GET')
    expect(server.methods()).toContain('notifications/initialized')
    stream.response.write(event(changed))
    await told
  })

  it.each([400, 404, 405, 501])('is optional: %s is not an error, also with a session', async (status) => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      received.status(status)
      return true
    })
    await using client = await connect(server.url)
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    await server.until('GET')
    await client.ping()
    expect(errors).toEqual([])
    expect(server.of('initialize')).toHaveLength(1)
    expect(server.of('GET')).toHaveLength(1)
  })

  it.each([501, 505])(
    'is not opened again after %s, which says that the server does not support it',
    async (status) => {
      await using server = await sessions((received) => {
        if (received.method !== 'GET') return false
        received.status(status)
        return true
      })
      // Without a delay, each wrong attempt to open the stream again arrives long before the answers to the pings.
      const reconnectionScheduler = (reopen: () => void) => void setImmediate(reopen)
      await using client = await connect(server.url, { reconnectionScheduler })
      await server.until('GET')
      for (let count = 0; count < 10; count++) await client.ping()
      expect(server.of('GET')).toHaveLength(1)
    },
  )

  it('is opened again after 503, which refuses it only for now', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      if (server.of('GET').length < 3) received.status(503)
      else received.stream(event(changed))
      return true
    })
    const reconnectionScheduler = (reopen: () => void) => void setImmediate(reopen)
    await using client = await connect(server.url, { reconnectionScheduler })
    await once<undefined>((listener) => client.on('toolsChanged', listener))
    expect(server.of('GET')).toHaveLength(3)
  })

  it('is resumed after the last event id, not before the retry time [SSE-015, SSE-024, HTTP-034]', async () => {
    const times: number[] = []
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      times.push(Date.now())
      if (times.length > 1) received.stream(event(changed, 'e2'))
      else {
        received.stream('retry: 300\n', event(changed, 'e-ż'))
        setImmediate(() => received.response.destroy())
      }
      return true
    })
    await using client = await connect(server.url, { reconnect: quick })
    let told = 0
    const twice = new Promise<void>((resolve) => {
      client.on('toolsChanged', () => {
        if (++told === 2) resolve()
      })
    })
    await twice
    const [, second] = server.of('GET')
    expect(Buffer.from(String(second!.headers['last-event-id']), 'latin1').toString()).toBe('e-ż')
    // The retry time is a minimum, so this holds on any machine; timers may fire a millisecond early.
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(299)
  })

  it('is not reopened before the retry time, even if the server answers other requests [SSE-024, SSE-025]', async () => {
    const date = movableDate()
    const times: number[] = []
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      times.push(Date.now())
      received.stream('retry: 8000\n', event(changed, 'e1'))
      if (times.length === 1) received.response.end()
      return true
    })
    let onScheduled: (delayMs: number) => void
    const scheduled = new Promise<number>((resolve) => {
      onScheduled = resolve
    })
    // Only the answers to the pings can reopen the stream.
    const reconnectionScheduler = (_: () => void, delayMs: number) => onScheduled(delayMs)
    await using client = await connect(server.url, { reconnectionScheduler })
    expect(await scheduled).toBe(8_000)
    date.advance(7_999)
    for (let count = 0; count < 5; count++) await client.ping()
    date.advance(1)
    await client.ping()
    await server.until('GET', 2)
    expect(times[1]! - times[0]!).toBe(8_000)
  })

  it('is polled without an error if the server closes it with a retry time and has nothing to send [SSE-025]', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      received.stream(server.of('GET').length === 1 ? 'id: p1\nretry: 700\ndata:\n\n' : ': nothing\n\n')
      received.response.end()
      return true
    })
    const delays: number[] = []
    const reconnectionScheduler = (reopen: () => void, delayMs: number) => {
      delays.push(delayMs)
      setImmediate(reopen)
    }
    await using client = await connect(server.url, { reconnectionScheduler, reconnect: { ...quick, maxRetries: 2 } })
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    await server.until('GET', 8)
    expect(errors).toEqual([])
    // A server with nothing to send for long is polled no more than once a second.
    expect(delays.slice(0, 6)).toEqual([700, 700, 700, 1_000, 1_000, 1_000])
    expect(
      server
        .of('GET')
        .slice(1)
        .every(({ headers }) => headers['last-event-id'] === 'p1'),
    ).toBe(true)
  })

  it('delivers no event twice, even if the server sends it again', async () => {
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      if (received.headers['last-event-id'])
        received.stream(
          event(changed, 'e1'),
          event(changed, 'e2'),
          event({ ...changed, method: 'notifications/prompts/list_changed' }, 'e3'),
        )
      else {
        received.stream(event(changed, 'e1'))
        received.response.end()
      }
      return true
    })
    await using client = await connect(server.url, { reconnect: quick })
    let told = 0
    client.on('toolsChanged', () => told++)
    await once<undefined>((listener) => client.on('promptsChanged', listener))
    expect(told).toBe(2)
  })

  it('is closed with an error after maxRetries, and reopened when the server answers again', async () => {
    let isFine = false
    await using server = await sessions((received) => {
      if (received.method !== 'GET') return false
      if (isFine) received.stream(event(changed))
      else {
        received.stream()
        received.response.end()
      }
      return true
    })
    await using client = await connect(server.url, { reconnect: { ...quick, maxRetries: 2 } })
    const { error } = await once<{ error: unknown }>((listener) => client.on('error', listener))
    expect((error as Error).message).toMatch(/keeps failing/)
    expect(server.of('GET')).toHaveLength(4)
    isFine = true
    const told = once<undefined>((listener) => client.on('toolsChanged', listener))
    await client.ping()
    await told
  })
})

describe('a call whose stream ends before the response', () => {
  function resumable(resume: (received: Received, call: Received) => void): Promise<Scripted> {
    let call: Received | undefined
    return sessions((received) => {
      if (received.message.method === 'tools/call') {
        call = received
        received.stream('id: p1\nretry: 50\ndata: \n\n')
        received.response.end()
        return true
      }
      if (received.method !== 'GET' || !received.headers['last-event-id']) return false
      resume(received, call!)
      return true
    })
  }

  it('resumes with GET until the response arrives [SSE-018, SSE-020, SSE-022, SSE-015]', async () => {
    let polls = 0
    await using server = await resumable((received, call) => {
      polls++
      if (polls < 3) received.stream(`id: p${polls + 1}\ndata:\n\n`)
      else received.stream(event(answer(call.message.id), 'last'))
      received.response.end()
    })
    await using client = await connect(server.url)
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    expect((await client.callTool('act')).text).toBe('done')
    const rest = server.of('GET').filter(({ headers }) => headers['last-event-id'])
    expect(rest.map(({ headers }) => headers['last-event-id'])).toEqual(['p1', 'p2', 'p3'])
    expect(rest.every(({ headers }) => headers['mcp-session-id'] === 'session-1')).toBe(true)
    expect(server.of('tools/call')).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it('is polled until the response arrives, however often the server has nothing to send [SSE-022]', async () => {
    let polls = 0
    await using server = await resumable((received, call) => {
      if (++polls < 20) received.stream('retry: 60\n\n')
      else received.stream(event(answer(call.message.id), 'last'))
      received.response.end()
    })
    const reconnectionScheduler = (resume: () => void) => void setImmediate(resume)
    await using client = await connect(server.url, { reconnectionScheduler })
    expect((await client.callTool('act')).text).toBe('done')
    expect(polls).toBe(20)
    expect(server.of('tools/call')).toHaveLength(1)
  })

  it('is polled no longer than the timeout of the call [SSE-022]', async () => {
    await using server = await resumable((received) => {
      received.stream(': nothing yet\n\n')
      received.response.end()
    })
    const reconnectionScheduler = (resume: () => void) => void setTimeout(resume, 1)
    await using client = await connect(server.url, { reconnectionScheduler })
    const error = await client.callTool('act', {}, { timeoutMs: 200 }).catch((each) => each)
    expect(error).toMatchObject({ code: 'timeout' })
    await server.until('notifications/cancelled')
  })

  it('is given up after maxRetries if no poll is answered [SSE-022]', async () => {
    await using server = await resumable((received) => received.status(503))
    const reconnectionScheduler = (resume: () => void) => void setImmediate(resume)
    await using client = await connect(server.url, { reconnectionScheduler, reconnect: { ...quick, maxRetries: 2 } })
    await expect(client.callTool('act')).rejects.toThrow(/lost its stream before the response arrived.*HTTP 503/)
    expect(server.of('GET').filter(({ headers }) => headers['last-event-id'])).toHaveLength(3)
  })

  it('fails when the server cannot resume the stream', async () => {
    await using server = await resumable((received) => received.status(400, 'What stream?'))
    await using client = await connect(server.url)
    const error = await client.callTool('act').catch((each) => each)
    expect(error).toMatchObject({ code: 'http', outcome: 'unknown' })
    expect(error.message).toMatch(/lost its stream before the response arrived.*HTTP 400/)
  })

  it('fails immediately without an event id, and is repeated if it only reads', async () => {
    await using server = await sessions((received) => {
      const { method } = received.message
      if (method !== 'tools/call' && method !== 'resources/read') return false
      if (method === 'resources/read' && server.of('resources/read').length > 2) return false
      received.stream(': nothing\n\n')
      received.response.end()
      return true
    })
    await using client = await connect(server.url)
    await expect(client.callTool('act')).rejects.toThrow(/lost its stream/)
    expect(server.of('tools/call')).toHaveLength(1)
    expect((await client.readResource('x:y')).contents).toEqual([])
    const ids = server.of('resources/read').map(({ message }) => message.id)
    expect(new Set(ids).size).toBe(3)
  })

  it('is cancelled with a notification before its stream is closed [HTTP-026]', async () => {
    await using server = await sessions((received) => {
      if (received.message.method !== 'tools/call') return false
      received.stream()
      return true
    })
    await using client = await connect(server.url)
    const stop = new AbortController()
    const call = client.callTool('act', {}, { signal: stop.signal }).catch((error) => error)
    const { message, response } = await server.until('tools/call')
    const gone = new Promise((resolve) => response.on('close', resolve))
    stop.abort()
    expect(await call).toMatchObject({ code: 'cancelled' })
    const told = await server.until('notifications/cancelled')
    expect(told.message.params).toMatchObject({ requestId: message.id })
    await gone
  })
})
