import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { revisionIds } from 'tenon'
import { createMcpHandler, type HttpOptions } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { overFetch, overHttp, type SendHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith, serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const post = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const byUser: HttpOptions = { principal: (request) => request.header('x-user') }

/** Returns the status of a harmless request with these headers. */
async function statusOf(way: SendHttp, headers: Record<string, string>, method = 'POST'): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await using answer = await way({ method, headers: { ...post, ...headers }, ...(method === 'POST' && { body }) })
  return answer.status
}

/** The status of a ping without a session that passed the guards. */
const passed = 400

describe('Origin', () => {
  eachRevision(
    httpRevisions,
    'a foreign origin is rejected with 403 for every request [HTTP-003, HTTP-004]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const origin = { origin: 'https://evil.example' }
      const answers = [
        await peer.request('tools/list', {}, { headers: origin }),
        await peer.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, origin),
        await peer.request('initialize', peer.greeting(), { headers: { ...origin, 'mcp-session-id': undefined } }),
        await peer.get(origin),
        await peer.send('DELETE', origin),
        await peer.send('OPTIONS', origin),
        await peer.send('PUT', origin),
      ]
      expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(403))
      expect(await peer.textOf('echo', { text: 'still here' })).toBe('still here')
    },
  )

  it('a rejection has a JSON-RPC error without id as its body [HTTP-005]', async () => {
    await using http = await serve(workshop())
    const answer = await overHttp(http.url)({ headers: { ...post, origin: 'https://evil.example' }, body: '{}' })
    const body = await answer.json()
    expect([answer.type, body.jsonrpc, body.error?.code, 'id' in body]).toEqual([
      'application/json',
      '2.0',
      -32000,
      false,
    ])
    expect(body.error?.message).toContain("cors: { origins: ['https://evil.example'] }")
  })

  for (const origin of [
    'null',
    'https://evil.example',
    'http://localhost.evil.example',
    'http://evil.example#localhost',
    'http://localhost@evil.example',
    'http://127.0.0.1.evil.example',
    'file://',
    'chrome-extension://abcdef',
    '',
    'localhost',
  ]) {
    it(`${JSON.stringify(origin)} is rejected as foreign [HTTP-003, HTTP-004]`, async () => {
      await using http = await serve(workshop())
      expect(await statusOf(overHttp(http.url), { origin })).toBe(403)
    })
  }

  for (const origin of ['http://localhost:5173', 'http://127.0.0.1:8080', 'https://localhost', 'http://[::1]:3000']) {
    it(`${origin} is allowed as a local page`, async () => {
      await using http = await serve(workshop())
      expect(await statusOf(overHttp(http.url), { origin })).toBe(passed)
    })
  }

  it('can be allowed by exact name [SDK-008]', async () => {
    await using http = await serve(workshop(), { allowedOrigins: ['https://app.example'] })
    const way = overHttp(http.url)
    expect(await statusOf(way, { origin: 'https://app.example' })).toBe(passed)
    for (const origin of ['http://app.example', 'https://app.example:8443', 'https://app.example.evil.example']) {
      expect(await statusOf(way, { origin })).toBe(403)
    }
  })

  it('of local pages is rejected when allowedOrigins lists others [SDK-008, HTTP-003]', async () => {
    await using http = await serve(workshop(), { allowedOrigins: ['https://app.example'] })
    for (const origin of ['http://localhost:5173', 'http://127.0.0.1:8080', 'https://localhost', 'http://[::1]:3000']) {
      expect([origin, await statusOf(overHttp(http.url), { origin })]).toEqual([origin, 403])
    }
    // Pages of the server itself, which a browser cannot confuse with others, stay allowed.
    expect(await statusOf(overHttp(http.url), { origin: new URL(http.url).origin })).toBe(passed)
  })

  describe('allowed by CORS middleware in front', () => {
    /** Sets the header before the handler runs, as the `cors` package does. */
    const behind = async (allowed: string | string[], options: HttpOptions = {}) => {
      const handler = createMcpHandler(workshop(), options)
      return listenWith((request, response) => {
        response.setHeader('Access-Control-Allow-Origin', allowed)
        handler.node(request, response)
      })
    }
    const origin = 'https://app.example'

    for (const allowed of ['*', origin]) {
      it(`can call and read the response: ${allowed} [SDK-007]`, async () => {
        await using http = await behind(allowed)
        await using peer = new Peer(http.url, modern, { headers: { origin } })
        const answer = await peer.call('echo', { text: 'hello' })
        expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, allowed])
      })
    }

    for (const allowed of [
      'https://other.example',
      `${origin}, https://other.example`,
      'https://app.example:8443',
      '',
    ]) {
      it(`cannot call when the middleware allows another origin: ${JSON.stringify(allowed)} [HTTP-003]`, async () => {
        await using http = await behind(allowed)
        expect(await statusOf(overHttp(http.url), { origin })).toBe(403)
      })
    }

    it('cannot call when allowedOrigins lists other origins [HTTP-003, SDK-008]', async () => {
      await using http = await behind('*', { allowedOrigins: ['https://listed.example'] })
      expect(await statusOf(overHttp(http.url), { origin })).toBe(403)
      expect(await statusOf(overHttp(http.url), { origin: 'https://listed.example' })).toBe(passed)
    })

    it('cannot call when the cors option lists other origins [HTTP-003]', async () => {
      await using http = await behind('*', { cors: { origins: ['https://listed.example'] } })
      expect(await statusOf(overHttp(http.url), { origin })).toBe(403)
      expect(await statusOf(overHttp(http.url), { origin: 'https://listed.example' })).toBe(passed)
    })

    it('can read the session id, unless the middleware sets the exposed headers', async () => {
      await using http = await behind('*')
      await using peer = new Peer(http.url, modern, { headers: { origin } })
      const { headers } = await peer.call('echo', { text: 'hello' })
      expect(headers['access-control-expose-headers']).toContain('Mcp-Session-Id')
      const handler = createMcpHandler(workshop())
      await using strict = await listenWith((request, response) => {
        response.setHeader('Access-Control-Allow-Origin', '*')
        response.setHeader('Access-Control-Expose-Headers', 'X-Own')
        handler.node(request, response)
      })
      await using other = new Peer(strict.url, modern, { headers: { origin } })
      const answer = await other.call('echo', { text: 'hello' })
      expect(answer.headers['access-control-expose-headers']).toBe('X-Own')
    })

    it('cannot call under a rebound host name [HTTP-003]', async () => {
      await using http = await behind('*')
      expect(await statusOf(overHttp(http.url), { origin: 'http://rebound.example', host: 'rebound.example' })).toBe(
        403,
      )
    })
  })

  it('is not checked with allowAnyOrigin', async () => {
    await using http = await serve(workshop(), { allowAnyOrigin: true })
    expect(await statusOf(overHttp(http.url), { origin: 'https://anyone.example' })).toBe(passed)
  })
})

describe('Host', () => {
  for (const host of [
    'localhost',
    'localhost:80',
    'LOCALHOST',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:8080',
    '192.168.7.9:3000',
  ]) {
    it(`${host} is allowed as a local name or an address`, async () => {
      await using http = await serve(workshop())
      expect(await statusOf(overHttp(http.url), { host })).toBe(passed)
    })
  }

  for (const host of ['evil.example', 'localhost.evil.example', 'evil.example:80', 'localhost:80:80', 'local host']) {
    it(`${host} is rejected as foreign, with and without a matching Origin [HTTP-003, SDK-008]`, async () => {
      await using http = await serve(workshop())
      const way = overHttp(http.url)
      expect(await statusOf(way, { host })).toBe(403)
      expect(await statusOf(way, { host, origin: `http://${host}` })).toBe(403)
      expect(await statusOf(way, { host }, 'GET')).toBe(403)
    })
  }

  it('can be allowed by name, for any port or for one [SDK-008]', async () => {
    await using http = await serve(workshop(), { allowedHosts: ['mcp.example', 'other.example:8080'] })
    const way = overHttp(http.url)
    const statuses = new Map<string, number>()
    for (const host of ['mcp.example', 'MCP.Example:99', 'other.example:8080', 'other.example', 'localhost']) {
      statuses.set(host, await statusOf(way, { host }))
    }
    expect([...statuses.values()]).toEqual([passed, passed, passed, 403, 403])
    // A page of the same host can call.
    expect(await statusOf(way, { host: 'mcp.example', origin: 'https://mcp.example' })).toBe(passed)
    expect(await statusOf(way, { host: 'mcp.example', origin: 'http://localhost:5173' })).toBe(403)
  })

  it('is not checked with allowAnyHost', async () => {
    await using http = await serve(workshop(), { allowAnyHost: true })
    expect(await statusOf(overHttp(http.url), { host: 'anything.example' })).toBe(passed)
  })
})

describe('the listening address', () => {
  it('is only 127.0.0.1 by default [HTTP-006]', async () => {
    await using http = await serve(workshop())
    expect(new URL(http.url).hostname).toBe('127.0.0.1')
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address, scopeid }) => (scopeid ? `${address}%${scopeid}` : address))
      .filter((address) => address !== '127.0.0.1')
    for (const address of others) expect([address, await reaches(address, http.port)]).toEqual([address, false])
    expect(await reaches('127.0.0.1', http.port)).toBe(true)
  })

  it('is reported clearly when the port is in use', async () => {
    await using http = await serve(workshop())
    await expect(serve(workshop(), { port: http.port })).rejects.toMatchObject({
      code: 'listen-failed',
      message: `serveHttp() cannot listen: port ${http.port} is in use. Choose another, or 0 for a free one.`,
    })
  })
})

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 })
    const tell = (answer: boolean) => () => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', tell(true)).once('error', tell(false)).once('timeout', tell(false))
  })
}

describe('CORS', () => {
  const cors = { origins: ['https://app.example'] }
  const origin = 'https://app.example'

  it('is off by default: no page can read a response, and OPTIONS is a 405', async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, modern, { headers: { origin: 'http://localhost:5173' } })
    const answer = await peer.call('echo')
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, undefined])
    expect((await peer.send('OPTIONS', {})).status).toBe(405)
  })

  for (const revision of revisionIds) {
    it(`${revision}: a page of a listed origin can call, and read the response and session id [SDK-007]`, async () => {
      await using http = await serve(workshop(), { cors })
      await using peer = await Peer.open(http.url, revision, { headers: { origin } })
      const answers = [
        peer.opening,
        await peer.call('echo'),
        await peer.call('steps', {}, withProgress),
        await peer.notify('x'),
      ]
      for (const answer of answers) {
        if (!answer) continue
        expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' })
        expect(answer.headers['access-control-expose-headers']?.toLowerCase()).toContain('mcp-session-id')
      }
    })
  }

  it('a page of a listed origin can read errors too', async () => {
    await using http = await serve(workshop(), { cors })
    await using peer = new Peer(http.url, '2025-11-25', { headers: { origin } })
    peer.sessionId = 'never-was'
    const answer = await peer.call('echo')
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([404, origin])
  })

  it('a preflight allows the methods and headers that MCP needs [SDK-007]', async () => {
    await using http = await serve(workshop(), { cors: { ...cors, allowedHeaders: ['x-mine'], maxAgeSeconds: 60 } })
    const answer = await overHttp(http.url)({
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, mcp-session-id, mcp-param-region, x-other',
      },
    })
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(answer.headers['access-control-allow-origin']).toBe(origin)
    expect(answer.headers['access-control-max-age']).toBe('60')
    expect(answer.headers['access-control-allow-methods']?.split(', ').sort()).toEqual(['DELETE', 'GET', 'POST'])
    const allowed = answer.headers['access-control-allow-headers']?.toLowerCase().split(', ')
    for (const name of [
      'content-type',
      'accept',
      'authorization',
      'last-event-id',
      'mcp-session-id',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'mcp-param-region',
      'x-mine',
    ]) {
      expect(allowed).toContain(name)
    }
    expect(allowed).not.toContain('x-other')
  })

  it('unlisted origins are rejected', async () => {
    await using http = await serve(workshop(), { cors })
    const answer = await overHttp(http.url)({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } })
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([403, undefined])
  })

  it('an unlisted local page can call but not read the response', async () => {
    await using http = await serve(workshop(), { cors })
    await using peer = new Peer(http.url, modern, { headers: { origin: 'http://localhost:5173' } })
    const answer = await peer.call('echo')
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, undefined])
    expect((await peer.send('OPTIONS', {})).status).toBe(405)
  })

  it("origins: '*' allows every page", async () => {
    await using http = await serve(workshop(), { cors: { origins: '*' } })
    await using peer = new Peer(http.url, modern, { headers: { origin: 'https://anyone.example' } })
    const answer = await peer.call('echo')
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, 'https://anyone.example'])
  })
})

describe('the rate limit', () => {
  // So slow that no token is refilled while the test runs.
  const rateLimit = { perSecond: 0.001, burst: 3 }

  eachRevision(httpRevisions, 'rejects excess requests with 429 and Retry-After', async (revision) => {
    await using http = await serve(workshop(), { rateLimit })
    await using peer = new Peer(http.url, revision)
    const answers = []
    for (let count = 0; count < 5; count++) answers.push(await peer.request('tools/list'))
    const { status } = answers[0]!
    expect(answers.map((answer) => answer.status)).toEqual([status, status, status, 429, 429])
    expect(status).not.toBe(429)
    expect(Number(answers[4]!.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect((await answers[4]!.json()).error?.code).toBe(-32000)
  })

  it('counts each principal separately', async () => {
    await using http = await serve(workshop(), { rateLimit, ...byUser })
    const statuses = async (user: string) => {
      await using peer = new Peer(http.url, modern, { headers: { 'x-user': user } })
      const seen: number[] = []
      for (let count = 0; count < 4; count++) seen.push((await peer.call('echo')).status)
      return seen
    }
    expect(await statuses('alice')).toEqual([200, 200, 200, 429])
    expect(await statuses('bob')).toEqual([200, 200, 200, 429])
  })

  it('rejects an invalid limit at startup', async () => {
    await expect(serve(workshop(), { rateLimit: { perSecond: 0 } })).rejects.toThrow(/rateLimit/)
  })
})

describe('limits', () => {
  eachRevision(sessionRevisions, 'on sessions: 503 with Retry-After, until one ends', async (revision) => {
    await using http = await serve(workshop(), { maxSessions: 2 })
    await using first = await Peer.open(http.url, revision)
    await using second = await Peer.open(http.url, revision)
    await using third = new Peer(http.url, revision)
    const refused = await third.request('initialize', third.greeting())
    expect([refused.status, refused.headers['mcp-session-id']]).toEqual([503, undefined])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(await first.textOf('session')).toBe(first.sessionId)
    await second.delete()
    await third.initialize()
    expect(http.metrics.sessions).toMatchObject({ open: 2, opened: 3, refused: 1 })
  })

  eachRevision(sessionRevisions, 'on sessions of one principal: 429, without effect on others', async (revision) => {
    await using http = await serve(workshop(), { maxSessionsPerPrincipal: 1, ...byUser })
    const headers = { 'x-user': 'alice' }
    await using first = await Peer.open(http.url, revision, { headers })
    await using second = new Peer(http.url, revision, { headers })
    expect((await second.request('initialize', second.greeting())).status).toBe(429)
    await using bob = await Peer.open(http.url, revision, { headers: { 'x-user': 'bob' } })
    expect(await bob.textOf('session')).toBe(bob.sessionId)
    expect(await first.textOf('session')).toBe(first.sessionId)
  })

  it('on sessions of one principal or address: an ended session makes room for another', async () => {
    await using http = await serve(workshop(), { maxSessionsPerPrincipal: 1, maxSessionsPerAddress: 1, ...byUser })
    const callers: Record<string, string>[] = [{ 'x-user': 'alice' }, {}]
    for (const headers of callers) {
      for (let round = 0; round < 3; round++) {
        await using peer = await Peer.open(http.url, '2025-11-25', { headers })
        await using other = new Peer(http.url, '2025-11-25', { headers })
        expect((await other.request('initialize', other.greeting())).status).toBe(429)
        expect((await peer.delete()).status).toBe(200)
      }
    }
  })

  for (const [name, options] of [
    ['in total', { maxStreams: 1 }],
    ['of one session', { maxStreamsPerSession: 1 }],
    ['of one principal', { maxStreamsPerPrincipal: 1, principal: () => 'alice' }],
  ] as const) {
    eachRevision(
      sessionRevisions,
      `on streams ${name}: a second GET is a 429, until the first is closed`,
      async (revision) => {
        await using http = await serve(workshop(), options)
        await using peer = await Peer.open(http.url, revision)
        const first = await peer.get()
        const refused = await peer.get()
        expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
        first.close()
        await first.ended
        // A call is answered without a stream when the limit is reached.
        const answer = await peer.call('steps', {}, withProgress)
        expect((await answer.response()).result?.content?.[0]?.text).toBe('three steps')
      },
    )
  }

  for (const [name, options] of [
    ['in total', { maxStreams: 1 }],
    ['of one session', { maxStreamsPerSession: 1 }],
    ['of one principal', { maxStreamsPerPrincipal: 1, principal: () => 'alice' }],
    ['of one address', { maxStreamsPerAddress: 1 }],
  ] as const) {
    it(`on streams ${name}: a resumed stream counts, and is a 429 if there is no room`, async () => {
      const server = workshop()
      await using http = await serve(server, options)
      await using peer = await Peer.open(http.url, '2025-11-25')
      const stream = await peer.get()
      server.sendLoggingMessage({ level: 'error', data: 1 })
      await stream.notified('notifications/message')
      stream.close()
      await eventually(() => http.metrics.streams === 0)
      const resumed = await peer.resume(stream.ids.at(-1)!)
      expect([resumed.status, http.metrics.streams]).toEqual([200, 1])
      expect((await peer.get()).status).toBe(429)
      resumed.close()
      await eventually(() => http.metrics.streams === 0)
      const listening = await peer.get()
      expect(listening.status).toBe(200)
      const refused = await peer.resume(stream.ids.at(-1)!)
      expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
      expect(http.metrics.streams).toBe(1)
    })
  }

  it(`${modern}: a listen request beyond the limit is a 429, and calls are answered as JSON`, async () => {
    await using http = await serve(workshop(), { maxStreams: 1 })
    await using peer = new Peer(http.url, modern)
    const listening = await peer.listen({ toolsListChanged: true })
    expect(listening.isStream).toBe(true)
    const refused = await peer.listen({ toolsListChanged: true })
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true])
    const answer = await peer.call('steps', {}, withProgress)
    expect([answer.status, answer.type]).toEqual([200, 'application/json'])
  })
})

describe('during shutdown', () => {
  eachRevision(httpRevisions, 'new requests are rejected with 503', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    const handler = createMcpHandler(server)
    await using peer = await Peer.open(overFetch(handler), revision)
    const call = peer.call('slow')
    await slow.began
    const closed = handler.close()
    const refused = await peer.call('echo')
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([503, true])
    slow.finish('done')
    expect((await (await call).response()).result?.content?.[0]?.text).toBe('done')
    await closed
  })
})
