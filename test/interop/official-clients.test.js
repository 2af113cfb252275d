import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectOfficialV1 } from './clients/official-v1.js'
import { connectOfficialV2 } from './clients/official-v2.js'
import { describePair } from './support/features.js'
import { handshakes, isAlive, program, revisions } from './support/programs.js'

// The official clients against a Tenon server, on every revision that they support.

for (const revision of handshakes) {
  const connect = (target) => connectOfficialV1(target, revision)
  describePair({ client: 'official v1', server: 'tenon', connect, revision })
}

for (const revision of revisions) {
  const connect = (target) => connectOfficialV2(target, revision)
  describePair({ client: 'official v2', server: 'tenon', connect, revision })
}

const connectAuto = (target) => connectOfficialV2(target, 'auto')
describePair({
  client: 'official v2',
  server: 'tenon',
  connect: connectAuto,
  revision: '2026-07-28',
  note: ' by its own negotiation',
})

test('the official v2 client falls back to a Tenon server without 2026-07-28', async () => {
  const peer = await connectOfficialV2(program('servers/tenon.js', '2025-06-18', '2024-11-05'), 'auto')
  assert.equal(peer.revision, '2025-06-18')
  await peer.close()
})

test('the official v1 client accepts an earlier revision than it requested', async () => {
  const peer = await connectOfficialV1(program('servers/tenon.js', '2025-03-26'))
  assert.equal(peer.revision, '2025-03-26')
  await peer.close()
})

test('official clients report a Tenon server that supports only 2026-07-28', async () => {
  const modern = program('servers/tenon.js', '2026-07-28')
  await assert.rejects(connectOfficialV1(modern), /2026-07-28/)
  await assert.rejects(connectOfficialV2(modern, '2025-11-25'), /2026-07-28/)
})

test('a Tenon server exits when the client closes its stdin', async () => {
  const peer = await connectOfficialV1(program('servers/tenon.js'))
  const { content } = await peer.call('pid', {})
  const started = Date.now()
  await peer.close()
  assert.ok(!isAlive(Number(content[0].text)))
  // The official client would send SIGTERM after two seconds.
  assert.ok(Date.now() - started < 2000)
})

// The official clients process notifications one turn later than responses, and lose progress that arrives in the same
// chunk as the response. Tenon therefore sends progress one turn before the response. A client that was busy
// meanwhile may still receive both in one chunk.
test('official clients receive the progress that a tool reports just before its result', async () => {
  const peer = await connectOfficialV1(program('servers/tenon.js'))
  let heard = 0
  for (let call = 0; call < 20; call++) {
    await peer.call('work', { steps: 1, patient: false }, { onProgress: () => heard++ })
  }
  await peer.close()
  assert.ok(heard > 10, `heard ${heard} of 20`)
})
