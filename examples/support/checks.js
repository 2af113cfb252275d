import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from 'tenon/client'
import { answerOf, post } from '../../test/interop/support/http.js'

const old = '2025-11-25'
const modern = '2026-07-28'
const greet = { name: 'greet', arguments: { name: 'Ada' } }
const clientInfo = { name: 'plain', version: '1.0.0' }
const expected = [{ type: 'text', text: 'Hello, Ada!' }]

/**
 * Tests that an example serves MCP under `/mcp`.
 *
 * @param serverName The name that the example's server gives in `initialize`.
 * @param start Starts the example; gives its `origin` and `stop()`.
 */
export function testExample(title, serverName, start) {
  describe(title, () => {
    let example
    let url
    before(async () => {
      example = await start()
      url = new URL('/mcp', example.origin)
    })
    after(() => example?.stop())

    testPlainFetch(() => url, serverName)
    testClient(() => url)
  })
}

function testPlainFetch(url, serverName) {
  test(`answers a tool call in a session, ${old}`, async () => {
    const opened = await post(url(), initialize())
    const { result } = await answerOf(opened)
    assert.equal(result.serverInfo.name, serverName)
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id'), 'mcp-protocol-version': old }
    const noted = await post(url(), { method: 'notifications/initialized' }, headers)
    assert.equal(noted.status, 202)
    const called = await post(url(), { id: 2, method: 'tools/call', params: greet }, headers)
    assert.deepEqual((await answerOf(called)).result.content, expected)
    const ended = await fetch(url(), { method: 'DELETE', headers })
    assert.equal(ended.status, 200)
    const late = await post(url(), { id: 3, method: 'tools/call', params: greet }, headers)
    assert.equal(late.status, 404)
  })

  test(`opens the stream of a session at once, and ends it with the session, ${old}`, async () => {
    const opened = await post(url(), initialize())
    await opened.arrayBuffer()
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id'), 'mcp-protocol-version': old }
    const stream = await fetch(url(), { headers: { ...headers, accept: 'text/event-stream' } })
    assert.equal(stream.status, 200)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    const text = stream.text()
    await fetch(url(), { method: 'DELETE', headers })
    await text
  })

  test(`answers a tool call that stands alone, ${modern}`, async () => {
    const response = await callModern(url())
    assert.equal(response.status, 200)
    const { result } = await answerOf(response)
    assert.deepEqual(result.content, expected)
    assert.equal(response.headers.get('mcp-session-id'), null)
  })

  test('refuses a page from elsewhere', async () => {
    const origin = 'https://elsewhere.example.com'
    for (const response of [await post(url(), initialize(), { origin }), await callModern(url(), { origin })]) {
      assert.equal(response.status, 403)
      assert.match((await response.json()).error.message, /Origin/)
    }
  })
}

function testClient(url) {
  for (const revision of [old, modern]) {
    test(`serves connect(url), ${revision}`, async () => {
      const client = await connect(url(), { revision })
      assert.equal(client.revision, revision)
      assert.equal((await client.callTool('greet', { name: 'Ada' })).text, 'Hello, Ada!')
      // Longer than one piece of a stream; the parser of Express takes at most 100 kB.
      const long = 'Zoë '.repeat(15_000)
      assert.equal((await client.callTool('greet', { name: long })).text, `Hello, ${long}!`)
      await client.close()
    })
  }

  test('serves many callers at once', async () => {
    const client = await connect(url())
    const names = Array.from({ length: 50 }, (_, index) => `number ${index}`)
    const results = await Promise.all(names.map((name) => client.callTool('greet', { name })))
    assert.deepEqual(
      results.map(({ text }) => text),
      names.map((name) => `Hello, ${name}!`),
    )
    await client.close()
  })
}

function initialize() {
  return { id: 1, method: 'initialize', params: { protocolVersion: old, capabilities: {}, clientInfo } }
}

function callModern(url, headers) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const standard = { 'mcp-protocol-version': modern, 'mcp-method': 'tools/call', 'mcp-name': 'greet' }
  return post(url, { id: 1, method: 'tools/call', params: { ...greet, _meta } }, { ...standard, ...headers })
}
