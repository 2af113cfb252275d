import { setImmediate as turn } from 'node:timers/promises'
import { type AuthInfo, checkScopes, type TokenVerifier } from 'tenon/auth/server'
import { createMcpHandler, type McpServer, ResourceTemplate, StreamableHTTPServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import {
  type Door,
  door,
  eventually,
  fetchDoor,
  gate,
  listenWith,
  type Message,
  modern,
  onlyModern,
  Peer,
  registerSlow,
  SseClient,
  serve,
  sessionRevisions,
  withProgress,
  workshop,
} from '../transport/http/server/support.ts'
import { RawProcess } from '../transport/stdio/support.ts'

/** A workshop that notes which of its tools ran. */
function watched() {
  const ran: unknown[] = []
  const server = workshop()
  server.use((request, next) => {
    if (request.method === 'tools/call') ran.push(request.params.name)
    return next()
  })
  return { server, ran }
}

/** Everybody's token is their name; scopes come after a plus. */
const verify: TokenVerifier = async (token): Promise<AuthInfo> => {
  const [subject, ...scopes] = token.split('+')
  return { clientId: 'app', scopes, subject }
}

const auth = { verify, authorizationServers: ['https://as.example'] }

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }

const plain = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

describe('pages of the web', () => {
  const rebinding = [
    'CVE-2025-66414',
    'CVE-2025-66416',
    'CVE-2026-34742',
    'GHSA-8jxr-pr72-r468',
    'CVE-2026-42559',
    'CVE-2026-63118',
    'GHSA-46gc-mwh4-cc5r',
    'csharp-sdk #1520',
  ].join(', ')

  /** Every way to serve, with no option set. */
  const ways: Record<string, (server: McpServer) => Promise<{ door: Door } & AsyncDisposable>> = {
    serveHttp: async (server) => {
      const http = await serve(server)
      return { door: door(http.url), [Symbol.asyncDispose]: () => http.close() }
    },
    'createMcpHandler().node': async (server) => {
      const handler = createMcpHandler(server)
      const http = await listenWith((request, response) => handler.node(request, response))
      return { door: door(http.url), [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
    },
    'createMcpHandler().fetch': async (server) => {
      const handler = createMcpHandler(server)
      return { door: fetchDoor(handler), [Symbol.asyncDispose]: () => handler.close() }
    },
    StreamableHTTPServerTransport: async (server) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      await server.connect(transport)
      const http = await listenWith((request, response) => void transport.handleRequest(request, response))
      return { door: door(http.url), [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
    },
  }

  it.each(Object.keys(ways))(
    `${rebinding}: whose name was made to lead here are refused by %s without any option [HTTP-003, HTTP-004]`,
    async (name) => {
      const { server, ran } = watched()
      await using way = await ways[name]!(server)
      const body = JSON.stringify(call)
      const strangers: Record<string, string>[] = [
        { host: 'evil.example' },
        { host: 'evil.example', origin: 'http://evil.example' },
        { host: 'localhost', origin: 'http://evil.example' },
        { host: '127.0.0.1.evil.example', origin: 'http://127.0.0.1.evil.example' },
        { host: 'localhost', origin: 'null' },
      ]
      for (const stranger of strangers) {
        const answer = await way.door({ headers: { ...plain, ...stranger }, body })
        expect([answer.status, stranger]).toEqual([403, stranger])
      }
      expect(ran).toEqual([])
      const own = { ...plain, host: 'localhost', origin: 'http://localhost' }
      expect((await way.door({ headers: own, body })).status).not.toBe(403)
    },
  )

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', undefined])(
    'CVE-2026-33252: run no tool by a request of the type %s, which browsers send without asking [HTTP-003]',
    async (type) => {
      const { server, ran } = watched()
      await using http = await serve(server)
      const { 'content-type': _, ...rest } = plain
      const simple = { ...rest, ...(type !== undefined && { 'content-type': type }) }
      for (const origin of [{}, { origin: 'https://evil.example' }] as Record<string, string>[]) {
        const answer = await door(http.url)({ headers: { ...simple, ...origin }, body: JSON.stringify(call) })
        expect(answer.status).toBe('origin' in origin ? 403 : 415)
      }
      expect(ran).toEqual([])
    },
  )

  it('CVE-2026-34237, CVE-2026-33010, php-sdk #280: read no answer, no stream and no endpoint with a session id', async () => {
    await using http = await serve(workshop(), { sse: true })
    const way = door(http.url)
    const origin = new URL(http.url).origin
    const stream = { accept: 'text/event-stream' }
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
    for (const page of [origin, 'http://localhost:9999', 'https://evil.example']) {
      const answers = [
        await way({ headers: { ...plain, origin: page }, body: JSON.stringify(call) }),
        await way({ method: 'GET', headers: { ...stream, origin: page } }),
        await way({ method: 'GET', path: '/sse', headers: { ...stream, origin: page } }),
        await way({ method: 'OPTIONS', headers: { ...preflight, origin: page } }),
        await way({ method: 'OPTIONS', path: '/sse', headers: { ...preflight, origin: page } }),
      ]
      for (const answer of answers) {
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
        await answer[Symbol.asyncDispose]()
      }
    }
  })

  it('CVE-2026-9739: meet the same checks on the routes of the old transport as on the new [HTTP-003, HTTP-004]', async () => {
    const options = { sse: true, allowedHosts: ['127.0.0.1'], cors: { origins: ['https://app.example'] } }
    await using http = await serve(workshop(), options)
    await using friend = await SseClient.open(http.url, { headers: { origin: 'https://app.example' } })
    expect(friend.stream.headers['access-control-allow-origin']).toBe('https://app.example')
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const way = door(http.url)
    const strangers: Record<string, string>[] = [{ origin: 'https://evil.example' }, { host: 'evil.example' }]
    for (const stranger of strangers) {
      const answers = [
        await way({ headers: { ...plain, ...stranger }, body: JSON.stringify(call) }),
        await way({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream', ...stranger } }),
        await friend.post(ping, stranger),
      ]
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
      for (const { headers } of answers) expect(headers['access-control-allow-origin']).not.toBe('*')
    }
  })

  it('CVE-2026-59950, GHSA-2jhq-9cjp-44gp: open no WebSocket', async () => {
    await using http = await serve(workshop(), { sse: true })
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    for (const path of ['/mcp', '/sse', '/messages']) {
      const headers = { ...upgrade, ...key, origin: 'https://evil.example' }
      expect((await door(http.url)({ method: 'GET', path, headers })).status).toBe(403)
    }
  })
})

describe('sessions', () => {
  it.each(sessionRevisions)(
    'CVE-2026-52869, CVE-2026-67431, GHSA-f6c5-f2ph-7x7p: are nobody else’s, who knows the id or not (%s) [SESS-012, SESS-014]',
    async (revision) => {
      await using http = await serve(workshop(), { auth })
      await using alice = await Peer.open(http.url, revision, as('alice'))
      const stream = await alice.call('steps', {}, withProgress)
      await stream.response()
      const [lastEventId] = stream.ids
      await using mallory = alice.at(http.url, as('mallory').headers)
      const answers = [
        await mallory.call('echo'),
        await mallory.get(),
        await mallory.resume(lastEventId!),
        await mallory.notify('notifications/cancelled', { requestId: 1 }),
        await mallory.delete(),
      ]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
      await using nobody = alice.at(http.url, { authorization: '' })
      expect((await nobody.call('echo')).status).toBe(401)
      expect(await alice.textOf('session')).toBe(alice.sessionId)
    },
  )

  it('CVE-2026-52869: of the old transport are nobody else’s either [SESS-012]', async () => {
    await using http = await serve(workshop(), { auth, sse: true })
    await using alice = await SseClient.open(http.url, as('alice'))
    await alice.initialize()
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' }
    expect((await alice.post(ping, as('mallory').headers)).status).toBe(404)
    expect((await alice.post(ping, { authorization: '' })).status).toBe(401)
    expect(await alice.textOf('echo', { text: 'mine' })).toBe('mine')
  })

  it.each(sessionRevisions)(
    'CVE-2026-33946: keep their stream when a second one is opened with the same id (%s)',
    async (revision) => {
      const server = workshop()
      await using http = await serve(server)
      await using owner = await Peer.open(http.url, revision)
      const first = await owner.get()
      await using other = owner.at(http.url)
      const second = await other.get()
      server.sendLoggingMessage({ level: 'error', data: 'for the owner' })
      await first.notified('notifications/message')
      expect(first.isOver).toBe(false)
      await owner.textOf('echo')
      expect(second.messages).toEqual([])
    },
  )

  it.each(sessionRevisions)(
    'byterover #329: are not guessed, even if there is only one (%s) [SESS-006, SESS-012]',
    async (revision) => {
      const { server, ran } = watched()
      await using http = await serve(server)
      await using only = await Peer.open(http.url, revision)
      await using stranger = new Peer(http.url, revision)
      const answers = [await stranger.call('echo'), await stranger.get(), await stranger.delete()]
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
      expect(ran).toEqual([])
      expect(await only.textOf('session')).toBe(only.sessionId)
    },
  )

  it('GHSA-9pj6-vhgr-3mwh: are opened by nobody without a token, and by nobody in any number', async () => {
    await using closed = await serve(workshop(), { auth })
    await using stranger = new Peer(closed.url, '2025-11-25')
    for (let count = 0; count < 20; count++) {
      expect((await stranger.request('initialize', stranger.greeting())).status).toBe(401)
    }
    expect(closed.metrics.sessions).toMatchObject({ open: 0, opened: 0 })

    await using open = await serve(workshop(), { maxSessions: 5 })
    await using first = await Peer.open(open.url, '2025-11-25')
    await using flood = new Peer(open.url, '2025-11-25')
    const statuses: number[] = []
    for (let count = 0; count < 10; count++) {
      statuses.push((await flood.request('initialize', flood.greeting())).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 503, 503, 503, 503, 503, 503])
    expect(open.metrics.sessions.open).toBe(5)
    expect(await first.textOf('echo', { text: 'still here' })).toBe('still here')
  })

  it('CVE-2026-67430, mcp-go #723: end when nobody uses them, also without a DELETE [SESS-007, SESS-008]', async () => {
    await using http = await serve(workshop(), { sessionIdleMs: 100 })
    await using peer = await Peer.open(http.url, '2025-11-25')
    await eventually(() => http.metrics.sessions.open === 0)
    expect(http.metrics.sessions).toMatchObject({ opened: 1, expired: 1 })
    expect((await peer.call('echo')).status).toBe(404)
  })
})

describe('answers', () => {
  it.each([...sessionRevisions, modern] as const)(
    'CVE-2026-25536, GHSA-w2fm-25vw-vh7f: reach who asked, when many use one id at once (%s)',
    async (revision) => {
      const server = workshop()
      const all = gate()
      let waiting = 0
      server.registerTool('mine', { inputSchema: { type: 'object' } }, async (args) => {
        if (++waiting === 10) all.open()
        await all.opened
        return JSON.stringify(args)
      })
      await using http = await serve(server)
      const peers = await Promise.all(Array.from({ length: 10 }, () => Peer.open(http.url, revision)))
      const texts = await Promise.all(
        peers.map(async (peer, owner) => {
          const answer = await peer.call('mine', { owner }, { id: 'same' })
          return (await answer.response()).result?.content?.[0]?.text
        }),
      )
      expect(texts).toEqual(peers.map((_, owner) => JSON.stringify({ owner })))
      for (const peer of peers) await peer[Symbol.asyncDispose]()
    },
  )

  it('CVE-2025-53365: that nobody waits for any more end no server', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => errors.push(error) })
    const slow = registerSlow(server)
    await using http = await serve(server)
    for (const revision of ['2025-11-25', modern] as const) {
      await using gone = await Peer.open(http.url, revision)
      const stream = await gone.call('slow', {}, withProgress)
      await slow.began
      stream.close()
      await stream.ended
    }
    slow.finish('to nobody')
    await turn()
    await using peer = await Peer.open(http.url, '2025-11-25')
    expect(await peer.textOf('echo', { text: 'served' })).toBe('served')
    expect(errors).toEqual([])
  })
})

describe('scopes', () => {
  it('CVE-2026-11719: are asked for on every route, method and member of a batch [AUTH-007, AUTH-012]', async () => {
    const { server, ran } = watched()
    await using http = await serve(server, { sse: true, auth: { ...auth, requiredScopes: ['files'] } })
    await using owner = await Peer.open(http.url, '2025-03-26', as('alice+files'))
    await using owners = await SseClient.open(http.url, as('alice+files'))
    const poor = as('alice').headers
    const way = door(http.url)
    const statuses: number[] = []
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = new Peer(http.url, revision, { headers: poor })
      statuses.push((await peer.call('echo')).status, (await peer.request('initialize', peer.greeting())).status)
    }
    await using reduced = owner.at(http.url, poor)
    statuses.push((await reduced.get()).status, (await reduced.delete()).status)
    statuses.push((await reduced.post([owner.message('ping'), owner.message('tools/call', call.params)])).status)
    statuses.push(
      (await way({ method: 'GET', path: '/sse', headers: { accept: 'text/event-stream', ...poor } })).status,
    )
    statuses.push((await owners.post(call, poor)).status)
    expect(new Set(statuses)).toEqual(new Set([403]))
    expect(ran).toEqual([])
  })

  it('CVE-2026-11719: that one tool needs are asked for however it is called [AUTH-007]', async () => {
    const deleted: unknown[] = []
    const server = workshop()
    server.registerTool('delete', {}, (_, ctx) => {
      checkScopes(ctx.auth as AuthInfo | undefined, ['delete'])
      deleted.push(ctx.auth)
      return 'deleted'
    })
    await using http = await serve(server, { sse: true, auth })
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = await Peer.open(http.url, revision, as('alice+read'))
      expect((await peer.call('delete')).status).toBe(403)
    }
    await using batching = await Peer.open(http.url, '2025-03-26', as('alice+read'))
    const members = [batching.message('ping'), batching.message('tools/call', { name: 'delete', arguments: {} })]
    await (await batching.post(members)).text()
    await using old = await SseClient.open(http.url, as('alice+read'))
    await old.initialize()
    const params = { name: 'delete', arguments: {} }
    const answer = await old.request('d', 'tools/call', params)
    expect(answer.error !== undefined || answer.result?.isError === true).toBe(true)
    expect(deleted).toEqual([])
  })
})

describe('messages', () => {
  it('CVE-2026-0621: with a URI made for it do not keep a template busy', async () => {
    const server = workshop()
    server.registerResource('files', new ResourceTemplate('x://files{/path*}{?query*}'), {}, () => 'found')
    server.registerResource('names', new ResourceTemplate('y://{+names*}/end'), {}, () => 'found')
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const uris = [
      `x://files${'/a'.repeat(50_000)}!`,
      `x://files?${'a=a&'.repeat(50_000)}!`,
      `y://${'a,'.repeat(50_000)}`,
      `y://${'a/end'.repeat(20_000)}!`,
    ]
    for (const uri of uris) expect((await (await peer.request('resources/read', { uri })).json()).id).toBeDefined()
    expect(await peer.textOf('echo', { text: 'awake' })).toBe('awake')
  })

  it('typescript-sdk PR 2698: have an end on the way of web standards too, and batches have a length', async () => {
    const handler = createMcpHandler(workshop())
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 0x10000
        controller.enqueue(new Uint8Array(0x10000).fill(32))
      },
    })
    const post = (body: string | ReadableStream, more: Record<string, string> = {}) =>
      handler.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: { ...plain, ...more },
          body,
          duplex: 'half',
        } as RequestInit),
      )
    expect((await post(endless)).status).toBe(413)
    expect(pulled).toBeLessThan(8 * 1024 * 1024)
    const door = fetchDoor(handler)
    await using peer = await Peer.open(door, '2025-03-26')
    const batch = (length: number) => Array.from({ length }, (): Message => peer.message('ping'))
    expect((await peer.post(batch(100))).status).toBe(200)
    const long = await peer.post(batch(101))
    expect([long.status, (await long.json()).error?.code]).toEqual([400, -32600])
    await handler.close()
  })

  it('CVE-2026-67432: that are too large are refused, said or not', async () => {
    const { server, ran } = watched()
    await using http = await serve(server)
    const headers = { ...plain, 'content-length': String(5 * 1024 * 1024) }
    const answer = await door(http.url)({ headers, body: JSON.stringify(call).padEnd(5 * 1024 * 1024, ' ') })
    expect(answer.status).toBe(413)
    await using peer = await Peer.open(http.url, '2025-11-25')
    expect(await peer.textOf('echo', { text: 'small' })).toBe('small')
    expect(ran).toEqual(['echo'])
  })

  it('CVE-2025-53366: that fail their checks harm none that come later [RPC-025, RPC-026, RPC-028]', async () => {
    await using http = await serve(workshop())
    for (const revision of [...sessionRevisions, modern] as const) {
      await using peer = await Peer.open(http.url, revision)
      const codes = []
      const wrong: [string, Record<string, unknown>][] = [
        ['tools/call', { name: 7 }],
        ['tools/list', { cursor: 5 }],
        ['logging/setLevel', { level: 'loud' }],
        ['no/such/method', {}],
      ]
      for (const [method, params] of wrong) {
        const answer = await peer.request(method, params, {
          headers: { 'mcp-name': revision === modern ? String(params.name ?? '') : undefined },
        })
        expect(answer.status).toBeLessThan(500)
        codes.push((await answer.json()).error?.code)
      }
      expect(codes.every((code) => code !== undefined)).toBe(true)
      expect(await peer.textOf('echo', { text: 'fine' })).toBe('fine')
    }
  })

  const tool = '"name":"echo","arguments":{"text":"seen by the gateway"}'
  const differing = [
    [
      'CVE-2026-27896',
      'that differ in case, or fold to the same',
      '"Name":"revision","NAME":"revision"',
      '"Method":"tools/list","METHOD":"tools/list","param\u017f":{"name":"revision"},"Param\u017f":{}',
    ],
    [
      'GHSA-q382-vc8q-7jhj',
      'with a NUL in them',
      '"name\\u0000":"revision","\\u0000name":"revision"',
      '"method\\u0000":"tools/list","params\\u0000":{"name":"revision"}',
    ],
  ] as const
  it.each(differing)('%s: have keys %s read as keys of another name', async (_, __, inner, outer) => {
    const { server, ran } = watched()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const bodies = [
      `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{${tool},${inner}},${outer}}`,
      `{${outer},"jsonrpc":"2.0","id":"k","method":"tools/call","params":{${inner},${tool}}}`,
    ]
    for (const body of bodies) {
      const answer = await (await peer.send('POST', {}, body)).json()
      expect(answer.result?.content?.[0]?.text).toBe('seen by the gateway')
    }
    expect(ran).toEqual(['echo', 'echo'])
  })

  it('GHSA-q382-vc8q-7jhj: with a key twice are refused, so that neither the first nor the last wins', async () => {
    const { server, ran } = watched()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const twice = [
      `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{${tool}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","m\\u0065thod":"ping","params":{${tool}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${tool}},"params":{"name":"revision"}}`,
    ]
    for (const body of twice) {
      const answer = await peer.send('POST', {}, body)
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
    }
    expect(ran).toEqual([])
  })
})

describe('a server process on stdio', () => {
  it('typescript-sdk PR 2239, GHSA-74gp-qhv5-v493, openclaw #119379, CVE-2026-63119: outlives a line that is too long', async () => {
    const options = { stdio: { maxMessageBytes: 100_000 } }
    await using server = await RawProcess.start('2025-11-25', options)
    for (let sent = 0; sent < 20; sent++) server.write('x'.repeat(100_000))
    server.write('\n')
    await server.stillWorks()
    expect(server.child.exitCode).toBeNull()
  })

  it('python-sdk #2328: outlives bytes that are no UTF-8 [RPC-019, RPC-024]', async () => {
    await using server = await RawProcess.start('2025-11-25')
    for (const bytes of [[0xff, 0xfe, 0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      server.write(Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), ...bytes, 0x22, 0x7d, 0x0a]))
      server.write(Buffer.from([...bytes, 0x0a]))
    }
    await server.stillWorks()
    expect(server.child.exitCode).toBeNull()
  })
})

describe('a server of the newest revision alone', () => {
  it('CVE-2026-67430: keeps nothing of a call once it is answered', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern)
    for (let count = 0; count < 20; count++) await peer.textOf('echo')
    await eventually(() => http.metrics.calls === 0)
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0, sessions: { open: 0, opened: 0 } })
  })
})
