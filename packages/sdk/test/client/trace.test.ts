import { fileURLToPath } from 'node:url'
import type { RevisionId } from 'tenon'
import { oauth } from 'tenon/auth/client'
import { connect, StreamableHTTPClientTransport, type TracedMessage, type TraceEvent } from 'tenon/client'
import { redactTraceEvent } from 'tenon/host'
import { McpServer } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { followRedirect, protectedServer } from '../auth/protected-server.ts'
import { eventually } from '../kit/eventually.ts'
import { everyWire } from '../kit/every-wire.ts'
import { listenWith, serve } from '../kit/serve-http.ts'

const eras: readonly RevisionId[] = ['2025-11-25', '2026-07-28']

function demo(): McpServer {
  const server = new McpServer({ name: 'traced', version: '1.0.0' })
  server.registerTool('greet', {}, async (_args, ctx) => {
    ctx.log.info('greeting')
    const { action } = await ctx.elicit('Proceed?', { type: 'object', properties: { ok: { type: 'boolean' } } })
    return `hello, ${action}`
  })
  return server
}

const handlers = { elicit: async () => ({ action: 'accept' as const, content: { ok: true } }) }

function recorder() {
  const events: TraceEvent[] = []
  return {
    events,
    trace: (event: TraceEvent) => void events.push(event),
    of: <T extends TraceEvent['type']>(type: T) =>
      events.filter((event): event is Extract<TraceEvent, { type: T }> => event.type === type),
    messages: () => events.filter((event): event is TracedMessage => event.type === 'message'),
  }
}

/** The method of a request or notification; otherwise what kind of response it is. */
function labelOf({ direction, message }: TracedMessage): string {
  const { method, error } = message as { method?: string; error?: unknown }
  return `${direction === 'sent' ? '>' : '<'} ${method ?? (error ? 'error' : 'result')}`
}

describe('trace', () => {
  everyWire(
    'reports every message in the order of the wire',
    async (wire) => {
      const recorded = recorder()
      const pair = await wire.connect(demo(), { handlers, trace: recorded.trace })
      await pair.client.callTool('greet')
      const lines = pair.transcript.lines.map(({ from, message }) => [from === 'client' ? 'sent' : 'received', message])
      expect(recorded.messages().map(({ direction, message }) => [direction, message])).toEqual(lines)
      await pair[Symbol.asyncDispose]()
    },
    { revisions: eras, transports: ['memory', 'stdio', 'http', 'http-stateless', 'sse'] },
  )

  for (const revision of eras) {
    it(`reports messages of a server in this process (${revision})`, async () => {
      const recorded = recorder()
      await using client = await connect(demo(), { revision, handlers, trace: recorded.trace })
      await client.callTool('greet')
      expect(recorded.messages().map(labelOf)).toEqual(expect.arrayContaining(['> tools/call', '< result']))
      expect(recorded.messages().every(({ http }) => http === undefined)).toBe(true)
      const times = recorded.events.map(({ at }) => at)
      expect(times).toEqual([...times].sort((a, b) => a - b))
    })

    it(`names the HTTP exchange of each message (${revision})`, async () => {
      await using server = await serve(demo())
      const recorded = recorder()
      {
        await using client = await connect(server.url, { revision, handlers, trace: recorded.trace })
        await client.callTool('greet')
      }
      const requests = new Map(recorded.of('http-request').map((each) => [each.http, each]))
      const carriers = recorded.messages().map(({ http }) => requests.get(http ?? ''))
      expect(carriers.length).toBeGreaterThan(3)
      for (const request of carriers) expect(request).toMatchObject({ purpose: 'mcp', url: server.url })
      // A response arrives in the exchange of its request.
      for (const sent of recorded.messages()) {
        const { id, method } = sent.message as { id?: unknown; method?: string }
        if (sent.direction !== 'sent' || id === undefined || method === undefined) continue
        const answer = recorded.messages().find(({ direction, message }) => {
          const { id: answered, method: other } = message as { id?: unknown; method?: string }
          return direction === 'received' && other === undefined && answered === id
        })
        expect(answer?.http).toBe(sent.http)
      }
      for (const { http, status, durationMs } of recorded.of('http-response')) {
        expect(requests.has(http)).toBe(true)
        expect(status).toBeGreaterThanOrEqual(200)
        expect(durationMs).toBeGreaterThanOrEqual(0)
      }
      const ends = recorded.of('http-end').map(({ http }) => http)
      expect([...ends].sort()).toEqual([...requests.keys()].sort())
    })
  }

  it('reports the messages of HTTP+SSE with their exchanges', async () => {
    await using server = await serve(demo(), { sse: true })
    const recorded = recorder()
    await using client = await connect(new URL('/sse', server.url), { trace: recorded.trace, handlers })
    await client.callTool('greet')
    const stream = recorded.of('http-request').find(({ method }) => method === 'GET')
    const received = recorded.messages().filter(({ direction }) => direction === 'received')
    expect(received.length).toBeGreaterThan(0)
    expect(received.filter(({ http }) => http === stream?.http).length).toBeGreaterThan(0)
  })

  for (const revision of eras) {
    it(`reports messages and stderr of a child process (${revision})`, async () => {
      const recorded = recorder()
      const script = `
        import { McpServer, serveStdio } from 'tenon/server'
        process.stderr.write('ready\\n')
        const server = new McpServer({ name: 'child', version: '1' })
        server.registerTool('one', {}, () => '1')
        console.log('junk')
        await serveStdio(server)`
      const cwd = fileURLToPath(new URL('../..', import.meta.url))
      const args = ['--input-type=module', '-e', script]
      await using client = await connect({ command: process.execPath, args, cwd }, { revision, trace: recorded.trace })
      expect((await client.callTool('one')).text).toBe('1')
      expect(recorded.messages().map(labelOf)).toContain('> tools/call')
      await eventually(() => recorded.of('stderr').some(({ text }) => text.includes('ready')))
      expect(recorded.of('fault').map(({ problem }) => problem)).toEqual([expect.stringContaining('junk')])
    })
  }

  it('reports requests that fail', async () => {
    const closed = await listenWith(() => {})
    await closed[Symbol.asyncDispose]()
    const recorded = recorder()
    const failure = connect(closed.url, { trace: recorded.trace, reconnect: { maxRetries: 0 } })
    await expect(failure).rejects.toThrow('nothing is listening on')
    expect(recorded.of('http-end')[0]).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('reports the OAuth requests with their bodies, and redacts them on request', async () => {
    await using vault = await protectedServer()
    const recorded = recorder()
    const redirectUrl = 'https://app.example/back'
    const auth = oauth({ redirectUrl, authorize: async (page) => followRedirect(page) })
    await using client = await connect(vault.url, { auth, trace: recorded.trace })
    expect((await client.callTool('whoami')).text).toMatch(/^alice/)
    const requests = recorded.of('http-request').filter(({ purpose }) => purpose === 'auth')
    const answers = recorded.of('http-response').filter(({ purpose }) => purpose === 'auth')
    expect(requests.map(({ url }) => new URL(url).pathname)).toEqual(
      expect.arrayContaining([expect.stringContaining('oauth-protected-resource'), expect.stringMatching(/token$/)]),
    )
    const token = requests.find(({ body }) => body?.includes('grant_type=authorization_code'))
    const issued = answers.find(({ http }) => http === token?.http)
    const { access_token: accessToken } = JSON.parse(issued?.body ?? '{}') as { access_token: string }
    const code = new URLSearchParams(token?.body).get('code') ?? ''
    const all = JSON.stringify(recorded.events)
    expect(all).toContain(accessToken)
    const shown = JSON.stringify(recorded.events.map(redactTraceEvent))
    for (const secret of [accessToken, code]) {
      expect(secret.length).toBeGreaterThan(5)
      expect(shown).not.toContain(secret)
    }
    expect(shown).toContain('Bearer [redacted]')
    expect(shown).toContain('grant_type=authorization_code')
  })

  it('survives a listener that throws or rejects', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    try {
      const throwing = () => {
        throw new Error('no')
      }
      await using one = await connect(demo(), { trace: throwing, handlers })
      expect((await one.callTool('greet')).text).toBe('hello, accept')
      const rejecting = async () => throwing()
      await using server = await serve(demo())
      await using two = await connect(server.url, { trace: rejecting, handlers })
      expect((await two.callTool('greet')).text).toBe('hello, accept')
      expect(warn.mock.calls.flat().join()).toContain('The trace function failed: no')
    } finally {
      warn.mockRestore()
    }
  })
})

describe('redactTraceEvent', () => {
  const common = { at: 1, http: '1', purpose: 'auth' } as const

  it('removes the id of an HTTP session, which is enough to take over a session without authorization [SESS-004]', async () => {
    await using server = await serve(demo())
    const recorded = recorder()
    const transport = new StreamableHTTPClientTransport(new URL(server.url))
    const client = await connect(transport, { revision: '2025-11-25', trace: recorded.trace, handlers })
    const id = transport.sessionId!
    await client.callTool('greet')
    await client.close()
    expect(JSON.stringify(recorded.events)).toContain(id)
    expect(recorded.of('http-response').some(({ headers }) => headers['mcp-session-id'] === id)).toBe(true)
    const shown = JSON.stringify(recorded.events.map(redactTraceEvent))
    expect(shown).not.toContain(id)
    expect(shown).toContain('"mcp-session-id":"[redacted]"')
  })

  it('removes the session id from URLs of HTTP+SSE [SESS-004]', async () => {
    await using server = await serve(demo(), { sse: true })
    const recorded = recorder()
    await using client = await connect(new URL('/sse', server.url), { trace: recorded.trace, handlers })
    await client.callTool('greet')
    const ids = recorded.of('http-request').flatMap(({ url }) => new URL(url).searchParams.get('sessionId') ?? [])
    expect(ids.length).toBeGreaterThan(0)
    const shown = JSON.stringify(recorded.events.map(redactTraceEvent))
    for (const id of ids) expect(shown).not.toContain(id)
    expect(shown).toContain('?sessionId=[redacted]')
  })

  it('removes secrets from headers, URLs, forms and JSON, and keeps the rest', () => {
    const headers = {
      authorization: 'Basic YWxpY2U6c2VjcmV0',
      cookie: 'session=abc',
      'x-api-key': 'k',
      'www-authenticate': 'Bearer resource_metadata="https://a.example/x"',
      location: 'https://app.example/back?code=abc&iss=https%3A%2F%2Fa.example&state=xyz',
      'content-type': 'application/x-www-form-urlencoded',
    }
    const url = 'https://user:pw@a.example/authorize?client_id=c&code_challenge=d&state=s#access_token=t'
    const body = 'grant_type=authorization_code&code=abc&code_verifier=v&client_secret=s'
    const event = redactTraceEvent({ type: 'http-request', ...common, method: 'POST', url, headers, body })
    expect(event).toEqual({
      type: 'http-request',
      ...common,
      method: 'POST',
      url: 'https://[redacted]@a.example/authorize?client_id=c&code_challenge=d&state=[redacted]#access_token=[redacted]',
      headers: {
        authorization: 'Basic [redacted]',
        cookie: '[redacted]',
        'x-api-key': '[redacted]',
        'www-authenticate': 'Bearer resource_metadata="https://a.example/x"',
        location: 'https://app.example/back?code=[redacted]&iss=https%3A%2F%2Fa.example&state=[redacted]',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=authorization_code&code=[redacted]&code_verifier=[redacted]&client_secret=[redacted]',
    })
    const answer = {
      access_token: 'a',
      refresh_token: 'r',
      token_type: 'Bearer',
      expires_in: 60,
      nested: [{ code: 'x' }],
    }
    const response = redactTraceEvent({
      type: 'http-response',
      ...common,
      method: 'POST',
      url: 'https://a.example/token',
      status: 200,
      headers: { 'content-type': 'application/json' },
      durationMs: 1,
      body: JSON.stringify(answer),
    })
    expect(JSON.parse(response.body ?? '')).toEqual({
      access_token: '[redacted]',
      refresh_token: '[redacted]',
      token_type: 'Bearer',
      expires_in: 60,
      nested: [{ code: '[redacted]' }],
    })
  })

  it('removes secrets from messages and stderr without changing the event', () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'x', params: { password: 'Vq8sPz1mX' } }
    const event: TraceEvent = { type: 'message', at: 1, direction: 'sent', message }
    expect(redactTraceEvent(event)).toMatchObject({ message: { params: { password: '[redacted password]' } } })
    expect(message.params.password).toBe('Vq8sPz1mX')
    const text = 'Connected to postgres://admin:Vq8sPz1m@db.example/x'
    expect(redactTraceEvent({ type: 'stderr', at: 1, text }).text).not.toContain('Vq8sPz1m')
  })
})
