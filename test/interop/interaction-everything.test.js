import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connectTenon } from './clients/tenon.js'
import { said } from './support/asking.js'
import { startServer } from './support/http.js'
import { program } from './support/programs.js'

// Requests of server-everything to the client, answered by the Tenon client.

const file = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'

/** As in everything.test.js. */
const ways = { stdio: undefined, streamableHttp: '/mcp', sse: '/sse' }

for (const way of Object.keys(ways)) {
  describe(`Tenon client, server-everything with server requests, ${way}`, () => {
    const asked = []
    const answers = {
      elicit: (form) => asked.push(form) && { action: 'accept', content: { name: 'Ada' } },
      elicitUrl: (page) => asked.push(page) && { action: 'accept' },
      sample: (params) => asked.push(params) && said('A tree'),
      roots: [{ uri: 'file:///home/ada', name: 'Ada' }],
    }
    const user = { ...answers }
    let started
    let peer
    before(async () => {
      started = await start(way)
      const via = (kind) => (question) => user[kind](question)
      const handlers = { ...answers, elicit: via('elicit'), elicitUrl: via('elicitUrl'), sample: via('sample') }
      peer = await connectTenon(started.target, undefined, handlers)
    })
    after(async () => {
      await peer?.close()
      await started?.stop()
    })

    test('is offered the tools that send requests to the client', async () => {
      const wanted = ['get-roots-list', 'trigger-elicitation-request', 'trigger-sampling-request']
      const names = (await peer.tools()).map(({ name }) => name)
      assert.deepEqual(
        [...wanted, 'trigger-url-elicitation'].filter((name) => !names.includes(name)),
        [],
      )
    })

    test('fills in a form with every type of field, with defaults', async () => {
      const { content } = await peer.call('trigger-elicitation-request', {})
      assert.deepEqual(rawOf(content).content, {
        name: 'Ada',
        firstLine: 'It was a dark and stormy night.',
        integer: 42,
        number: 3.14,
        untitledSingleSelectEnum: 'Monica',
        untitledMultipleSelectEnum: ['Guitar'],
        titledSingleSelectEnum: 'hero-1',
        titledMultipleSelectEnum: ['fish-1'],
        legacyTitledEnum: 'pet-1',
      })
      assert.equal(Object.keys(asked.at(-1).requestedSchema.properties).length, 13)
    })

    for (const action of ['decline', 'cancel']) {
      test(`can ${action}`, async () => {
        user.elicit = () => ({ action })
        const { content } = await peer.call('trigger-elicitation-request', {})
        assert.deepEqual(rawOf(content), { action })
        user.elicit = answers.elicit
      })
    }

    test('answers a sampling request', async () => {
      const { content } = await peer.call('trigger-sampling-request', { prompt: 'wood', maxTokens: 20 })
      assert.match(content[0].text, /"text": "A tree"/)
      const { messages, maxTokens, systemPrompt, temperature } = asked.at(-1)
      assert.match(messages[0].content.text, /wood/)
      assert.deepEqual([maxTokens, systemPrompt, temperature], [20, 'You are a helpful test server.', 0.7])
    })

    test('answers a URL elicitation', async () => {
      const url = 'https://example.com/there?now=1'
      const { content } = await peer.call('trigger-url-elicitation', { url, message: 'Go', elicitationId: 'go-1' })
      assert.deepEqual(rawOf(content), { action: 'accept' })
      const { message, elicitationId, url: seen } = asked.at(-1)
      assert.deepEqual([message, elicitationId, seen.href], ['Go', 'go-1', url])
    })

    test('gets an error with a URL to open first, and calls again', async () => {
      const args = { url: 'https://example.com/after', errorPath: true }
      await assert.rejects(peer.call('trigger-url-elicitation', args), ({ rpcCode, data }) => {
        assert.equal(rpcCode, -32042)
        return data.elicitations[0].url.startsWith('https://modelcontextprotocol.io')
      })
      assert.deepEqual(rawOf((await peer.call('trigger-url-elicitation', args)).content), { action: 'accept' })
    })

    test('lists its roots, and the new ones after a change', async () => {
      assert.match(await roots(peer), /1\. Ada\s+URI: file:\/\/\/home\/ada/)
      await peer.setRoots([{ uri: 'file:///srv/wood', name: 'Wood' }])
      // The server requests the roots again asynchronously.
      const inVain = AbortSignal.timeout(5000)
      let listed
      do listed = await roots(peer)
      while (!inVain.aborted && listed.includes('home/ada'))
      assert.match(listed, /1\. Wood\s+URI: file:\/\/\/srv\/wood/)
    })
  })
}

async function start(way) {
  if (way === 'stdio') return { target: program(file, 'stdio'), stop: async () => {} }
  const { origin, stop } = await startServer(file, way)
  return { target: { url: new URL(ways[way], origin), isSse: way === 'sse' }, stop }
}

async function roots(peer) {
  return (await peer.call('get-roots-list', {})).content[0].text
}

/** Returns the response as the server received it, which is at the end of its output. */
function rawOf(content) {
  return JSON.parse(content.at(-1).text.replace('\nRaw result: ', ''))
}
