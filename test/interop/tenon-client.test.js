import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from 'tenon/client'
import { connectTenon } from './clients/tenon.js'
import { describePair } from './support/features.js'
import { handshakes, isAlive, program, revisions } from './support/programs.js'

// The Tenon client against servers built with the official packages, on every revision that they support.

// These tests come first: after a connection, this process remembers the revision of the server.

test('detects that an official v1 server supports at most 2025-11-25', async (t) => {
  const client = await connect(program('servers/official-v1.js'))
  t.after(() => client.close())
  assert.equal(client.revision, '2025-11-25')
  assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
})

test('detects that an official v2 server supports 2026-07-28', async (t) => {
  const client = await connect(program('servers/official-v2.js'))
  t.after(() => client.close())
  assert.equal(client.revision, '2026-07-28')
  assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
})

test('detects the newest revision again after a connection with an earlier one', async (t) => {
  const target = program('servers/official-v2.js')
  const older = await connect(target, { revision: '2025-06-18' })
  t.after(() => older.close())
  assert.equal(older.revision, '2025-06-18')
  const newest = await connect(target)
  t.after(() => newest.close())
  assert.equal(newest.revision, '2026-07-28')
})

test('rejects a server that does not support the configured revision', async () => {
  const impossible = connect(program('servers/official-v1.js'), { revision: '2026-07-28' })
  await assert.rejects(impossible, (error) => error.code === 'no-common-revision')
})

test('uses 2026-07-28 with an official v2 server that rejects all others, and fails otherwise', async (t) => {
  const target = program('servers/official-v2.js', '--legacy', 'reject')
  const client = await connect(target)
  t.after(() => client.close())
  assert.equal(client.revision, '2026-07-28')
  const impossible = connect(target, { revision: '2025-11-25' })
  await assert.rejects(impossible, (error) => error.code === 'no-common-revision' || error.rpcCode === -32022)
})

test('stops an official server that only exits when killed', async () => {
  const client = await connect({ ...program('servers/official-v1.js'), shutdownMs: 200 })
  const pid = Number((await client.callTool('cling')).text)
  assert.ok(isAlive(pid))
  await client.close()
  assert.ok(!isAlive(pid))
})

test('rejects pending calls when it is closed', async () => {
  const client = await connect(program('servers/official-v2.js'))
  let closing
  const onProgress = () => {
    closing = client.close()
  }
  await assert.rejects(client.callTool('wait', {}, { onProgress }), (error) => error.code === 'closed')
  await closing
})

const pairs = [
  ...handshakes.map((revision) => ['official v1', revision]),
  ...revisions.map((revision) => ['official v2', revision]),
]
for (const [server, revision] of pairs) {
  describePair({ client: 'Tenon', server, connect: (target) => connectTenon(target, revision), revision })
}
