import { createMcpHandler, type McpServer, StreamableHTTPServerTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { overFetch, overHttp, type SendHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { sessionRevisions } from '../kit/revisions.ts'
import { listenWith, serve } from '../kit/serve-http.ts'
import { SseClient } from '../kit/sse-peer.ts'
import { withProgress, workshop } from '../kit/workshop.ts'

import { as, auth, call, plain, watched } from './advisories-support.ts'

describe('web pages', () => {
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

  /** Every way to serve, with default options. */
  const ways: Record<string, (server: McpServer) => Promise<{ door: SendHttp } & AsyncDisposable>> = {
    serveHttp: async (server) => {
      const http = await serve(server)
      return { door: overHttp(http.url), [Symbol.asyncDispose]: () => http.close() }
    },
    'createMcpHandler().node': async (server) => {
      const handler = createMcpHandler(server)
      const http = await listenWith((request, response) => handler.node(request, response))
      return { door: overHttp(http.url), [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
    },
    'createMcpHandler().fetch': async (server) => {
      const handler = createMcpHandler(server)
      return { door: overFetch(handler), [Symbol.asyncDispose]: () => handler.close() }
    },
    StreamableHTTPServerTransport: async (server) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      await server.connect(transport)
      const http = await listenWith((request, response) => void transport.handleRequest(request, response))
      return { door: overHttp(http.url), [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() }
    },
  }

  it.each(Object.keys(ways))(
    `${rebinding}: refuses a rebound host name at %s with default options [HTTP-003, HTTP-004]`,
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
    'CVE-2026-33252: does not run a tool for a request of type %s, which browsers send without preflight [HTTP-003]',
    async (type) => {
      const { server, ran } = watched()
      await using http = await serve(server)
      const { 'content-type': _, ...rest } = plain
      const simple = { ...rest, ...(type !== undefined && { 'content-type': type }) }
      for (const origin of [{}, { origin: 'https://evil.example' }] as Record<string, string>[]) {
        const answer = await overHttp(http.url)({ headers: { ...simple, ...origin }, body: JSON.stringify(call) })
        expect(answer.status).toBe('origin' in origin ? 403 : 415)
      }
      expect(ran).toEqual([])
    },
  )

  it('CVE-2026-34237, CVE-2026-33010, php-sdk #280: does not let a page read responses, streams or session ids', async () => {
    await using http = await serve(workshop(), { sse: true })
    const way = overHttp(http.url)
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

  it('CVE-2026-9739: applies the same checks to the HTTP+SSE routes [HTTP-003, HTTP-004]', async () => {
    const options = { sse: true, allowedHosts: ['127.0.0.1'], cors: { origins: ['https://app.example'] } }
    await using http = await serve(workshop(), options)
    await using friend = await SseClient.open(http.url, { headers: { origin: 'https://app.example' } })
    expect(friend.stream.headers['access-control-allow-origin']).toBe('https://app.example')
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const way = overHttp(http.url)
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

  it('CVE-2026-59950, GHSA-2jhq-9cjp-44gp: refuses WebSocket upgrades', async () => {
    await using http = await serve(workshop(), { sse: true })
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    for (const path of ['/mcp', '/sse', '/messages']) {
      const headers = { ...upgrade, ...key, origin: 'https://evil.example' }
      expect((await overHttp(http.url)({ method: 'GET', path, headers })).status).toBe(403)
    }
  })
})

describe('sessions', () => {
  it.each(sessionRevisions)(
    'CVE-2026-52869, CVE-2026-67431, GHSA-f6c5-f2ph-7x7p: rejects a session id that belongs to another user (%s) [SESS-012, SESS-014]',
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

  it('CVE-2026-52869: rejects an SSE session id that belongs to another user [SESS-012]', async () => {
    await using http = await serve(workshop(), { auth, sse: true })
    await using alice = await SseClient.open(http.url, as('alice'))
    await alice.initialize()
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' }
    expect((await alice.post(ping, as('mallory').headers)).status).toBe(404)
    expect((await alice.post(ping, { authorization: '' })).status).toBe(401)
    expect(await alice.textOf('echo', { text: 'mine' })).toBe('mine')
  })

  it.each(sessionRevisions)(
    'CVE-2026-33946: keeps the stream of a session when a second one is opened with its id (%s)',
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
    'byterover #329: does not guess the session, even if there is only one (%s) [SESS-006, SESS-012]',
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

  it('GHSA-9pj6-vhgr-3mwh: refuses a session without a required token, and limits the number of sessions', async () => {
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

  it('CVE-2026-67430, mcp-go #723: expires idle sessions without a DELETE [SESS-007, SESS-008]', async () => {
    await using http = await serve(workshop(), { sessionIdleMs: 100 })
    await using peer = await Peer.open(http.url, '2025-11-25')
    await eventually(() => http.metrics.sessions.open === 0)
    expect(http.metrics.sessions).toMatchObject({ opened: 1, expired: 1 })
    expect((await peer.call('echo')).status).toBe(404)
  })
})
