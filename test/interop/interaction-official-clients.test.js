import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { connectOfficialV1 } from './clients/official-v1.js'
import { connectOfficialV2 } from './clients/official-v2.js'
import { describeAsking, filled, nameAndColour, textOf } from './support/asking.js'
import { handshakes, program, revisions } from './support/programs.js'
import { sessions, sse, stateless, stdio } from './support/ways.js'

// The official clients answer a Tenon server whose handlers await input, on every revision that they support.

const official = {
  'official v1': { connect: connectOfficialV1, speaks: handshakes },
  'official v2': { connect: connectOfficialV2, speaks: revisions },
}

for (const [client, { connect, speaks }] of Object.entries(official)) {
  for (const revision of speaks) {
    for (const way of waysOf(revision)) {
      const connectAt = (target, answers) => connect(target, revision, answers)
      describeAsking({ client, server: 'tenon', way, revision, connect: connectAt }, testTenon)
    }
  }
}

for (const way of [stdio, sessions, stateless]) {
  const connect = (target, answers) => connectOfficialV2(target, 'auto', answers)
  const note = ' by its own negotiation'
  describeAsking({ client: 'official v2', server: 'tenon', way, connect, revision: '2026-07-28', note })
  describeByHand(way)
}

test('a Tenon server checks the formats of a form given as JSON Schema', async (t) => {
  const elicit = () => ({ action: 'accept', content: { ...filled, email: 'no address' } })
  const peer = await connectOfficialV2(program('servers/asking-tenon.js'), '2026-07-28', { elicit })
  t.after(() => peer.close())
  await assert.rejects(peer.call('raw-form', {}), { code: -32602, message: /email/ })
})

function waysOf(revision) {
  if (revision === '2026-07-28') return [stdio, sessions, stateless]
  return revision === '2025-11-25' ? [stdio, sessions, sse, stateless] : [stdio, sessions]
}

/** Tests of features that only a Tenon server has. */
function testTenon({ revision, isModern, canBeAsked, user, peer }) {
  if (!canBeAsked) return
  test('has the capabilities that the server detects', async () => {
    const forms = revision < '2025-06-18' ? [] : ['elicit']
    const [pages, tools] = revision < '2025-11-25' ? [[], []] : [['elicitUrl'], ['sampleTools']]
    const all = [...forms, ...pages, 'sample', ...tools, 'roots']
    assert.equal(await textOf(peer().call('can', {})), all.join(' '))
  })
  if (revision < '2025-06-18') return

  test('answers three times, and ctx.once runs its function once', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: {} }) })
    assert.equal(await textOf(peer().call('plan', { number: 1 })), 'planned 1')
    assert.equal(user.asked.length, 3)
  })

  test('answers a handler that returns its input requests', async () => {
    user.does({ elicit: nameAndColour })
    assert.equal(await textOf(peer().call('by-hand', { number: 2 })), '2 n2 red-n2')
    assert.equal(user.asked.length, 2)
  })

  test('fills in an invalid form, which is not passed to the handler', async () => {
    const far = { ...filled, length: 9 }
    const nowhere = { ...filled, email: 'ada' }
    const empty = { name: 'Ada' }
    const attempts = [
      ...[far, nowhere, empty].map((content) => ['form', content]),
      ...[far, empty].map((content) => ['raw-form', content]),
    ]
    for (const [tool, content] of attempts) {
      user.does({ elicit: () => ({ action: 'accept', content }) })
      // On 2026-07-28 the answers are params of the call, so invalid ones are an error of the request.
      if (isModern) {
        await assert.rejects(peer().call(tool, {}), { code: -32602, message: /inputResponses/ })
        continue
      }
      const { isError, content: said } = await peer().call(tool, {})
      assert.equal(isError, true)
      assert.match(said[0].text, /answer to elicitation\/create is invalid/)
    }
  })

  if (revision < '2025-11-25') {
    test('is shown checkboxes on revisions without multiple choice', async () => {
      user.does({
        elicit: () => ({ action: 'accept', content: { 'tools: saw': true, 'tools: file': true, size: 'l' } }),
      })
      const { content } = JSON.parse(await textOf(peer().call('choose', {})))
      assert.deepEqual(content, { tools: ['saw', 'file'], size: 'l', days: ['mon'] })
      assert.ok(Object.values(user.asked[0].requestedSchema.properties).every(({ type }) => type !== 'array'))
    })
    return
  }

  test('gets a notification when a URL elicitation is complete', async (t) => {
    if (isModern) return t.skip('2026-07-28 has no such notification')
    user.does({ elicitUrl: () => ({ action: 'accept' }) })
    const completed = once(peer().events, 'complete', { signal: AbortSignal.timeout(5000) })
    await peer().call('page', {})
    assert.deepEqual(await completed, [user.asked[0].elicitationId])
  })

  test('gets a URL to open before the call can be served', async () => {
    user.does({ elicitUrl: () => ({ action: 'accept' }) })
    const call = () => peer().call('locked', { number: 1 })
    if (!isModern) {
      await assert.rejects(call(), ({ code, elicitations: [{ mode, url, message }] }) => {
        assert.equal(code, -32042)
        const page = { mode: 'url', url: 'https://example.com/unlock/1', message: 'Unlock it there' }
        assert.deepEqual({ mode, url, message }, page)
        return true
      })
    }
    assert.equal(await textOf(call()), 'open')
    assert.equal(user.asked.length, isModern ? 1 : 0)
  })
}

/** The official v2 client leaves the round trips to the application. */
function describeByHand(way) {
  describe(`official v2 client in manual mode, Tenon server with input requests, ${way.name}`, () => {
    let started
    let client
    before(async () => {
      started = await way.start('servers/asking-tenon.js')
      const capabilities = { elicitation: { form: {} }, roots: {} }
      const versionNegotiation = { mode: { pin: '2026-07-28' } }
      const inputRequired = { autoFulfill: false }
      client = new Client({ name: 'by-hand', version: '1.0.0' }, { capabilities, versionNegotiation, inputRequired })
      const { target } = started
      await client.connect(
        target.url
          ? new StreamableHTTPClientTransport(target.url)
          : new StdioClientTransport({ ...target, stderr: 'ignore' }),
      )
    })
    after(async () => {
      await client?.close()
      await started?.stop()
    })
    const call = (params) => client.callTool(params, { allowInputRequired: true })
    const twice = { name: 'twice', arguments: { number: 3 } }

    test('receives the input requests and the state, and continues with both', async () => {
      const first = await call(twice)
      const [[nameKey, name]] = Object.entries(first.inputRequests)
      assert.equal(first.resultType, 'input_required')
      assert.equal(typeof first.requestState, 'string')
      const second = await call({
        ...twice,
        inputResponses: { [nameKey]: nameAndColour(name.params), stranger: { action: 'accept' } },
        requestState: first.requestState,
      })
      const [[colourKey, colour]] = Object.entries(second.inputRequests)
      assert.equal(colour.params.message, 'Colour of n3?')
      const inputResponses = { [colourKey]: nameAndColour(colour.params) }
      const last = { ...twice, inputResponses, requestState: second.requestState }
      assert.equal((await call(last)).content[0].text, '3 n3 red-n3')
    })

    test('is asked again for a missing answer', async () => {
      const { inputRequests, requestState } = await call({ name: 'pair' })
      const [one, two] = Object.keys(inputRequests)
      const answer = (value) => ({ action: 'accept', content: { value } })
      const next = await call({ name: 'pair', inputResponses: { [one]: answer('a') }, requestState })
      assert.deepEqual(Object.keys(next.inputRequests), [two])
      const responses = { [two]: answer('b') }
      const last = await call({ name: 'pair', inputResponses: responses, requestState: next.requestState })
      assert.equal(last.content[0].text, 'a b')
    })

    test('is rejected with a modified request state', async () => {
      const { inputRequests, requestState } = await call(twice)
      const inputResponses = { [Object.keys(inputRequests)[0]]: { action: 'accept', content: { name: 'n3' } } }
      const middle = requestState.length >> 1
      const other = requestState[middle] === 'A' ? 'B' : 'A'
      const changed = requestState.slice(0, middle) + other + requestState.slice(middle + 1)
      const attempts = [
        { ...twice, inputResponses, requestState: changed },
        { ...twice, inputResponses, requestState: requestState.slice(0, -4) },
        { ...twice, arguments: { number: 4 }, inputResponses, requestState },
        { name: 'pair', inputResponses, requestState },
      ]
      for (const attempt of attempts) await assert.rejects(call(attempt), ({ code }) => code === -32602)
    })

    test('is rejected with an invalid answer', async () => {
      const { inputRequests, requestState } = await call(twice)
      const inputResponses = { [Object.keys(inputRequests)[0]]: { action: 'perhaps' } }
      await assert.rejects(call({ ...twice, inputResponses, requestState }), ({ code }) => code === -32602)
    })
  })
}
