import assert from 'node:assert/strict'
import { on, once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { connect, StdioClientTransport } from 'tenon/client'
import { connectTenon } from './clients/tenon.js'
import { startServer } from './support/http.js'
import { handshakes, isAlive, program } from './support/programs.js'

// The official server that exercises every feature. It is built with the official v1 package.

const file = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'
const everything = program(file, 'stdio')

/** By the command line argument of the server; over HTTP, with the path that it serves. */
const ways = { stdio: undefined, streamableHttp: '/mcp', sse: '/sse' }

test('Tenon detects that server-everything supports at most 2025-11-25', async (t) => {
  const client = await connect(everything)
  t.after(() => client.close())
  assert.equal(client.revision, '2025-11-25')
  assert.equal(client.server.info.name, 'mcp-servers/everything')
  assert.ok(client.getInstructions().length > 100)
})

test('Tenon stops server-everything even while its timers run', async () => {
  const transport = new StdioClientTransport({ ...everything, shutdownMs: 300 })
  const client = await connect(transport)
  await client.callTool('toggle-simulated-logging')
  const { pid } = transport
  assert.ok(isAlive(pid))
  await client.close()
  assert.ok(!isAlive(pid))
})

for (const [way, path] of Object.entries(ways).filter(([, path]) => path)) {
  test(`connect(url) detects server-everything over ${way}`, async (t) => {
    const server = await startServer(file, way)
    t.after(server.stop)
    const client = await connect(new URL(path, server.origin))
    assert.equal(client.revision, '2025-11-25')
    assert.equal((await client.callTool('echo', { message: 'hi' })).text, 'Echo: hi')
    await client.close()
  })
}

for (const way of Object.keys(ways)) {
  for (const revision of handshakes) {
    describe(`Tenon client, server-everything, ${way}, ${revision}`, () => {
      let started
      let peer
      before(async () => {
        started = await start(way)
        peer = await connectTenon(started.target, revision)
      })
      after(async () => {
        await peer?.close()
        await started?.stop()
      })
      testTools(() => peer, revision)
      testResourcesAndPrompts(() => peer, revision)
      testNotifications(() => peer)
    })
  }
}

async function start(way) {
  if (way === 'stdio') return { target: everything, stop: async () => {} }
  const { origin, stop } = await startServer(file, way)
  return { target: { url: new URL(ways[way], origin), isSse: way === 'sse' }, stop }
}

function testTools(peer, revision) {
  test('negotiates the revision', async () => {
    assert.equal(peer().revision, revision)
    await peer().ping()
  })

  test('lists tools and calls one', async () => {
    const names = (await peer().tools()).map(({ name }) => name)
    assert.ok(names.includes('echo') && names.includes('get-structured-content'))
    assert.equal((await peer().call('echo', { message: 'hi' })).text, 'Echo: hi')
    assert.match((await peer().call('get-sum', { a: 19, b: 23 })).text, /42/)
  })

  test('receives structured content that matches its schema', async () => {
    const { structuredContent } = await peer().call('get-structured-content', { location: 'Chicago' })
    assert.deepEqual(structuredContent, { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 })
  })

  test('receives images, links, embedded resources and annotations', async () => {
    const image = await peer().call('get-tiny-image', {})
    assert.ok(image.content.some(({ type, mimeType }) => type === 'image' && mimeType === 'image/png'))
    const links = await peer().call('get-resource-links', { count: 2 })
    assert.equal(links.content.filter(({ type }) => type === 'resource_link').length, 2)
    const reference = await peer().call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })
    assert.ok(reference.content.some(({ type }) => type === 'resource'))
    const annotated = await peer().call('get-annotated-message', { messageType: 'error', includeImage: false })
    assert.equal(annotated.content[0].annotations.priority, 1)
  })

  test('gets errors for unknown tools and invalid arguments', async () => {
    assert.equal((await peer().call('nothing', {})).isError, true)
    assert.equal((await peer().call('get-sum', { a: 'one', b: 2 })).isError, true)
  })

  test('receives progress of a long operation', async () => {
    const heard = []
    const onProgress = (progress) => heard.push(progress)
    await peer().call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, { onProgress })
    assert.deepEqual(
      heard,
      [1, 2, 3].map((progress) => ({ progress, total: 3 })),
    )
  })

  test('cancels a long operation and continues with others', async () => {
    const stop = new AbortController()
    const call = peer().call(
      'trigger-long-running-operation',
      { duration: 1, steps: 20 },
      { signal: stop.signal, onProgress: () => stop.abort() },
    )
    await assert.rejects(call, (error) => peer().isCancelled(error))
    assert.equal((await peer().call('echo', { message: 'still here' })).text, 'Echo: still here')
  })
}

function testResourcesAndPrompts(peer, revision) {
  test('lists and reads resources', async () => {
    const [first] = await peer().resources()
    assert.ok((await peer().read(first.uri)).contents.length > 0)
    const uris = (await peer().templates()).map(({ uriTemplate }) => uriTemplate)
    assert.ok(uris.includes('demo://resource/dynamic/text/{resourceId}'))
    const text = await peer().read('demo://resource/dynamic/text/7')
    assert.match(text.contents[0].text, /7/)
    const blob = await peer().read('demo://resource/dynamic/blob/7')
    assert.match(Buffer.from(blob.contents[0].blob, 'base64').toString(), /7/)
    await assert.rejects(peer().read('demo://nothing'), (error) => error.code === 'peer')
  })

  test('lists, completes and gets prompts', async () => {
    const names = (await peer().prompts()).map(({ name }) => name)
    assert.ok(names.includes('args-prompt') && names.includes('completable-prompt'))
    const weather = await peer().prompt('args-prompt', { city: 'Bern' })
    assert.equal(weather.messages[0].content.text, "What's weather in Bern?")
    const ref = { type: 'ref/prompt', name: 'completable-prompt' }
    const department = await peer().complete({ ref, argument: { name: 'department', value: 'S' } })
    assert.deepEqual(department.values, ['Sales', 'Support'])
    const context = { arguments: { department: 'Sales' } }
    const name = await peer().complete({ ref, argument: { name: 'name', value: '' }, context })
    // The context was added in 2025-06-18; it is not sent before.
    assert.deepEqual(name.values, revision < '2025-06-18' ? [] : ['David', 'Eve', 'Frank'])
  })
}

function testNotifications(peer) {
  test('receives updates of a subscribed resource', async () => {
    const uri = 'demo://resource/dynamic/text/1'
    await peer().subscribe(uri)
    const update = next(peer(), 'updated')
    await peer().call('toggle-subscriber-updates', {})
    assert.deepEqual(await update, [uri])
    await peer().call('toggle-subscriber-updates', {})
    await peer().unsubscribe(uri)
  })

  test('receives log messages', async () => {
    await peer().setLogLevel('debug')
    const simulated = heard(peer(), 'log', ({ data }) => /message/.test(data))
    await peer().call('toggle-simulated-logging', {})
    await simulated
    await peer().call('toggle-simulated-logging', {})
  })
}

/** Other messages may come first: over HTTP the server also logs earlier requests. */
async function heard({ events }, name, isWanted) {
  for await (const [event] of on(events, name, { signal: AbortSignal.timeout(5000) })) if (isWanted(event)) return
}

function next({ events }, name) {
  return once(events, name, { signal: AbortSignal.timeout(5000) })
}
