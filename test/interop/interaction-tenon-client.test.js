import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connectTenon } from './clients/tenon.js'
import { page, poem } from './servers/questions.js'
import { describeAsking, filled, nameAndColour, ordered, said, textOf } from './support/asking.js'
import { sessions, stateless, stdio } from './support/ways.js'

// The Tenon client answers an official v2 server: its input_required results, and server requests before 2026-07-28.

for (const revision of ['2025-06-18', '2025-11-25', '2026-07-28']) {
  for (const way of [stdio, sessions, stateless]) {
    const connect = (target, answers) => connectTenon(target, revision, answers)
    describeAsking({ client: 'Tenon', server: 'official v2', way, revision, connect }, testOfficial)
  }
}

for (const way of [stdio, sessions, stateless]) {
  const connect = (target, answers) => connectTenon(target, undefined, answers)
  const note = ' by its own negotiation'
  describeAsking({ client: 'Tenon', server: 'official v2', way, connect, revision: '2026-07-28', note })
}

function testOfficial(context) {
  if (!context.canBeAsked) return
  if (context.isModern) testStates(context)
  else testPushed(context)
}

/** Tests requests sent by the server. */
function testPushed({ revision, user, peer }) {
  test('answers requests for a form, a model and roots', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: { ...filled } }), sample: () => said('Rings') })
    const answer = JSON.parse(await textOf(peer().call('push-form', {})))
    assert.deepEqual(answer, { action: 'accept', content: ordered })
    assert.equal(await textOf(peer().call('push-poem', {})), 'Rings')
    assert.deepEqual(user.asked[1].messages, poem('wood').messages)
    assert.match(await textOf(peer().call('push-roots', {})), /file:/)
  })
  if (revision < '2025-11-25') return

  test('answers a URL elicitation and gets a notification when it is complete', async () => {
    user.does({ elicitUrl: () => ({ action: 'accept' }) })
    const completed = once(peer().events, 'complete', { signal: AbortSignal.timeout(5000) })
    assert.equal(await textOf(peer().call('push-page', {})), 'accept')
    assert.deepEqual(await completed, ['bill-7'])
    assert.equal(user.asked[0].elicitationId, 'bill-7')
  })

  test('gets an error with a URL to open before the call can be served', async () => {
    await assert.rejects(peer().call('locked', {}), ({ code, rpcCode, data }) => {
      assert.deepEqual([code, rpcCode], ['peer', -32042])
      assert.deepEqual(data.elicitations, [{ mode: 'url', elicitationId: 'bill-8', ...page }])
      return true
    })
  })
}

/** Tests the state that the server signs, which the client passes on unread. */
function testStates({ user, peer }) {
  test('calls again later when the server requests no input', async () => {
    assert.equal(await textOf(peer().call('later', {})), 'ready')
    assert.equal(user.asked.length, 0)
  })

  test('is rejected with a modified request state', async () => {
    user.does({ elicit: nameAndColour })
    const answer = { action: 'accept', content: { name: 'n1' } }
    const params = { name: 'twice', arguments: { number: 1 }, inputResponses: { answer }, requestState: 'v1.e30.AAAA' }
    await assert.rejects(peer().request('tools/call', params), ({ rpcCode }) => rpcCode === -32602)
  })
}
