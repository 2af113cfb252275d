import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from 'tenon/client'
import { connectTenon } from './clients/tenon.js'
import { describePair } from './support/features.js'
import { startServer } from './support/http.js'
import { handshakes, revisions } from './support/programs.js'
import { sessions, sse, stateless } from './support/ways.js'

// The Tenon client over HTTP against servers built with the official packages, on every revision that they support.

describe('connect(url)', () => {
  const found = [
    ['servers/official-v1.js', 'sessions', '/mcp', '2025-11-25'],
    ['servers/official-v1.js', 'stateless', '/mcp', '2025-11-25'],
    ['servers/official-v1.js', 'sse', '/sse', '2025-11-25'],
    ['servers/official-v2.js', 'sessions', '/mcp', '2026-07-28'],
    ['servers/official-v2.js', 'stateless', '/mcp', '2026-07-28'],
    ['servers/tenon.js', 'sessions', '/mcp', '2026-07-28'],
    ['servers/tenon.js', 'stateless', '/mcp', '2026-07-28'],
    ['servers/tenon.js', 'sse', '/sse', '2025-11-25'],
  ]
  for (const [file, http, path, revision] of found) {
    test(`detects that ${file}, ${http}, supports at most ${revision}`, async (t) => {
      const url = await start(t, path, file, '--http', http)
      const client = await connect(url)
      t.after(() => client.close())
      assert.equal(client.revision, revision)
      assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
    })
  }

  test('accepts a URL as a string, and reuses the detected revision', async (t) => {
    const url = await start(t, '/sse', 'servers/official-v1.js', '--http', 'sse')
    for (let round = 0; round < 2; round++) {
      const client = await connect(url.href)
      assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
      await client.close()
    }
  })

  test('detects the newest revision again after a connection with an earlier one', async (t) => {
    const url = await start(t, '/mcp', 'servers/official-v2.js', '--http', 'sessions')
    const older = await connect(url, { revision: '2025-06-18' })
    t.after(() => older.close())
    assert.equal(older.revision, '2025-06-18')
    const newest = await connect(url)
    t.after(() => newest.close())
    assert.equal(newest.revision, '2026-07-28')
  })

  test('rejects a server that does not support the configured revision', async (t) => {
    const v1 = await start(t, '/mcp', 'servers/official-v1.js', '--http', 'sessions')
    await assert.rejects(connect(v1, { revision: '2026-07-28' }), (error) => error.code === 'no-common-revision')
    const modern = await start(t, '/mcp', 'servers/official-v2.js', '--http', 'stateless', '--legacy', 'reject')
    const impossible = connect(modern, { revision: '2025-11-25' })
    await assert.rejects(impossible, (error) => error.code === 'no-common-revision' || error.rpcCode === -32022)
    const client = await connect(modern)
    assert.equal(client.revision, '2026-07-28')
    await client.close()
  })

  test('lists its attempts when the URL is not an MCP endpoint', async (t) => {
    const url = await start(t, '/nowhere', 'servers/official-v1.js', '--http', 'sse')
    await assert.rejects(connect(url), /404/)
  })
})

const pairs = [
  ...[sessions, stateless, sse].flatMap((way) => handshakes.map((revision) => ['official v1', way, revision])),
  ...[sessions, stateless].flatMap((way) => revisions.map((revision) => ['official v2', way, revision])),
]
for (const [server, way, revision] of pairs) {
  describePair({ client: 'Tenon', server, way, revision, connect: (target) => connectTenon(target, revision) })
}

/** Starts a server for the duration of the test and returns its URL. */
async function start(t, path, file, ...args) {
  const server = await startServer(file, ...args)
  t.after(server.stop)
  return new URL(path, server.origin)
}
