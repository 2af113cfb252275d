import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { connectOfficialV1 } from './clients/official-v1.js'
import { connectOfficialV2 } from './clients/official-v2.js'
import { connectTenon } from './clients/tenon.js'
import { buildSeed } from './seed/build.js'
import { answerOf, post, startServer } from './support/http.js'
import { handshakes, revisions } from './support/programs.js'

// The HTTP examples of the seed document, each in its own process.

const clients = [
  ...revisions.map((revision) => ['Tenon', connectTenon, revision]),
  ...handshakes.map((revision) => ['official v1', connectOfficialV1, revision]),
  ...revisions.map((revision) => ['official v2', connectOfficialV2, revision]),
]

const initialize = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'plain', version: '1.0.0' } },
}

before(buildSeed)

describe('Quick Start', () => {
  const served = serveBlock('quick-start')

  for (const [client, connect, revision] of clients) {
    test(`adds and greets: ${client} client, ${revision} [SDK-020]`, async (t) => {
      const peer = await connect({ url: served.url() }, revision)
      t.after(() => peer.close())
      assert.equal(peer.revision, revision)
      assert.deepEqual(peer.info, { name: 'demo-server', version: '1.0.0' })
      const { content, structuredContent } = await peer.call('add', { a: 2, b: 3 })
      assert.deepEqual(content, [{ type: 'text', text: '{"result":5}' }])
      assert.deepEqual(structuredContent, revision < '2025-06-18' ? undefined : { result: 5 })
      assert.equal((await peer.read('greeting://Ada')).contents[0].text, 'Hello, Ada!')
      assert.equal(peer.sessionId(), undefined)
    })
  }
})

describe('Streamable HTTP, without session management', () => {
  const served = serveBlock('without-sessions')

  for (const [client, connect, revision] of clients) {
    test(`serves calls: ${client} client, ${revision}`, async (t) => {
      const peer = await connect({ url: served.url() }, revision)
      t.after(() => peer.close())
      assert.equal(peer.revision, revision)
      assert.deepEqual(peer.info, { name: 'example-server', version: '1.0.0' })
      await peer.ping()
      assert.equal(peer.sessionId(), undefined)
    })
  }

  test('gives each of 100 clients with equal request ids its own response', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `client ${index}`)
    const answers = await Promise.all(
      names.map(async (name) => {
        const params = { name: 'meet', arguments: { name, of: names.length } }
        const response = await post(served.url(), { id: 1, method: 'tools/call', params })
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-type'), 'application/json')
        return answerOf(response)
      }),
    )
    assert.deepEqual(
      answers.map(({ id, result }) => [id, result?.content[0].text]),
      names.map((name) => [1, name]),
    )
  })

  const each = [
    ['Tenon', connectTenon],
    ['official v1', connectOfficialV1],
    ['official v2', connectOfficialV2],
  ]
  for (const [client, connect] of each) {
    test(`gives each of 100 ${client} clients with equal request ids its own response`, async () => {
      const peers = await Promise.all(Array.from({ length: 100 }, () => connect({ url: served.url() }, '2025-11-25')))
      const results = await Promise.all(
        peers.map((peer, index) => peer.call('meet', { name: `client ${index}`, of: peers.length })),
      )
      assert.deepEqual(
        results.map(({ content }) => content[0].text),
        peers.map((_, index) => `client ${index}`),
      )
      await Promise.all(peers.map((peer) => peer.close()))
    })
  }
})

describe('Streamable HTTP, with session management', () => {
  const served = serveBlock('with-sessions')
  const withSessions = clients.filter(([, , revision]) => revision !== '2026-07-28')

  for (const [client, connect, revision] of withSessions) {
    test(`serves calls, and ends the session: ${client} client, ${revision}`, async (t) => {
      const peer = await connect({ url: served.url() }, revision)
      t.after(() => peer.close())
      assert.equal(peer.revision, revision)
      assert.deepEqual(peer.info, { name: 'example-server', version: '1.0.0' })
      await peer.ping()
      const id = peer.sessionId()
      assert.match(id, /^[0-9a-f-]{36}$/)
      await peer.close()
      const { status } = await post(served.url(), { id: 1, method: 'ping' }, { 'mcp-session-id': id })
      assert.equal(status, 400)
    })
  }

  // The example answers `server/discover` with 400 and no 2026-07-28 error, which identifies a handshake server.
  const negotiating = { Tenon: connectTenon, 'official v2': (target) => connectOfficialV2(target, 'auto') }
  for (const [client, connect] of Object.entries(negotiating)) {
    test(`is detected as a 2025-11-25 server by the ${client} client`, async (t) => {
      const peer = await connect({ url: served.url() })
      t.after(() => peer.close())
      assert.equal(peer.revision, '2025-11-25')
      await peer.ping()
    })
  }

  test('keeps sessions separate and opens a stream for each', async () => {
    const [one, two] = await Promise.all([openSession(served.url()), openSession(served.url())])
    assert.notEqual(one, two)
    for (const id of [one, two]) {
      const response = await post(served.url(), { id: 7, method: 'ping' }, { 'mcp-session-id': id })
      assert.deepEqual(await answerOf(response), { jsonrpc: '2.0', id: 7, result: {} })
      const headers = { accept: 'text/event-stream', 'mcp-session-id': id }
      const stream = await fetch(served.url(), { headers })
      assert.equal(stream.status, 200)
      assert.equal(stream.headers.get('content-type'), 'text/event-stream')
      await stream.body.cancel()
      const ended = await fetch(served.url(), { method: 'DELETE', headers: { 'mcp-session-id': id } })
      assert.equal(ended.status, 200)
    }
    assert.equal((await fetch(served.url(), { headers: { 'mcp-session-id': one } })).status, 400)
  })
})

describe('CORS configuration', () => {
  const served = serveBlock('cors')

  test('lets a local page call and read its session id', async () => {
    const origin = 'http://localhost:5173'
    const allowed = await preflight(served.url(), origin)
    assert.equal(allowed.status, 204)
    assert.equal(allowed.headers.get('access-control-allow-origin'), '*')
    assert.match(allowed.headers.get('access-control-allow-headers'), /mcp-session-id/)
    const response = await post(served.url(), initialize, { origin })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('access-control-expose-headers'), 'Mcp-Session-Id')
    assert.ok(response.headers.get('mcp-session-id'))
  })

  test('lets a page of another origin call and read its session id', async () => {
    const origin = 'https://app.example.com'
    assert.equal((await preflight(served.url(), origin)).status, 204)
    const response = await post(served.url(), initialize, { origin })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('access-control-expose-headers'), 'Mcp-Session-Id')
    assert.ok(response.headers.get('mcp-session-id'))
  })
})

describe('DNS rebinding protection', () => {
  let server
  let port
  before(async () => {
    server = await startServer('dist/seed/dns-rebinding.js')
    ;({ port } = new URL(server.origin))
  })
  after(() => server?.stop())

  // The only session of the transport is not open yet: a request that passes the check only lacks a session.
  const cases = [
    ['accepts its own host name', (host) => ({ host }), 400],
    ['rejects a rebound host name', () => ({ host: 'rebound.example.com' }), 403],
    ['rejects an unlisted local host name', () => ({ host: `localhost:${port}` }), 403],
    ['accepts pages of a listed origin', (host) => ({ host, origin: 'https://yourdomain.com' }), 400],
    ['rejects pages of another origin', (host) => ({ host, origin: 'https://yourdomain.com.example.com' }), 403],
    ['rejects pages of another scheme', (host) => ({ host, origin: 'http://yourdomain.com' }), 403],
    ['rejects unlisted local pages', (host) => ({ host, origin: 'http://localhost:5173' }), 403],
  ]
  for (const [title, headersFor, expected] of cases) {
    test(title, async () => {
      assert.equal(await statusOf(port, headersFor(`127.0.0.1:${port}`)), expected)
    })
  }

  test('serves calls', async (t) => {
    const peer = await connectTenon({ url: new URL('/mcp', server.origin) }, '2025-11-25')
    t.after(() => peer.close())
    assert.equal(peer.info.name, 'example-server')
    await peer.ping()
  })
})

/** Starts an example for the tests of a suite. */
function serveBlock(name) {
  let server
  before(async () => {
    server = await startServer(`dist/seed/${name}.js`)
  })
  after(() => server?.stop())
  return { url: () => new URL('/mcp', server.origin) }
}

async function openSession(url) {
  const response = await post(url, initialize)
  assert.equal(response.status, 200)
  await response.body.cancel()
  return response.headers.get('mcp-session-id')
}

/** The preflight request of a browser before a page of this origin can POST. */
function preflight(url, origin) {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,mcp-session-id',
  }
  return fetch(url, { method: 'OPTIONS', headers })
}

/** Uses node:http, because fetch sets the Host header itself. */
async function statusOf(port, headers) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const accept = 'application/json, text/event-stream'
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    path: '/mcp',
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
  })
  request.end(body)
  const [response] = await once(request, 'response')
  response.resume()
  return response.statusCode
}
