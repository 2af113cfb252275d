import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { McpServer, serveHttp } from 'tenon/server'
import { connectOfficialV1 } from './clients/official-v1.js'
import { connectOfficialV2 } from './clients/official-v2.js'
import { describePair } from './support/features.js'
import { startServer } from './support/http.js'
import { handshakes, revisions } from './support/programs.js'
import { sessions, sse, stateless } from './support/ways.js'

// The official clients against a Tenon server over HTTP, on every revision that they support.

const official = {
  'official v1': { connect: connectOfficialV1, speaks: handshakes },
  'official v2': { connect: connectOfficialV2, speaks: revisions },
}

for (const [client, { connect, speaks }] of Object.entries(official)) {
  for (const way of [sessions, stateless, sse]) {
    for (const revision of speaks) {
      // 2026-07-28 does not have this transport.
      if (way === sse && revision === '2026-07-28') continue
      describePair({ client, server: 'tenon', way, revision, connect: (target) => connect(target, revision) })
    }
  }
}

for (const way of [sessions, stateless]) {
  const connect = (target) => connectOfficialV2(target, 'auto')
  const note = ' by its own negotiation'
  describePair({ client: 'official v2', server: 'tenon', way, connect, revision: '2026-07-28', note })
}

test('the official v2 client falls back to a Tenon server without 2026-07-28', async (t) => {
  const server = await startServer('servers/tenon.js', '--http', 'sessions', '2025-06-18', '2024-11-05')
  t.after(server.stop)
  const peer = await connectOfficialV2({ url: new URL('/mcp', server.origin) }, 'auto')
  assert.equal(peer.revision, '2025-06-18')
  assert.equal((await peer.call('greet', { name: 'Ada' })).content[0].text, 'Hello, Ada!')
  await peer.close()
})

test('official clients report a Tenon server that supports only 2026-07-28', async (t) => {
  const server = await startServer('servers/tenon.js', '--http', 'sessions', '2026-07-28')
  t.after(server.stop)
  const target = { url: new URL('/mcp', server.origin) }
  await assert.rejects(connectOfficialV1(target), /2026-07-28/)
  await assert.rejects(connectOfficialV2(target, '2025-11-25'), /2026-07-28/)
  const peer = await connectOfficialV2(target, 'auto')
  assert.equal(peer.revision, '2026-07-28')
  await peer.close()
})

test('the official v2 client sees a graceful end when a Tenon server ends a subscription [SUB-012]', async () => {
  const server = new McpServer({ name: 'tenon', version: '1.0.0' })
  server.registerTool('hi', {}, () => 'hi')
  const http = await serveHttp(server, { port: 0, exit: false })
  const client = new Client({ name: 'official', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(http.url)))
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  const subscription = await client.listen({ toolsListChanged: true })
  await http.close()
  assert.equal(await subscription.closed, 'graceful')
  await client.close()
})

test('the official v2 client accepts the streamed response of a slow tool', async () => {
  const server = new McpServer({ name: 'tenon', version: '1.0.0' })
  server.registerTool('slow', {}, () => new Promise((resolve) => setTimeout(resolve, 200, 'slow')))
  const http = await serveHttp(server, { port: 0, exit: false, streamAfterMs: 20 })
  for (const mode of ['auto', 'legacy']) {
    const client = new Client({ name: 'official', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url)))
    assert.equal((await client.callTool({ name: 'slow', arguments: {} })).content[0].text, 'slow')
    await client.close()
  }
  await http.close()
})
