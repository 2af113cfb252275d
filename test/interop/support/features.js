import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { post } from './http.js'
import { isAlive } from './programs.js'
import { sse, stdio } from './ways.js'

/**
 * Differences between servers, each allowed by the specification of its time.
 *
 * - unknownTool, badArguments: a JSON-RPC error, or a result with `isError`.
 * - stepsDown: whether a client of an earlier revision gets only what its revision defines.
 */
export const servers = {
  tenon: {
    file: 'servers/tenon.js',
    pages: 'servers/tenon-pages.js',
    unknownTool: () => 'error',
    badArguments: (revision) => (revision < '2025-11-25' ? 'error' : 'result'),
    notFound: (revision) => (revision < '2026-07-28' ? -32002 : -32602),
    stepsDown: true,
  },
  'official v1': {
    file: 'servers/official-v1.js',
    pages: 'servers/official-v1-pages.js',
    unknownTool: () => 'result',
    badArguments: () => 'result',
    notFound: () => -32602,
    stepsDown: false,
  },
  'official v2': {
    file: 'servers/official-v2.js',
    pages: 'servers/official-v2-pages.js',
    unknownTool: () => 'error',
    badArguments: () => 'result',
    notFound: () => -32602,
    stepsDown: false,
  },
}

/**
 * Tests one client against one server on one revision, with every feature of both.
 *
 * @param pair `client` and `server` by name, `connect(target)`, the expected `revision`, and the `way` between them
 *   (ways.js).
 */
export function describePair({ client, server: serverName, connect, revision, way = stdio, note = '' }) {
  const server = servers[serverName]
  describe(`${client} client, ${serverName} server, ${way.name}, ${revision}${note}`, () => {
    let started
    let peer
    before(async () => {
      started = await way.start(server.file)
      peer = await connect(started.target)
    })
    after(async () => {
      await peer?.close()
      await started?.stop()
    })

    const forgets = !way.hasSessions && revision < '2026-07-28' && 'without a session nothing is remembered'
    const context = { revision, server, way, forgets, peer: () => peer, target: () => started.target }
    testOpening(context)
    testTools(context)
    testLongCalls(context)
    testResources(context)
    testPrompts(context)
    testNotifications(context)
    testPages(connect, context)
    testEnd(context)
  })
}

function testOpening({ revision, peer }) {
  test('negotiates the revision and gets the server info', () => {
    const { info, capabilities, instructions } = peer()
    assert.equal(peer().revision, revision)
    assert.equal(info.name, 'workshop')
    assert.equal(info.version, '1.2.3')
    assert.equal(instructions, 'A workshop with a bit of everything.')
    assert.equal(capabilities.tools.listChanged, true)
    assert.equal(capabilities.prompts.listChanged, true)
    assert.deepEqual(capabilities.resources, { subscribe: true, listChanged: true })
    assert.deepEqual(capabilities.logging, {})
  })

  test('answers a ping', async () => {
    await peer().ping()
  })
}

function testTools({ revision, server, peer }) {
  const hasStructure = !server.stepsDown || revision >= '2025-06-18'

  test('lists tools with their schemas', async () => {
    const tools = await peer().tools()
    const add = tools.find(({ name }) => name === 'add')
    assert.ok(tools.length >= 10)
    assert.deepEqual(Object.keys(add.inputSchema.properties), ['a', 'b'])
    assert.deepEqual(add.inputSchema.required, ['a', 'b'])
    assert.equal(add.outputSchema?.properties.result.type, hasStructure ? 'number' : undefined)
  })

  test('calls a tool that returns text', async () => {
    const { content, isError } = await peer().call('greet', { name: 'Ada' })
    assert.deepEqual(content, [{ type: 'text', text: 'Hello, Ada!' }])
    assert.ok(!isError)
  })

  test('calls a tool that returns structured content', async () => {
    const { content, structuredContent } = await peer().call('add', { a: 19, b: 23 })
    assert.deepEqual(content, [{ type: 'text', text: '{"result":42}' }])
    assert.deepEqual(structuredContent, hasStructure ? { result: 42 } : undefined)
  })

  test('gets the error message of a failed tool', async () => {
    const { content, isError } = await peer().call('fail', {})
    assert.equal(isError, true)
    assert.deepEqual(content, [{ type: 'text', text: 'The saw is blunt' }])
  })

  test('gets an error for an unknown tool', async () => {
    await assertFails(peer(), server.unknownTool(revision), peer().call('nothing', {}), /nothing/)
  })

  test('gets an error for invalid arguments', async () => {
    await assertFails(
      peer(),
      server.badArguments(revision),
      peer().call('add', { a: 1, b: 'two' }),
      /\bb\b.*number|number.*\bb\b/,
    )
  })

  test('receives every type of content of its revision', async () => {
    const { content } = await peer().call('show', {})
    const audio = server.stepsDown && revision < '2025-03-26' ? 'text' : 'audio'
    const link = server.stepsDown && revision < '2025-06-18' ? 'text' : 'resource_link'
    assert.deepEqual(
      content.map(({ type }) => type),
      ['text', 'image', 'resource', audio, link],
    )
    assert.equal(content[2].resource.text, 'A workshop')
  })

  test('sends and receives a long text with all kinds of characters', async () => {
    const name = 'Zoë 木 \u{1fa9a} "\\\n\u2028 '.repeat(50_000)
    const { content } = await peer().call('greet', { name })
    assert.ok(content[0].text === `Hello, ${name}!`)
  })

  test('runs many calls at once, each with its own response', async () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index)
    const results = await Promise.all(numbers.map((n) => peer().call('add', { a: n, b: n })))
    assert.deepEqual(
      results.map(({ content }) => JSON.parse(content[0].text).result),
      numbers.map((n) => n + n),
    )
  })
}

function testLongCalls({ revision, server, way, forgets, peer }) {
  test('receives progress of a call', async () => {
    const heard = []
    const onProgress = (progress) => {
      heard.push(progress)
      peer().call('go', {})
    }
    const { content } = await peer().call('work', { steps: 3, patient: true }, { onProgress })
    assert.equal(content[0].text, '3 steps')
    const hasMessage = !server.stepsDown || revision >= '2025-03-26'
    assert.deepEqual(
      heard,
      [1, 2, 3].map((step) => ({ progress: step, total: 3, ...(hasMessage && { message: `step ${step}` }) })),
    )
  })

  test('cancels a call, and the server stops working on it', { skip: forgets }, async () => {
    const before = await stopped(peer())
    const stop = new AbortController()
    const call = peer().call('wait', {}, { signal: stop.signal, onProgress: () => stop.abort() })
    await assert.rejects(call, (error) => peer().isCancelled(error))
    // Over HTTP one request may overtake another.
    const inVain = AbortSignal.timeout(5000)
    while (!way.isOrdered && !inVain.aborted && (await stopped(peer())) === before);
    assert.equal(await stopped(peer()), before + 1)
  })
}

function testResources({ revision, server, forgets, peer }) {
  test('lists resources, including those of templates', async () => {
    const resources = await peer().resources()
    assert.deepEqual(resources.map(({ uri }) => uri).slice(0, 6), [
      'shop://about',
      'shop://picture',
      ...['oak', 'ash', 'pine', 'fir'].map((wood) => `shop://plank/${wood}`),
    ])
    assert.equal(resources[0].mimeType, 'text/plain')
  })

  test('lists resource templates', async () => {
    const templates = await peer().templates()
    assert.deepEqual(
      templates.map(({ name, uriTemplate }) => [name, uriTemplate]),
      [['plank', 'shop://plank/{wood}']],
    )
  })

  test('reads text, binary data and resources of a template', async () => {
    const about = await peer().read('shop://about')
    assert.deepEqual(about.contents, [{ uri: 'shop://about', mimeType: 'text/plain', text: 'A workshop' }])
    const picture = await peer().read('shop://picture')
    assert.match(Buffer.from(picture.contents[0].blob, 'base64').toString('latin1'), /PNG/)
    const plank = await peer().read('shop://plank/oak')
    assert.deepEqual(plank.contents, [{ uri: 'shop://plank/oak', text: 'A plank of oak' }])
  })

  test('gets an error for an unknown resource', async () => {
    const code = peer().notFoundCode ?? server.notFound(revision)
    await assert.rejects(peer().read('shop://nothing'), (error) => peer().rpcCode(error) === code)
  })

  test('receives updates of a resource while it is subscribed', { skip: forgets }, async () => {
    const heard = []
    const listener = (uri) => heard.push(uri)
    peer().events.on('updated', listener)
    await peer().call('touch', { uri: 'shop://about' })
    await peer().subscribe('shop://about')
    const update = next(peer(), 'updated')
    await peer().call('touch', { uri: 'shop://picture' })
    await peer().call('touch', { uri: 'shop://about' })
    await update
    await peer().unsubscribe('shop://about')
    await peer().call('touch', { uri: 'shop://about' })
    // When this update arrives, everything sent before has arrived too.
    await peer().subscribe('shop://plank/oak')
    const last = next(peer(), 'updated')
    await peer().call('touch', { uri: 'shop://plank/oak' })
    await last
    await peer().unsubscribe('shop://plank/oak')
    assert.deepEqual(heard, ['shop://about', 'shop://plank/oak'])
    peer().events.off('updated', listener)
  })
}

function testPrompts({ revision, peer }) {
  test('lists prompts with their arguments', async () => {
    const [plan] = await peer().prompts()
    assert.equal(plan.name, 'plan')
    assert.deepEqual(
      plan.arguments.map(({ name, required }) => [name, required]),
      [
        ['kind', true],
        ['wood', true],
        ['length', false],
      ],
    )
    assert.equal(plan.arguments[0].description, 'hard or soft')
  })

  test('gets a prompt', async () => {
    const { messages } = await peer().prompt('plan', { kind: 'hard', wood: 'oak' })
    assert.deepEqual(messages, [
      { role: 'user', content: { type: 'text', text: 'Plan something: hard oak, any length' } },
      { role: 'assistant', content: { type: 'text', text: 'A stool.' } },
    ])
  })

  test('gets an error for an unknown prompt or a missing argument', async () => {
    const isInvalidParams = (error) => peer().rpcCode(error) === -32602
    await assert.rejects(peer().prompt('nothing', {}), isInvalidParams)
    await assert.rejects(peer().prompt('plan', { kind: 'hard' }), isInvalidParams)
  })

  test('completes arguments of prompts and variables of templates', async () => {
    const kind = await peer().complete({
      ref: { type: 'ref/prompt', name: 'plan' },
      argument: { name: 'kind', value: 'h' },
    })
    assert.deepEqual(kind.values, ['hard'])
    const wood = await peer().complete({
      ref: { type: 'ref/resource', uri: 'shop://plank/{wood}' },
      argument: { name: 'wood', value: 'a' },
    })
    assert.deepEqual(wood.values, ['ash'])
  })

  // Arguments that are already set were added to completion requests in 2025-06-18.
  const skip = revision < '2025-06-18' && `${revision} has no completion context`
  test('completes based on other arguments', { skip }, async () => {
    const { values } = await peer().complete({
      ref: { type: 'ref/prompt', name: 'plan' },
      argument: { name: 'wood', value: '' },
      context: { arguments: { kind: 'soft' } },
    })
    assert.deepEqual(values, ['pine', 'fir'])
  })
}

function testNotifications({ revision, forgets, peer }) {
  test('receives log messages from the requested level', { skip: forgets }, async () => {
    await peer().setLogLevel('warning')
    assert.deepEqual(await chatter(peer()), [
      { level: 'warning', data: { said: 'warning' } },
      { level: 'error', data: { said: 'error' } },
    ])
    await peer().setLogLevel('debug')
    const heard = await chatter(peer())
    assert.deepEqual(
      heard.map(({ level }) => level),
      ['debug', 'warning', 'error'],
    )
  })

  test('receives list changes and finds the new items', { skip: forgets }, async () => {
    const honoured = await peer().hearChanges()
    // Only 2026-07-28 has a subscription and an acknowledgement for this.
    if (revision === '2026-07-28') {
      const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      assert.deepEqual(honoured, all)
    }
    for (const [what, list] of [
      ['tool', 'tools'],
      ['prompt', 'prompts'],
      ['resource', 'resources'],
    ]) {
      const change = next(peer(), list)
      await peer().call('grow', { what })
      await change
      assert.ok((await peer()[list]()).some(({ name }) => name === 'late'))
    }
  })
}

function testPages(connect, { revision, server, way }) {
  describe('with a paginated list', () => {
    let started
    let peer
    before(async () => {
      started = await way.start(server.pages)
      peer = await connect(started.target)
    })
    after(async () => {
      await peer?.close()
      await started?.stop()
    })

    test('reads the pages one by one or all at once', async () => {
      const sizes = []
      let cursor
      do {
        const page = await peer.pageOfTools(cursor)
        sizes.push(page.tools.length)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      assert.deepEqual(sizes, [2, 2, 1])
      const names = (await peer.tools()).map(({ name }) => name)
      assert.deepEqual(names, ['one', 'two', 'three', 'four', 'liar'])
    })

    const skip = server.stepsDown && revision < '2025-06-18' && `${revision} has no output schemas`
    test('rejects structured content that violates the schema', { skip }, async () => {
      await peer.tools()
      await assert.rejects(peer.call('liar', {}), (error) => peer.isBadOutput(error))
    })
  })
}

function testEnd({ revision, way, peer, target }) {
  if (way === stdio) {
    test('leaves no process behind', async () => {
      const pid = Number(await textOf(peer().call('pid', {})))
      assert.ok(isAlive(pid))
      await peer().close()
      assert.ok(!isAlive(pid))
    })
    return
  }
  // 2024-11-05 ends a session with its stream; its id is in a URL that only the transport knows.
  const skip = way === sse && 'the old transport shows no session'
  test('leaves no session behind', { skip }, async () => {
    const id = peer().sessionId()
    assert.equal(id !== undefined, way.hasSessions && revision < '2026-07-28')
    await peer().close()
    if (id === undefined) return
    const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision }
    const { status } = await post(target().url, { id: 1, method: 'ping' }, headers)
    assert.equal(status, 404)
  })
}

async function assertFails(peer, how, call, words) {
  if (how === 'error') {
    await assert.rejects(call, (error) => peer.rpcCode(error) === -32602 && words.test(error.message))
    return
  }
  const { isError, content } = await call
  assert.equal(isError, true)
  assert.match(content[0].text, words)
}

/** Waits for the next event of a kind; a test that waits in vain fails with its name. */
function next(peer, event) {
  return once(peer.events, event, { signal: AbortSignal.timeout(5000) })
}

/** Returns all log messages of a call of the logging tool. The last one is an error, which passes every level. */
async function chatter(peer) {
  const heard = []
  const last = new Promise((resolve) => {
    peer.events.on('log', (entry) => {
      heard.push(entry)
      if (entry.level === 'error') resolve()
    })
  })
  await Promise.all([last, peer.call('chatter', {})])
  peer.events.removeAllListeners('log')
  return heard
}

async function stopped(peer) {
  return Number(await textOf(peer.call('stopped', {})))
}

async function textOf(call) {
  return (await call).content[0].text
}
