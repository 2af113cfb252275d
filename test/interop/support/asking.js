import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { choices, form, page, poem } from '../servers/questions.js'

/** Differences between servers that send input requests; stepsDown as in features.js. */
const servers = {
  tenon: { file: 'servers/asking-tenon.js', stepsDown: true },
  'official v2': { file: 'servers/asking-official-v2.js', stepsDown: false },
}

/** Answers of a user. Fields with a default are left out. */
export const filled = {
  name: 'Ada',
  email: 'ada@example.com',
  site: 'https://example.com/ada',
  day: '2026-07-28',
  at: '2026-07-28T12:00:00Z',
  length: 2.5,
  finish: 'wax',
}

/** The same answers with the defaults of the form. */
export const ordered = { ...filled, planks: 4, gift: false, wood: 'oak', note: 'none' }

const home = { uri: 'file:///home/ada', name: 'Ada' }

/**
 * Tests every kind of input request of one server to one client, on one revision.
 *
 * @param pair `client` and `server` by name, `connect(target, answers)`, the expected `revision`, and the `way` between
 *   them (ways.js).
 * @param more Tests for this pair only; gets the same context as the others.
 */
export function describeAsking({ client, server: serverName, connect, revision, way, note = '' }, more) {
  const server = servers[serverName]
  describe(`${client} client, ${serverName} server with input requests, ${way.name}, ${revision}${note}`, () => {
    const user = createUser()
    let started
    let peer
    before(async () => {
      started = await way.start(server.file)
      peer = await connect(started.target, user.answers)
    })
    after(async () => {
      await peer?.close()
      await started?.stop()
    })
    beforeEach(() => user.forget())

    const isModern = revision >= '2026-07-28'
    // Before 2026-07-28 a server cannot send requests to a client without a session.
    const canBeAsked = way.hasSessions || isModern
    const context = {
      revision,
      server,
      isModern,
      canBeAsked,
      user,
      peer: () => peer,
      target: () => started.target,
      connect,
    }
    test('negotiates the revision', () => assert.equal(peer.revision, revision))
    testMissing(context)
    if (canBeAsked) testAll(context)
    else testNoSession(context)
    more?.(context)
  })
}

function testAll(context) {
  const { revision } = context
  testModels(context)
  testRoots(context)
  if (revision < '2025-06-18') return
  testForms(context)
  testSequences(context)
  testEnds(context)
  if (revision < '2025-11-25') return
  testNewerQuestions(context)
}

/** A user whose answers are set by each test, and who records the requests. */
function createUser() {
  const ways = {}
  const asked = []
  const via = (kind) => (question, asking) => {
    asked.push(question)
    if (!ways[kind]) throw new Error(`Nobody expected to be asked: ${JSON.stringify(question)}`)
    return ways[kind](question, asking)
  }
  return {
    asked,
    answers: {
      elicit: via('elicit'),
      elicitUrl: via('elicitUrl'),
      sample: via('sample'),
      roots: () => [home],
    },
    /** Sets the answers; kinds that are not named are not expected. */
    does: (how) => Object.assign(ways, how),
    forget: () => {
      asked.length = 0
      for (const kind of Object.keys(ways)) delete ways[kind]
    },
  }
}

function testModels({ user, peer }) {
  test('answers a sampling request with all its options', async () => {
    user.does({ sample: () => said('Grain runs deep', 'm-1') })
    assert.equal(await textOf(peer().call('poem', { about: 'oak' })), 'm-1: Grain runs deep')
    const [{ _meta, ...params }] = user.asked
    assert.deepEqual(params, poem('oak'))
  })
}

function testRoots({ isModern, user, peer }) {
  test('lists its roots, and the new ones after a change', async () => {
    assert.deepEqual(JSON.parse(await textOf(peer().call('roots', {}))), [home])
    const next = [{ uri: 'file:///srv/wood', name: 'Wood' }, { uri: 'file:///tmp' }]
    await peer().setRoots(next)
    // Over HTTP a call may overtake the notification; servers that cache roots then still have the old ones.
    const inVain = AbortSignal.timeout(5000)
    let listed
    do listed = JSON.parse(await textOf(peer().call('roots', {})))
    while (!isModern && !inVain.aborted && listed[0].uri === home.uri)
    assert.deepEqual(listed, next)
    assert.equal(user.asked.length, 0)
  })
}

function testForms({ revision, server, user, peer }) {
  test('shows a form with every type of field, and the server gets the answers with defaults', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: { ...filled } }) })
    const answer = JSON.parse(await textOf(peer().call('form', {})))
    assert.deepEqual(answer, { action: 'accept', content: ordered })
    const [{ message, requestedSchema }] = user.asked
    assert.equal(message, 'Your order')
    assert.deepEqual(requestedSchema, server.stepsDown && revision < '2025-11-25' ? olderForm() : form)
  })

  test('changes fields that have a default', async () => {
    const content = { ...filled, planks: 20, gift: true, wood: 'pine', note: '' }
    user.does({ elicit: () => ({ action: 'accept', content }) })
    assert.deepEqual(JSON.parse(await textOf(peer().call('form', {}))), { action: 'accept', content })
  })

  for (const action of ['decline', 'cancel']) {
    test(`can ${action}`, async () => {
      user.does({ elicit: () => ({ action }) })
      assert.deepEqual(JSON.parse(await textOf(peer().call('form', {}))), { action })
    })
  }

  test('accepts a form without fields', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: {} }) })
    assert.equal(await textOf(peer().call('agree', {})), 'accept')
    assert.deepEqual(user.asked[0].requestedSchema, { type: 'object', properties: {} })
  })

  test('answers input requests of a prompt and of a resource', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: { name: 'Ada' } }) })
    const { messages } = await peer().prompt('greeting')
    assert.equal(messages[0].content.text, 'Hello, Ada!')
    assert.equal((await peer().read('badge://mine')).contents[0].text, 'Ada')
    user.does({ elicit: () => ({ action: 'decline' }) })
    assert.equal((await peer().prompt('greeting')).messages[0].content.text, 'Hello, nobody!')
    assert.equal((await peer().read('badge://mine')).contents[0].text, 'nobody')
  })
}

function testSequences({ user, peer }) {
  test('answers two requests, the second based on the first answer', async () => {
    user.does({ elicit: nameAndColour })
    assert.equal(await textOf(peer().call('twice', { number: 7 })), '7 n7 red-n7')
    assert.deepEqual(
      user.asked.map(({ message }) => message),
      ['Name of 7?', 'Colour of n7?'],
    )
  })

  test('declines the second request', async () => {
    user.does({
      elicit: (form) => (form.message.startsWith('Name') ? nameAndColour(form) : { action: 'decline' }),
    })
    assert.equal(await textOf(peer().call('twice', { number: 7 })), 'decline')
  })

  test('answers requests of many concurrent calls without mixing them up', async () => {
    user.does({ elicit: nameAndColour })
    const numbers = Array.from({ length: 10 }, (_, index) => index)
    const texts = await Promise.all(numbers.map((number) => textOf(peer().call('twice', { number }))))
    assert.deepEqual(
      texts,
      numbers.map((n) => `${n} n${n} red-n${n}`),
    )
  })

  test('answers two requests at the same time', async () => {
    const both = meeting(2)
    const values = { 'One?': 'first', 'Two?': 'second' }
    user.does({
      elicit: async ({ message }) => {
        await both()
        return { action: 'accept', content: { value: values[message] } }
      },
    })
    assert.equal(await textOf(peer().call('pair', {})), 'first second')
    user.does({ elicit: ({ message }) => ({ action: message === 'One?' ? 'decline' : 'cancel' }) })
    assert.equal(await textOf(peer().call('pair', {})), 'decline cancel')
  })
}

function testEnds({ isModern, user, peer }) {
  test('aborts the prompt of the user when the call is cancelled', async () => {
    const stop = new AbortController()
    const takenBack = new Promise((resolve, reject) => {
      user.does({
        elicit: (_form, { signal }) =>
          new Promise((answer) => {
            signal.addEventListener('abort', () => {
              resolve()
              answer({ action: 'cancel' })
            })
            stop.abort()
          }),
      })
      AbortSignal.timeout(5000).addEventListener('abort', () => reject(new Error('The user is still asked')))
    })
    const call = peer().call('form', {}, { signal: stop.signal })
    await assert.rejects(call, (error) => peer().isCancelled(error))
    await takenBack
    user.does({ elicit: nameAndColour })
    assert.equal(await textOf(peer().call('twice', { number: 1 })), '1 n1 red-n1')
  })

  test('reports that it cannot answer', async () => {
    user.does({
      elicit: () => {
        throw new Error('The screen is broken')
      },
    })
    const call = peer().call('form', {})
    if (isModern) await assert.rejects(call, /The screen is broken/)
    else assert.equal((await call).isError, true)
  })

  test('limits the number of input requests of a call', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: { value: 'yes' } }) })
    const hasFailed = await peer()
      .call('forever', {})
      .then(
        ({ isError }) => isError,
        () => true,
      )
    assert.equal(hasFailed, true)
    assert.ok(user.asked.length >= 8 && user.asked.length <= 33, `asked ${user.asked.length} times`)
  })
}

/** Tests features added in 2025-11-25. */
function testNewerQuestions({ isModern, user, peer }) {
  test('selects several options of a list', async () => {
    user.does({ elicit: () => ({ action: 'accept', content: { tools: ['saw', 'file'], size: 'l' } }) })
    const content = { tools: ['saw', 'file'], size: 'l', days: ['mon'] }
    assert.deepEqual(JSON.parse(await textOf(peer().call('choose', {}))), { action: 'accept', content })
    assert.deepEqual(user.asked[0].requestedSchema, choices)
  })

  test('accepts, declines and cancels a URL elicitation', async () => {
    for (const action of ['accept', 'decline', 'cancel']) {
      user.does({ elicitUrl: () => ({ action }) })
      assert.equal(await textOf(peer().call('page', {})), action)
    }
    const [{ message, url, elicitationId }] = user.asked
    assert.deepEqual({ message, url: String(url) }, page)
    assert.equal(typeof elicitationId, isModern ? 'undefined' : 'string')
  })

  test('answers a sampling request with a tool call, then with the result of the tool', async () => {
    const use = { type: 'tool_use', id: 'use-1', name: 'measure', input: {} }
    user.does({
      sample: ({ messages }) => {
        if (messages.length === 1) {
          return { role: 'assistant', model: 'm-1', content: [use], stopReason: 'toolUse' }
        }
        const [result] = [messages[2].content].flat()
        return said(`It is ${result.content[0].text} (${result.toolUseId})`)
      },
    })
    assert.equal(await textOf(peer().call('measure', {})), 'It is 3 m (use-1)')
    assert.equal(user.asked[0].tools[0].name, 'measure')
    assert.deepEqual(user.asked[0].toolChoice, { mode: 'auto' })
  })

  test('answers a form, a URL, a sampling and a roots request at the same time', async () => {
    const all = meeting(3)
    const then = (answer) => async () => {
      await all()
      return answer
    }
    await peer().setRoots([home])
    user.does({
      elicit: then({ action: 'accept', content: { value: 'yes' } }),
      elicitUrl: then({ action: 'accept' }),
      sample: then(said('Rings')),
    })
    assert.match(await textOf(peer().call('all', {})), /^yes accept Rings file:/)
  })
}

/** Tests a client without capabilities. */
function testMissing({ isModern, peer, target, connect }) {
  test('gets no requests for capabilities that it did not declare', async (t) => {
    const mute = await connect(target(), {})
    t.after(() => mute.close())
    for (const tool of ['form', 'page', 'poem', 'roots']) {
      const call = mute.call(tool, { about: 'oak' })
      if (isModern) await assert.rejects(call, (error) => peer().rpcCode(error) === -32021)
      else assert.equal((await call).isError, true)
    }
  })
}

function testNoSession({ peer }) {
  test('gets an error for input requests without a session', async () => {
    for (const tool of ['form', 'poem', 'roots']) {
      const { isError, content } = await peer().call(tool, { about: 'oak' })
      assert.equal(isError, true)
      assert.match(content[0].text, /session|capabilit/)
    }
  })
}

/** The form as in 2025-06-18: titles in a separate list, and defaults for booleans only. */
function olderForm() {
  const { default: _planks, ...planks } = form.properties.planks
  const { default: _wood, ...wood } = form.properties.wood
  const { default: _note, ...note } = form.properties.note
  const { oneOf, ...finish } = form.properties.finish
  const names = { enum: oneOf.map((option) => option.const), enumNames: oneOf.map(({ title }) => title) }
  return { ...form, properties: { ...form.properties, planks, wood, note, finish: { ...finish, ...names } } }
}

/** Answers "Name of 7?" with n7 and "Colour of n7?" with red-n7. */
export function nameAndColour({ message }) {
  const [, what, of] = /^(\w+) of (\w+)\?$/.exec(message)
  return { action: 'accept', content: what === 'Name' ? { name: `n${of}` } : { colour: `red-${of}` } }
}

/** Holds all callers until the given number has arrived. */
function meeting(size) {
  let goOn
  const complete = new Promise((resolve) => {
    goOn = resolve
  })
  let count = 0
  return () => {
    if (++count >= size) goOn()
    return complete
  }
}

export function said(text, model = 'm-1') {
  return { role: 'assistant', model, content: { type: 'text', text } }
}

export async function textOf(call) {
  const { content, isError } = await call
  assert.ok(!isError, content[0]?.text)
  return content[0].text
}
