import { revisionIds } from 'tenon'
import { type ConnectOptions, connect, HttpError, PeerError } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { answer, changed, event, modern, once, type Received, sessions } from './support.ts'

/** Both HTTP implementations: `node:http` and `fetch`. */
const rims: [string, ConnectOptions][] = [
  ['node:http', {}],
  ['fetch', { fetch: (url, init) => fetch(url, init) }],
]
const handshakes = revisionIds.filter((id) => id !== '2026-07-28' && id !== '2024-11-05')

function onCall(act: (received: Received) => void) {
  return (received: Received) => {
    if (received.message.method !== 'tools/call') return false
    act(received)
    return true
  }
}

describe.each(rims)('with %s, a Streamable HTTP client', (_, rim) => {
  it.each([...handshakes, '2026-07-28'] as const)(
    'posts every message separately and accepts JSON and event streams [HTTP-008, HTTP-009, HTTP-010, HTTP-011, HTTP-012] (%s)',
    async (revision) => {
      await using server = revision === '2026-07-28' ? await modern() : await sessions(undefined, { version: revision })
      await using client = await connect(server.url, { ...rim, revision })
      await Promise.all([client.listTools(), client.callTool('act'), client.readResource('x:y')])
      const posts = server.received.filter(({ method }) => method === 'POST')
      expect(posts.length).toBeGreaterThanOrEqual(4)
      for (const { headers, message, path } of posts) {
        expect(path).toBe('/mcp')
        expect(headers.accept).toBe('application/json, text/event-stream')
        expect(headers['content-type']).toBe('application/json')
        expect(Array.isArray(message)).toBe(false)
        expect(typeof message.method).toBe('string')
      }
    },
  )

  it('accepts a response as JSON and as a stream [HTTP-017]', async () => {
    let count = 0
    const progress = (id: number | undefined) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: id, progress: 1 },
    })
    await using server = await modern(
      onCall((call) => {
        const { id } = call.message
        if (count++ === 0) return call.result({ content: [{ type: 'text', text: 'as JSON' }] })
        call.stream(
          event(progress(id)),
          ':\r\n',
          event(answer(id, { content: [{ type: 'text', text: 'as a stream' }] })),
        )
        call.response.end()
      }),
    )
    await using client = await connect(server.url, rim)
    const heard: number[] = []
    const options = { onProgress: ({ progress }: { progress: number }) => heard.push(progress) }
    expect((await client.callTool('act', {}, options)).text).toBe('as JSON')
    expect((await client.callTool('act', {}, options)).text).toBe('as a stream')
    expect(heard).toEqual([1])
  })

  it('decodes a character that is split across two chunks', async () => {
    await using server = await modern(
      onCall((call) => {
        const body = Buffer.from(JSON.stringify(answer(call.message.id, { content: [{ type: 'text', text: '🐢' }] })))
        const at = body.indexOf(0xf0) + 2
        call.response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' })
        call.response.write(body.subarray(0, at))
        setImmediate(() => call.response.end(body.subarray(at)))
      }),
    )
    await using client = await connect(server.url, rim)
    expect((await client.callTool('act')).text).toBe('🐢')
  })

  it('sends fixed headers, and calls a headers function for each request', async () => {
    await using server = await modern()
    await using fixed = await connect(server.url, {
      ...rim,
      headers: { 'X-Key': 'k', ACCEPT: 'text/plain' },
      requestInit: { headers: new Headers({ 'x-other': 'o', 'x-key': 'not this one' }) },
    })
    await fixed.callTool('act')
    for (const { headers } of server.received) {
      expect(headers).toMatchObject({ 'x-key': 'k', 'x-other': 'o', accept: 'application/json, text/event-stream' })
    }
    let asked = 0
    await using fresh = await connect(server.url, { ...rim, headers: async () => ({ 'x-turn': String(++asked) }) })
    await fresh.callTool('act')
    expect(server.received.slice(-2).map(({ headers }) => headers['x-turn'])).toEqual(['1', '2'])
  })

  it('fails only the call whose headers function throws', async () => {
    await using server = await modern()
    let isBroken = false
    const headers = () => {
      if (isBroken) throw new Error('no key today')
      return {}
    }
    await using client = await connect(server.url, { ...rim, headers })
    isBroken = true
    await expect(client.callTool('act')).rejects.toThrow(/no key today/)
    isBroken = false
    expect((await client.callTool('act')).text).toBe('done')
  })

  it.each([
    ['an HTML page', (call: Received) => call.status(200, '<html>', { 'Content-Type': 'text/html' }), /"text\/html"/],
    ['no content', (call: Received) => call.status(202), /HTTP 202 and no content/],
    ['bad JSON', (call: Received) => call.status(200, '{', { 'Content-Type': 'application/json' }), /not valid JSON/],
    ['the response to another call', (call: Received) => call.json(answer(9_999)), /not a response to it/],
    ['an array', (call: Received) => call.json([answer(call.message.id)]), /batch/],
    [
      'invalid UTF-8',
      (call: Received) => {
        call.response.writeHead(200, { 'Content-Type': 'application/json' })
        call.response.end(Buffer.from([0x7b, 0xff]))
      },
      /unreadable/,
    ],
  ] as [string, (call: Received) => void, RegExp][])('reports a response with %s', async (_, act, what) => {
    await using server = await modern(onCall(act))
    await using client = await connect(server.url, rim)
    const error = await client.callTool('act').catch((each) => each)
    expect(error).toBeInstanceOf(HttpError)
    expect(error.message).toMatch(what)
    expect(error.message).toMatch(/tools\/call/)
  })

  it('accepts a batch of messages on revisions with batches', async () => {
    await using server = await sessions(
      onCall((call) => call.json([changed, answer(call.message.id)])),
      { version: '2025-03-26' },
    )
    await using client = await connect(server.url, { ...rim, revision: '2025-03-26' })
    const told = once<undefined>((listener) => client.on('toolsChanged', listener))
    expect((await client.callTool('act')).text).toBe('done')
    await told
  })

  it('reports the status of an error response and the beginning of its body', async () => {
    await using server = await modern(onCall((call) => call.status(500, `broken\n${'x'.repeat(200_000)}`)))
    await using client = await connect(server.url, rim)
    const error = await client.callTool('act').catch((each) => each)
    expect(error).toMatchObject({ code: 'http', status: 500, outcome: 'refused' })
    expect(error.message).toMatch(/HTTP 500, "broken x/)
    expect(error.message.length).toBeLessThan(500)
    expect(error.body).toHaveLength(65_536)
  })

  it('uses a JSON-RPC error in an error response as the response, also without an id', async () => {
    await using server = await modern(
      onCall((call) => call.json({ jsonrpc: '2.0', error: { code: -32603, message: 'Broken', data: 7 } }, 500)),
    )
    await using client = await connect(server.url, rim)
    const error = await client.callTool('act').catch((each) => each)
    expect(error).toBeInstanceOf(PeerError)
    expect(error).toMatchObject({ rpcCode: -32603, data: 7 })
  })

  it.each([401, 403])('reports %s as an HTTP error, even if the body is a JSON-RPC error', async (status) => {
    await using server = await modern(onCall((call) => call.error(-32600, 'Who are you?', status)))
    await using client = await connect(server.url, rim)
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', status })
  })

  it('rejects messages that are too long, as JSON and as a stream', async () => {
    let isStream = false
    await using server = await modern(
      onCall((call) => {
        const long = answer(call.message.id, { content: [{ type: 'text', text: 'x'.repeat(20_000) }] })
        if (isStream) call.stream(event(long))
        else call.json(long)
      }),
    )
    await using client = await connect(server.url, { ...rim, maxMessageBytes: 10_000 })
    await expect(client.callTool('act')).rejects.toThrow(/more than 10000 bytes/)
    isStream = true
    await expect(client.callTool('act')).rejects.toThrow(/longer than 10000 bytes/)
  })

  it('answers requests of the server that arrive on the stream of a call', async () => {
    let stream: Received | undefined
    await using server = await sessions((received) => {
      const { message } = received
      if (message.method === 'tools/call') {
        stream = received
        received.stream(event({ jsonrpc: '2.0', id: 'q1', method: 'roots/list' }))
        return true
      }
      if (message.method !== undefined || received.method !== 'POST') return false
      received.status(202)
      stream!.response.end(event(answer(stream!.message.id)))
      return true
    })
    await using client = await connect(server.url, { ...rim, capabilities: { roots: {} } })
    client.setRequestHandler('roots/list', () => ({ roots: [] }))
    expect((await client.callTool('act')).text).toBe('done')
    const reply = server.received.find(({ message }) => message.result !== undefined)!
    expect(reply.message).toEqual({ jsonrpc: '2.0', id: 'q1', result: { roots: [] } })
    expect(reply.headers['mcp-session-id']).toBe('session-1')
  })

  it('reads several streams at once: those of calls and the GET stream [HTTP-035]', async () => {
    const calls: Received[] = []
    await using server = await sessions(
      onCall((call) => {
        calls.push(call)
        call.stream(':\n\n')
      }),
      { stream: true },
    )
    await using client = await connect(server.url, rim)
    const own = await server.until('GET')
    const answers = ['a', 'b'].map((name) => client.callTool(name))
    await server.until('tools/call', 2)
    const told = once<undefined>((listener) => client.on('toolsChanged', listener))
    own.response.write(event(changed))
    await told
    for (const call of calls.toReversed()) {
      const text = String(call.message.params!.name)
      call.response.end(event(answer(call.message.id, { content: [{ type: 'text', text }] })))
    }
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(['a', 'b'])
  })

  it('leaves no stream open after close()', async () => {
    await using server = await sessions(undefined, { stream: true })
    const client = await connect(server.url, rim)
    const stream = await server.until('GET')
    const gone = new Promise((resolve) => stream.response.on('close', resolve))
    await client.close()
    await gone
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'not-connected' })
  })
})

describe('the URL for connect()', () => {
  it.each([
    ['ftp://127.0.0.1/', /http: or https:/],
    ['http://user:secret@127.0.0.1/', /user name or password/],
    ['node server.js', /Not a URL: "node server\.js"\. To start a program, pass/],
    ['', /Not a URL: ""/],
  ])('cannot be %j', async (target, what) => {
    const error = await connect(target).catch((each) => each)
    expect(error).toMatchObject({ code: 'invalid-argument' })
    expect(error.message).toMatch(what)
    expect(error.message).not.toMatch(/secret/)
  })

  it('can be a URL object and can have a query', async () => {
    await using server = await modern()
    await using client = await connect(new URL(`${server.url}?tenant=7`))
    await client.callTool('act')
    expect(server.received.every(({ path }) => path === '/mcp?tenant=7')).toBe(true)
  })
})
