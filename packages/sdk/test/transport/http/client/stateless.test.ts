import { connect, PeerError } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { answer, changed, event, modern, once, type Received, type Scripted } from './support.ts'

const key = 'io.modelcontextprotocol'
const quick = { initialDelayMs: 5, maxDelayMs: 20 }

/** A server with one tool whose arguments are mirrored in headers. */
function withTool(properties: object, more: (received: Received) => unknown = () => false): Promise<Scripted> {
  return modern((received) => {
    if (more(received)) return true
    if (received.message.method !== 'tools/list') return false
    received.result({ tools: [{ name: 'act', inputSchema: { type: 'object', properties } }] })
    return true
  })
}

function params({ headers }: Received): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')))
}

describe('a 2026-07-28 request', () => {
  it('has its version, method and name in headers and in its body [HTTP-041, HTTP-042, HDR-001, HDR-002, HDR-003, XTASK-038]', async () => {
    await using server = await modern()
    await using client = await connect(server.url)
    await client.listTools()
    await client.callTool('act')
    await client.getPrompt('greet')
    await client.readResource('file:///a b')
    await client.request('custom/thing', {})
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      await client.request(method, { taskId: 't1', inputResponses: {} })
    }
    expect(server.methods()).toEqual([
      'server/discover',
      'tools/list',
      'tools/call',
      'prompts/get',
      'resources/read',
      'custom/thing',
      'tasks/get',
      'tasks/update',
      'tasks/cancel',
    ])
    for (const { headers, message } of server.received) {
      const meta = message.params!._meta as Record<string, unknown>
      expect(headers['mcp-protocol-version']).toBe('2026-07-28')
      expect(meta[`${key}/protocolVersion`]).toBe('2026-07-28')
      expect(headers['mcp-method']).toBe(message.method)
      expect(headers['mcp-session-id']).toBeUndefined()
    }
    expect(server.received.map(({ headers }) => headers['mcp-name'])).toEqual([
      undefined,
      undefined,
      'act',
      'greet',
      'file:///a b',
      undefined,
      't1',
      't1',
      't1',
    ])
  })

  it('encodes a name that is not valid in a header [HDR-004]', async () => {
    await using server = await modern()
    await using client = await connect(server.url)
    await client.callTool('żółw')
    await client.callTool(' padded ')
    await client.callTool('=?base64?eA==?=')
    const encode = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
    expect(server.of('tools/call').map(({ headers }) => headers['mcp-name'])).toEqual(
      ['żółw', ' padded ', '=?base64?eA==?='].map(encode),
    )
  })

  it('opens no GET stream and sends no DELETE', async () => {
    await using server = await modern()
    const client = await connect(server.url)
    await client.listTools()
    await client.close()
    expect(server.received.every(({ method }) => method === 'POST')).toBe(true)
  })

  it('ignores a session id sent by the server', async () => {
    await using server = await modern((received) => {
      received.response.setHeader('Mcp-Session-Id', 'unwanted')
      return false
    })
    const client = await connect(server.url)
    await client.listTools()
    await client.close()
    expect(server.received.some(({ headers }) => 'mcp-session-id' in headers)).toBe(false)
  })

  it('is cancelled by closing its stream, without a notification [CANC-012]', async () => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      received.stream(':\n\n')
      return true
    })
    await using client = await connect(server.url)
    const stop = new AbortController()
    const call = client.callTool('act', {}, { signal: stop.signal }).catch((error) => error)
    const { response } = await server.until('tools/call')
    const gone = new Promise((resolve) => response.on('close', resolve))
    stop.abort()
    expect(await call).toMatchObject({ code: 'cancelled' })
    await gone
    await client.listTools()
    expect(server.methods()).not.toContain('notifications/cancelled')
  })
})

describe('an argument mirrored in a header', () => {
  it('is encoded according to its type [HDR-018, HDR-031, HDR-032, HDR-033, HDR-034, HDR-035]', async () => {
    const mirrored = (type: string, header: string) => ({ type, 'x-mcp-header': header })
    await using server = await withTool({
      region: mirrored('string', 'Region'),
      count: mirrored('integer', 'Count'),
      dry: mirrored('boolean', 'Dry-Run'),
      none: mirrored('string', 'None'),
      absent: mirrored('string', 'Absent'),
      empty: mirrored('string', 'Empty'),
      note: mirrored('string', 'Note'),
      odd: mirrored('string', 'Odd'),
      free: { type: 'string' },
      deep: { type: 'object', properties: { er: { type: 'object', properties: { one: mirrored('string', 'Deep') } } } },
    })
    await using client = await connect(server.url)
    await client.listTools()
    await client.callTool('act', {
      region: 'us west',
      count: -7,
      dry: false,
      none: null,
      empty: '',
      note: 'line\nbreak',
      odd: '=?base64?eA==?=',
      free: 'not me',
      deep: { er: { one: 'found' } },
    })
    const [call] = server.of('tools/call')
    expect(params(call!)).toEqual({
      'mcp-param-region': 'us west',
      'mcp-param-count': '-7',
      'mcp-param-dry-run': 'false',
      'mcp-param-empty': '',
      'mcp-param-note': `=?base64?${Buffer.from('line\nbreak').toString('base64')}?=`,
      'mcp-param-odd': `=?base64?${Buffer.from('=?base64?eA==?=').toString('base64')}?=`,
      'mcp-param-deep': 'found',
    })
  })

  it('is sent also when the tool is called with request()', async () => {
    await using server = await withTool({ region: { type: 'string', 'x-mcp-header': 'Region' } })
    await using client = await connect(server.url)
    await client.listTools()
    await client.request('tools/call', { name: 'act', arguments: { region: 'a' } })
    expect(params(server.of('tools/call')[0]!)).toEqual({ 'mcp-param-region': 'a' })
  })

  it('is rejected before it is sent if it is not a safe integer [HDR-025]', async () => {
    await using server = await withTool({ count: { type: 'integer', 'x-mcp-header': 'Count' } })
    await using client = await connect(server.url)
    await client.listTools()
    await expect(client.callTool('act', { count: 2 ** 53 })).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(server.of('tools/call')).toHaveLength(0)
  })

  it('hides a tool whose header annotation is invalid and keeps the others [HDR-028, HDR-029]', async () => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/list') return false
      const tool = (name: string, header: unknown) => ({
        name,
        inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': header } } },
      })
      received.result({ tools: [tool('good', 'A'), tool('bad', 'a b'), tool('worse', '')] })
      return true
    })
    await using client = await connect(server.url)
    const warnings: string[] = []
    client.on('warning', ({ message }) => warnings.push(message))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['good'])
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/"bad" .*x-mcp-header/)
  })

  it.each([false, true])(
    'is discovered by listing the tools again when the server rejects a missing header [HDR-044] (listed before: %s)',
    async (isListed) => {
      let wanted = false
      await using server = await modern((received) => {
        const { message, headers } = received
        if (message.method === 'tools/list') {
          const region = wanted ? { type: 'string', 'x-mcp-header': 'Region' } : { type: 'string' }
          received.result({
            tools: [{ name: 'act', inputSchema: { type: 'object', properties: { region } } }],
            ttlMs: 60_000,
            cacheScope: 'private',
          })
          return true
        }
        if (message.method !== 'tools/call' || !wanted || headers['mcp-param-region'] === 'a') return false
        received.error(-32020, 'The header Mcp-Param-Region is missing', 400)
        return true
      })
      await using client = await connect(server.url)
      if (isListed) await client.listTools()
      wanted = true
      expect((await client.callTool('act', { region: 'a' })).text).toBe('done')
      const calls = server.of('tools/call')
      expect(calls.map(params)).toEqual([{}, { 'mcp-param-region': 'a' }])
      expect(calls[0]!.message.id).not.toBe(calls[1]!.message.id)
      await client.callTool('act', { region: 'a' })
      expect(server.of('tools/call')).toHaveLength(3)
    },
  )

  it('is retried once when the server rejects the headers', async () => {
    await using server = await withTool({ region: { type: 'string', 'x-mcp-header': 'Region' } }, (received) => {
      if (received.message.method !== 'tools/call') return false
      received.error(-32020, 'Still wrong', 400)
      return true
    })
    await using client = await connect(server.url)
    const error = await client.callTool('act', { region: 'a' }).catch((each) => each)
    expect(error).toBeInstanceOf(PeerError)
    expect(error.rpcCode).toBe(-32020)
    expect(server.of('tools/call')).toHaveLength(2)
    expect(server.of('tools/list')).toHaveLength(1)
  })
})

describe('a 2026-07-28 stream that breaks', () => {
  /** Breaks the first responses to a method: in the middle of a stream with event ids, or before the headers. */
  function breaking(method: string, times: number, tools: object[] = []): Promise<Scripted> {
    let left = times
    let isFirst = true
    return modern((received) => {
      // The first request is the discovery of connect(), which must succeed.
      if (isFirst) {
        isFirst = false
        return false
      }
      if (received.message.method === 'tools/list' && method !== 'tools/list') {
        received.result({ tools })
        return true
      }
      if (received.message.method !== method || left-- <= 0) return false
      if (left % 2 === 0) received.response.destroy()
      else {
        received.stream('id: e1\ndata: \n\n')
        setImmediate(() => received.response.destroy())
      }
      return true
    })
  }

  it.each(['tools/list', 'resources/read', 'prompts/get', 'completion/complete', 'server/discover'])(
    'is not resumed: %s is sent again as a new request [HTTP-057]',
    async (method) => {
      await using server = await breaking(method, 2)
      await using client = await connect(server.url)
      await client.request(method, {
        name: 'x',
        uri: 'x:y',
        ref: { type: 'ref/prompt', name: 'x' },
        argument: { name: 'a', value: '' },
      })
      const asked = server.of(method)
      expect(new Set(asked.map(({ message }) => message.id)).size).toBe(asked.length)
      expect(asked.length).toBe(method === 'server/discover' ? 4 : 3)
      expect(server.of('GET')).toHaveLength(0)
      expect(asked.some(({ headers }) => 'last-event-id' in headers)).toBe(false)
    },
  )

  it('fails the request after two retries', async () => {
    await using server = await breaking('tools/list', 9)
    await using client = await connect(server.url)
    await expect(client.listTools()).rejects.toMatchObject({ code: 'http', outcome: 'unknown' })
    expect(server.of('tools/list')).toHaveLength(3)
  })

  it.each([502, 504])('repeats a read-only request when a gateway answers %s', async (status) => {
    let isLost = true
    await using server = await modern((received) => {
      if (received.message.method !== 'resources/read' || !isLost) return false
      isLost = false
      received.status(status, 'Bad Gateway')
      return true
    })
    await using client = await connect(server.url)
    await client.readResource('note://a')
    expect(server.of('resources/read')).toHaveLength(2)
  })

  it.each([1, 2])('fails a call that may have had side effects (%s)', async (times) => {
    await using server = await breaking('tools/call', times)
    await using client = await connect(server.url)
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', outcome: 'unknown' })
    expect(server.of('tools/call')).toHaveLength(1)
  })

  describe.each([{ readOnlyHint: true }, { idempotentHint: true }])('for a tool that claims %j', (annotations) => {
    const claiming = () => breaking('tools/call', 1, [{ name: 'act', inputSchema: { type: 'object' }, annotations }])

    it('the call is repeated if the server is trusted', async () => {
      await using server = await claiming()
      await using client = await connect(server.url, { trusted: true })
      await client.listTools()
      expect((await client.callTool('act')).text).toBe('done')
      expect(server.of('tools/call')).toHaveLength(2)
    })

    it('the call is repeated if the server is trusted, even if the tool was not listed before', async () => {
      await using server = await claiming()
      await using client = await connect(server.url, { trusted: true })
      expect((await client.callTool('act')).text).toBe('done')
      expect(server.of('tools/call')).toHaveLength(2)
    })

    it('the call is not repeated if the server is not trusted [TOOL-012]', async () => {
      await using server = await claiming()
      await using client = await connect(server.url)
      await client.listTools()
      await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', outcome: 'unknown' })
      expect(server.of('tools/call')).toHaveLength(1)
    })
  })
})

describe('a subscription over HTTP', () => {
  const acknowledge = (id: number | undefined, notifications: object = { toolsListChanged: true }) =>
    event({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { [`${key}/subscriptionId`]: id } },
    })

  function listening(): Promise<Scripted> {
    return modern((received) => {
      if (received.message.method !== 'subscriptions/listen') return false
      received.stream(acknowledge(received.message.id))
      return true
    })
  }

  it('is ended by closing its stream, without a notification [SUB-010]', async () => {
    await using server = await listening()
    await using client = await connect(server.url)
    const subscription = await client.listen({ toolsListChanged: true })
    const { response } = await server.until('subscriptions/listen')
    const gone = new Promise((resolve) => response.on('close', resolve))
    await subscription.close()
    await gone
    await subscription.ended
    await client.ping()
    expect(server.methods().filter((method) => method?.startsWith('notifications/'))).toEqual([])
  })

  it('is reopened when its stream breaks, without a change for the caller [SUB-013]', async () => {
    await using server = await listening()
    await using client = await connect(server.url)
    const subscription = await client.listen({ toolsListChanged: true })
    for (const how of ['end', 'destroy'] as const) {
      const count = server.of('subscriptions/listen').length
      server.of('subscriptions/listen').at(-1)!.response[how]()
      const again = await server.until('subscriptions/listen', count + 1)
      const told = once<undefined>((listener) => client.on('toolsChanged', listener))
      again.response.write(event({ ...changed, params: { _meta: { [`${key}/subscriptionId`]: again.message.id } } }))
      await told
      expect(again.message.params!.notifications).toEqual({ toolsListChanged: true })
    }
    expect(subscription.honoured).toEqual({ toolsListChanged: true })
    await subscription.close()
    await subscription.ended
  })

  it('is reopened when the server completes it, as it does before a restart [SUB-012, SUB-013]', async () => {
    await using server = await listening()
    await using client = await connect(server.url)
    const subscription = await client.listen({ toolsListChanged: true })
    const { response, message } = await server.until('subscriptions/listen')
    response.end(event(answer(message.id, { resultType: 'complete' })))
    await server.until('subscriptions/listen', 2)
    await subscription.close()
    await subscription.ended
  })

  it('stays closed when it is closed while it is being reopened', async () => {
    await using server = await listening()
    await using client = await connect(server.url)
    const subscription = await client.listen({ toolsListChanged: true })
    const { response } = await server.until('subscriptions/listen')
    response.destroy()
    await subscription.close()
    await subscription.ended
    await client.ping()
    expect(client.state).toBe('ready')
  })
})

describe('an unavailable server', () => {
  /** Disables keep-alive, so that no open connection is left when the server stops. */
  const unattached = (received: Received) => {
    received.response.shouldKeepAlive = false
    return false
  }

  it('is retried for every kind of request, because nothing was sent', async () => {
    const first = await modern(unattached)
    await using client = await connect(first.url, { reconnect: { ...quick, maxRetries: 50 } })
    await first.close()
    const call = client.callTool('act')
    await new Promise((resolve) => setImmediate(resolve))
    await using second = await modern(undefined, first.port)
    expect((await call).text).toBe('done')
    expect(second.of('tools/call')).toHaveLength(1)
  })

  it('is reported with the cause after maxRetries', async () => {
    const server = await modern()
    await server.close()
    const error = await connect(server.url, { reconnect: { ...quick, maxRetries: 2 } }).catch((each) => each)
    expect(error).toMatchObject({ code: 'http', outcome: 'not-sent', status: undefined })
    expect(error.message).toMatch(/^Cannot connect to .*: nothing is listening on .*ECONNREFUSED/)
  })

  it('is retried no longer than the timeout of the call', async () => {
    const server = await modern(unattached)
    await using client = await connect(server.url, {
      reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 50, maxRetries: 10_000 },
    })
    await server.close()
    await expect(client.callTool('act', {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' })
  })

  it.each([429, 503])('is retried after the Retry-After of a %s response, for every request', async (status) => {
    let count = 0
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call' || count++ > 1) return false
      received.status(status, 'busy', { 'Retry-After': '0' })
      return true
    })
    await using client = await connect(server.url, { reconnect: quick })
    expect((await client.callTool('act')).text).toBe('done')
    expect(server.of('tools/call')).toHaveLength(3)
  })

  it('is not retried when Retry-After is long or missing', async () => {
    await using server = await modern((received) => {
      if (received.message.method !== 'tools/call') return false
      received.status(503, 'busy', server.of('tools/call').length === 1 ? { 'Retry-After': '86400' } : {})
      return true
    })
    await using client = await connect(server.url)
    await expect(client.callTool('act')).rejects.toMatchObject({ status: 503 })
    await expect(client.callTool('act')).rejects.toMatchObject({ status: 503 })
    expect(server.of('tools/call')).toHaveLength(2)
  })
})
