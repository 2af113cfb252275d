import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from 'tenon/client'
import { connectTenon } from './clients/tenon.js'
import { describePair } from './support/features.js'
import { startServer } from './support/http.js'
import { handshakes, revisions } from './support/programs.js'
import { sessions, sse, stateless } from './support/ways.js'

// Tenon's client over HTTP against servers made with the published packages, on every revision that they speak.

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
    test(`finds out that ${file}, ${http}, speaks ${revision} at best`, async (t) => {
      const url = await start(t, path, file, '--http', http)
      const client = await connect(url)
      t.after(() => client.close())
      assert.equal(client.revision, revision)
      assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
    })
  }

  test('takes a URL as text, and again what it found out before', async (t) => {
    const url = await start(t, '/sse', 'servers/official-v1.js', '--http', 'sse')
    for (let round = 0; round < 2; round++) {
      const client = await connect(url.href)
      assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
      await client.close()
    }
  })

  test('finds the newest again after a connection that wanted an older revision', async (t) => {
    const url = await start(t, '/mcp', 'servers/official-v2.js', '--http', 'sessions')
    const older = await connect(url, { revision: '2025-06-18' })
    t.after(() => older.close())
    assert.equal(older.revision, '2025-06-18')
    const newest = await connect(url)
    t.after(() => newest.close())
    assert.equal(newest.revision, '2026-07-28')
  })

  test('says so when the server does not speak the only revision that it may', async (t) => {
    const v1 = await start(t, '/mcp', 'servers/official-v1.js', '--http', 'sessions')
    await assert.rejects(connect(v1, { revision: '2026-07-28' }), (error) => error.code === 'no-common-revision')
    const modern = await start(t, '/mcp', 'servers/official-v2.js', '--http', 'stateless', '--legacy', 'reject')
    const impossible = connect(modern, { revision: '2025-11-25' })
    await assert.rejects(impossible, (error) => error.code === 'no-common-revision' || error.rpcCode === -32022)
    const client = await connect(modern)
    assert.equal(client.revision, '2026-07-28')
    await client.close()
  })

  test('names the attempts when nothing of MCP is there', async (t) => {
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

/** The address of a server that lives as long as the test. */
async function start(t, path, file, ...args) {
  const server = await startServer(file, ...args)
  t.after(server.stop)
  return new URL(path, server.origin)
}
