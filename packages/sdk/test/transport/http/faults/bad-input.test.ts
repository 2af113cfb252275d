import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import {
  createMcpHandler,
  ResourceTemplate,
  type ServingHttp,
  SSEServerTransport,
  StreamableHTTPServerTransport,
  serveHttp,
} from 'tenon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createServer,
  eventually,
  expectRefusal,
  type HttpRevision,
  httpRevisions,
  listen,
  type Message,
  modern,
  OldClient,
  RawClient,
  RawConnection,
  type RawHeaders,
  serve,
  sessionRevisions,
  toBytes,
  toHead,
} from './support.ts'

const maxBodyBytes = 1_000_000
const bodyTimeoutMs = 250
const ofModern = (revision: HttpRevision, then: number, before: number) => (revision === modern ? then : before)

let http: ServingHttp
const errors: unknown[] = []
let echoed = 0
beforeAll(async () => {
  const server = createServer({ onError: (error) => errors.push(error) })
  server.use((request, next) => {
    if (request.params.name === 'echo') echoed++
    return next()
  })
  http = await serveHttp(server, { port: 0, exit: false, maxBodyBytes, bodyTimeoutMs })
})
afterAll(async () => {
  await eventually(() => http.metrics.calls === 0 && http.metrics.streams === 0)
  expect(errors).toEqual([])
  await http.close()
})

describe.each([...httpRevisions])('a server that is sent bad input over HTTP (%s)', (revision) => {
  let client: RawClient
  beforeAll(async () => {
    client = await RawClient.open(http.port, revision)
  })

  /** A good call with headers that are not, or with others. */
  const good = (id: unknown = 1) => client.call(id, 'echo', { a: 1 })
  async function refuses(status: number, code: number, headers: RawHeaders, body: string | Uint8Array = good()) {
    expectRefusal(await client.post(body, headers), status, code)
    await client.stillServes()
  }
  async function refusesBody(code: number, body: string | Uint8Array, id?: unknown) {
    const response = await client.post(body, { 'Mcp-Method': undefined, 'Mcp-Name': undefined })
    expectRefusal(response, 400, code)
    if (id !== undefined) expect(response.json.id).toBe(id)
    else expect(response.json.id ?? null).toBeNull()
    await client.stillServes()
  }
  /** The head of a good call, for those who write the body themselves. */
  const head = (more: RawHeaders) => toHead('POST', '/mcp', client.headers('tools/call', 'echo', more))

  describe('the body', () => {
    it('CVE-2026-67432: refuses a body that says it is too large, before any of it came', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': String(maxBodyBytes + 1) }))
      expectRefusal(await connection.response(), 413, -32000)
      await connection.closed()
      await client.stillServes()
    })

    it('CVE-2026-67432: refuses a chunked body as soon as it is too large', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Transfer-Encoding': 'chunked' }))
      const chunk = Buffer.alloc(0x10000, ' ')
      for (let sent = 0; sent <= maxBodyBytes; sent += chunk.length) {
        connection.write('10000\r\n').write(chunk).write('\r\n')
      }
      expectRefusal(await connection.response(), 413, -32000)
      await connection.closed()
      await client.stillServes()
    })

    it('takes a body of exactly the size that is allowed', async () => {
      const body = good().padEnd(maxBodyBytes, ' ')
      expect((await client.post(body, client.headers())).status).toBe(200)
    })

    it.each([
      ['1e9', '400 Bad Request'],
      ['-1', '400 Bad Request'],
      ['+5', '400 Bad Request'],
      ['0x10', '400 Bad Request'],
      ['99999999999999999999999', '400 Bad Request'],
      ['5, 5', '400 Bad Request'],
    ])('refuses the Content-Length %s', async (length) => {
      expectRefusal(await client.exchange(head({ 'Content-Length': length })), 400, -32000)
      await client.stillServes()
    })

    it('ends the wait for a chunked body that never ends', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Transfer-Encoding': 'chunked' }))
      const drip = setInterval(() => connection.write('1\r\n \r\n'), 20)
      expectRefusal(await connection.response(), 408, -32000)
      await connection.closed()
      clearInterval(drip)
      await client.stillServes()
    })

    it('ends the wait for a body that stalls', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': '500' })).write('{"jsonrpc":"2.0",')
      expectRefusal(await connection.response(), 408, -32000)
      await connection.closed()
      await client.stillServes()
    })

    it('CVE-2025-53365: goes on when the client leaves in the middle of its body', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': '500' })).write('{"jsonrpc":"2.0",')
      await client.stillServes()
      connection.socket.resetAndDestroy()
      await client.stillServes()
    })

    it.each([
      ['a size that is no number', 'zz\r\n{}\r\n0\r\n\r\n'],
      ['a negative size', '-5\r\nhello\r\n0\r\n\r\n'],
      ['a size beyond all measure', 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
      ['a chunk longer than it says', '2\r\n{"a":1}\r\n0\r\n\r\n'],
    ])('refuses a chunk with %s', async (_what, chunks) => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Transfer-Encoding': 'chunked' })).write(chunks)
      expectRefusal(await connection.response(), 400, -32000)
      await client.stillServes()
    })

    it.each(['gzip', 'br', 'deflate', 'gzip, identity', 'x-unknown'])(
      'refuses a body in the encoding %s, and unpacks nothing',
      async (encoding) => {
        await refuses(415, -32000, { 'Content-Encoding': encoding }, gzipSync(good()))
      },
    )
  })

  describe('headers', () => {
    it.each([
      undefined,
      '',
      'text/plain',
      'text/plain;charset=utf-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/json-seq',
      'application/vnd.api+json',
      'text/plain; application/json',
      'text/plain, application/json',
      'application/json, text/plain',
      'APPLICATION/JSON\u00e9',
    ])('CVE-2026-33252: refuses the content type %j, with which a page could post without asking', async (type) => {
      await refuses(415, -32000, { 'Content-Type': type })
    })

    it('refuses a POST with two content types', async () => {
      await refuses(415, -32000, { 'Content-Type': ['text/plain', 'application/json'] })
      await refuses(415, -32000, { 'Content-Type': ['application/json', 'text/plain'] })
    })

    it.each([
      undefined,
      '',
      'application/json',
      'text/event-stream',
      'text/html',
      'application/json, text/event-stream;q=0',
      'application/json;q=0.0, text/event-stream',
      'application/jsonx, text/event-streams',
    ])('refuses the Accept %j of a POST', async (accept) => {
      await refuses(406, -32000, { Accept: accept })
    })

    it('takes the header Accept in two lines for one', async () => {
      const response = await client.post(good(), { Accept: ['application/json', 'text/event-stream'] })
      expect(response.status).toBe(200)
    })

    it.each([
      ['two that differ', ['evil.example', '127.0.0.1']],
      ['two that differ, the good one first', ['127.0.0.1', 'evil.example']],
      ['two that are equal', ['127.0.0.1', '127.0.0.1']],
    ])('refuses %s Host headers', async (_what, hosts) => {
      const response = await client.post(good(), { Host: hosts })
      expect([400, 403]).toContain(response.status)
      expectRefusal(response, response.status, -32000)
      await client.stillServes()
    })

    it.each([
      ['equal', '2'],
      ['different', '3'],
    ])('refuses two Content-Length headers that are %s', async (_what, second) => {
      const bytes = Buffer.concat([head({ 'Content-Length': ['2', second] }), Buffer.from('{}')])
      expectRefusal(await client.exchange(bytes), 400, -32000)
      await client.stillServes()
    })

    it.each(['chunked', 'Chunked', 'identity, chunked', 'xchunked'])(
      'refuses Content-Length beside Transfer-Encoding: %s, with which a request could be smuggled',
      async (encoding) => {
        const smuggled = toBytes('POST', '/mcp', client.headers(), '')
        using connection = await RawConnection.open(http.port)
        connection
          .write(head({ 'Content-Length': '4', 'Transfer-Encoding': encoding }))
          .write('0\r\n\r\n')
          .write(smuggled)
        expectRefusal(await connection.response(), 400, -32000)
        await connection.closed()
        // Nothing of what followed was taken for a request.
        expect(connection.waiting.toString()).toBe('')
        await client.stillServes()
      },
    )

    it('refuses two MCP-Protocol-Version headers [HTTP-040, HTTP-043]', async () => {
      const code = ofModern(revision, -32020, -32000)
      await refuses(400, code, { 'MCP-Protocol-Version': [revision, revision] })
      await refuses(400, code, { 'MCP-Protocol-Version': [revision, '2025-06-18'] })
    })

    it('refuses two Mcp-Method and two Mcp-Name headers [HDR-007, HDR-008, HDR-009]', async () => {
      const code = ofModern(revision, -32020, -32001)
      await refuses(400, code, { 'Mcp-Method': ['tools/call', 'tools/call'] })
      await refuses(400, code, { 'Mcp-Method': ['tools/call', 'tools/list'] })
      await refuses(400, code, { 'Mcp-Method': 'tools/call', 'Mcp-Name': ['echo', 'echo'] })
      await refuses(400, code, { 'Mcp-Method': 'tools/call', 'Mcp-Name': ['other', 'echo'] })
    })

    it.each([
      ['a bare CR', 'a\rb'],
      ['a bare CR and a header behind it', 'a\rOrigin: http://127.0.0.1'],
      ['a NUL', 'a\0b'],
      ['a line feed without CR', 'a\nb'],
      ['DEL', 'a\x7fb'],
      ['another control byte', 'a\x01b'],
    ])('refuses a header value with %s', async (_what, value) => {
      for (const name of ['X-Other', 'Mcp-Method', 'Mcp-Session-Id', 'Origin']) {
        const response = await client.post(good(), { [name]: value })
        expect(response.status).toBe(400)
        expectRefusal(response, 400, -32000)
      }
      await client.stillServes()
    })

    it('refuses a header value that goes on in the next line', async () => {
      for (const fold of ['\r\n b', '\r\n\tb'])
        expectRefusal(await client.post(good(), { 'X-Other': `a${fold}` }), 400, -32000)
      await client.stillServes()
    })

    it.each([
      ['a blank before the colon', 'X-Other : a'],
      ['no colon', 'X-Other'],
      ['a blank in its name', 'X Other: a'],
      ['no name', ': a'],
      ['a name that is not ASCII', 'X-\u00e9: a'],
    ])('refuses a header with %s', async (_what, line) => {
      const bytes = head({ 'Content-Length': '2' }).toString('latin1').replace('\r\n\r\n', `\r\n${line}\r\n\r\n{}`)
      expectRefusal(await client.exchange(bytes), 400, -32000)
      await client.stillServes()
    })

    it('refuses bytes that are not ASCII in the headers that it acts on, and lets them pass in others', async () => {
      await refuses(400, ofModern(revision, -32020, -32000), { 'MCP-Protocol-Version': '\u00e9' })
      await refuses(400, ofModern(revision, -32020, -32001), { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'ech\u00f6' })
      await refuses(403, -32000, { Origin: 'http://127.0.0.1\u00e9' })
      await refuses(403, -32000, { Host: '127.0.0.1\u00e9' })
      expect((await client.post(good(), { 'X-Other': '\u00e9\u00ff\u0080' })).status).toBe(200)
    })

    it('does not take other blanks than space and tab for nothing [HDR-012]', async () => {
      for (const blank of ['\u00a0', '\u0085', '\u000b']) {
        const version = await client.post(good(), { 'MCP-Protocol-Version': `${revision}${blank}` })
        expect(version.status).toBe(400)
        expect((await client.post(good(), { 'Mcp-Method': `tools/call${blank}` })).status).toBe(400)
        expect((await client.post(good(), { 'Mcp-Method': 'tools/call', 'Mcp-Name': `${blank}echo` })).status).toBe(400)
      }
      await client.stillServes()
    })

    it('refuses a header of 20 KB [HDR-048]', async () => {
      await refuses(431, -32000, { 'X-Other': 'x'.repeat(20_000) })
    })

    it('refuses 2,000 headers of the usual size [HDR-048]', async () => {
      const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`X-Other-${index}`, 'value']))
      await refuses(431, -32000, many)
    })

    it('overlooks no header, however many tiny ones come before it', async () => {
      const many = Array.from({ length: 3_000 }, () => 'a:\r\n').join('')
      const { Host, ...rest } = client.headers('tools/call', 'echo', { 'Content-Length': String(good().length) })
      const start = `POST /mcp HTTP/1.1\r\nHost: ${Host}\r\n`
      const behind = toHead('', '', { ...rest, Origin: 'http://evil.example' })
        .toString('latin1')
        .split('\r\n')
        .slice(1)
      const before = toHead('', '', rest).toString('latin1').split('\r\n').slice(1, -2)
      for (const bytes of [
        `${start}${many}${behind.join('\r\n')}${good()}`,
        `${start}${before.join('\r\n')}\r\n${many}Origin: http://evil.example\r\n\r\n${good()}`,
      ]) {
        const response = await client.exchange(bytes)
        expect([400, 403, 415, 431]).toContain(response.status)
        expectRefusal(response, response.status, -32000)
      }
      await client.stillServes()
    })

    it('never says a stray session id back [HTTP-059]', async () => {
      const response = await client.post(good(), revision === modern ? { 'Mcp-Session-Id': ['a', 'b'] } : {})
      expect(response.status).toBe(200)
      expect(response.headers.get('mcp-session-id')).toBeUndefined()
    })
  })

  describe('the request line', () => {
    it.each(['PUT', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND'])(
      'refuses the method %s and says which there are [HTTP-030]',
      async (method) => {
        const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(good().length) })
        const response = await client.exchange(toBytes(method, '/mcp', headers, good()), method)
        expectRefusal(response, 405, -32000)
        expect(response.headers.get('allow')).toBe('GET, POST, DELETE')
        // TRACE must not show what a proxy added on the way.
        expect(response.text).not.toContain('echo')
        await client.stillServes()
      },
    )

    it('refuses HEAD without a body', async () => {
      const response = await client.exchange(toBytes('HEAD', '/mcp', client.getHeaders()), 'HEAD')
      expect(response.status).toBe(405)
      expect(response.body.length).toBe(0)
      await client.stillServes()
    })

    it.each([
      'post /mcp HTTP/1.1',
      'BREW /mcp HTTP/1.1',
      'POST /mcp HTTP/9.9',
      'POST /mcp HTTPS/1.1',
      'POST',
      '\0\0\0\0',
      'PRI * HTTP/2.0',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    ])('refuses the request line %j', async (line) => {
      const headers = client.headers('tools/call', 'echo', { 'Content-Length': '2' })
      const rest = toHead('', '', headers).toString('latin1')
      const response = await client.exchange(`${line}${rest.slice(rest.indexOf('\r\n'))}{}`)
      expectRefusal(response, 400, -32000)
      await client.stillServes()
    })

    it.each([
      '/',
      '/mcp/',
      '//mcp',
      '/mcp/../mcp',
      '/MCP',
      '/mcp%00',
      '/sse',
      '/messages',
      'http://evil.example/mcp',
      '*',
    ])('serves nothing at %s', async (path) => {
      const response = await client.exchange(
        toBytes('POST', path, client.headers('tools/call', 'echo', { 'Content-Length': '2' }), '{}'),
      )
      expectRefusal(response, 404, -32000)
      await client.stillServes()
    })

    it('answers HTTP/1.0, and asks it for a Host like everyone', async () => {
      const body = good('old')
      const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(body.length) })
      const ask = (more: RawHeaders) =>
        Buffer.concat([toHead('POST', '/mcp', { ...headers, ...more }, '1.0'), Buffer.from(body)])
      using connection = await RawConnection.open(http.port)
      const response = await connection.write(ask({})).response()
      expect(response.status).toBe(200)
      expect(response.json.id).toBe('old')
      await connection.closed()
      expectRefusal(await client.exchange(ask({ Host: undefined })), 403, -32000)
      await client.stillServes()
    })

    it('refuses HTTP/1.1 without a Host', async () => {
      expect((await client.post(good(), { Host: undefined })).status).toBe(400)
      await client.stillServes()
    })

    it('CVE-2026-59950: never becomes a WebSocket, whoever asks', async () => {
      const upgrade = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      }
      for (const origin of [undefined, 'http://evil.example']) {
        const response = await client.get({ ...upgrade, Origin: origin, Accept: undefined })
        expectRefusal(response, origin ? 403 : 406, -32000)
      }
      await client.stillServes()
    })

    it('refuses an expectation that it does not know, and goes on after the one that it does', async () => {
      expect((await client.post(good(), { Expect: 'the-impossible' })).status).toBe(417)
      expect((await client.post(good(), { Expect: '100-continue' })).status).toBe(200)
      await client.stillServes()
    })
  })

  describe('origin and host', () => {
    const foreign = (port: number) => [
      'http://evil.example',
      'https://evil.example',
      `http://evil.example:${port}`,
      'null',
      '',
      'file://',
      'chrome-extension://abcdefghijklmnop',
      `http://127.0.0.1.evil.example:${port}`,
      `http://localhost.evil.example:${port}`,
      `http://127.0.0.1:${port}@evil.example`,
      `http://evil.example/http://127.0.0.1:${port}`,
      `http://evil.example#127.0.0.1:${port}`,
      `http://evil.example\\@127.0.0.1:${port}`,
      `127.0.0.1:${port}`,
      `http://127.0.0.1:${port}, http://evil.example`,
      'http://10.0.0.1',
      'http://0.0.0.0',
      'http://localhost:',
      'http://[::ffff:1.2.3.4]',
    ]

    it('CVE-2026-33252: refuses every Origin that is not its own, on every method [HTTP-003, HTTP-004]', async () => {
      for (const origin of foreign(http.port)) {
        expectRefusal(await client.post(good(), { Origin: origin }), 403, -32000)
        expectRefusal(await client.get({ Origin: origin }), 403, -32000)
        expectRefusal(await client.delete({ Origin: origin }), 403, -32000)
        const preflight = {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'content-type',
        }
        expectRefusal(await client.exchange(toBytes('OPTIONS', '/mcp', client.getHeaders(preflight))), 403, -32000)
      }
      await client.stillServes()
    })

    it('refuses two Origin headers, also if one of them is its own', async () => {
      const own = `http://127.0.0.1:${http.port}`
      await refuses(403, -32000, { Origin: [own, 'http://evil.example'] })
      await refuses(403, -32000, { Origin: ['http://evil.example', own] })
    })

    it('CVE-2026-34237: never lets a page read an answer, nor the endpoint event with a session id', async () => {
      const own = `http://127.0.0.1:${http.port}`
      for (const origin of [own, 'http://localhost:9999']) {
        const response = await client.post(good(), { Origin: origin })
        expect(response.status).toBe(200)
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
      const preflight = { Origin: own, 'Access-Control-Request-Method': 'POST' }
      expectRefusal(await client.exchange(toBytes('OPTIONS', '/mcp', client.getHeaders(preflight))), 405, -32000)
    })

    it('CVE-2025-66414: a page that rebinds its name to this machine is refused, with and without an Origin [HTTP-003]', async () => {
      const hosts = [
        'evil.example',
        `evil.example:${http.port}`,
        `127.0.0.1.evil.example:${http.port}`,
        `localhost.evil.example:${http.port}`,
        'localhost.',
        `127.0.0.1@evil.example`,
        'evil.example#127.0.0.1',
        '127.0.0.1, evil.example',
        '127.0.0.1 evil.example',
        '127.0.0.1/evil.example',
        '',
        '[::1',
        '127.0.0.1:99999999',
        'xn--e1afmkfd',
      ]
      for (const host of hosts) {
        for (const origin of [undefined, `http://${host}`]) {
          const response = await client.post(good(), { Host: host, Origin: origin })
          expect([400, 403]).toContain(response.status)
          expectRefusal(response, response.status, -32000)
          const stream = await client.get({ Host: host, Origin: origin })
          expectRefusal(stream, stream.status, -32000)
          expect([400, 403]).toContain(stream.status)
        }
      }
      await client.stillServes()
    })
  })

  describe('JSON', () => {
    it('refuses a body that is not UTF-8 [RPC-019]', async () => {
      const [before, after] = good().split('{"a":1}')
      for (const bad of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0xaf]]) {
        const body = Buffer.concat([Buffer.from(`${before}{"a":"`), Buffer.from(bad), Buffer.from(`"}${after}`)])
        expectRefusal(await client.post(body, client.headers()), 400, -32700)
      }
      await client.stillServes()
    })

    it.each([
      ['nothing', ''],
      ['blanks', ' \r\n\t'],
      ['text', 'hello'],
      ['a truncated message', '{"jsonrpc":"2.0","id":1,"method":"tools/c'],
      ['a truncated escape', '{"jsonrpc":"2.0","id":1,"method":"tools\\u00'],
      ['two messages', '{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}'],
      ['lines', '{"jsonrpc":"2.0","method":"a"}\n{"jsonrpc":"2.0","method":"b"}'],
      ['single quotes', "{'jsonrpc':'2.0'}"],
      ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
      ['a comment', '{"jsonrpc":"2.0",/* */"id":1,"method":"ping"}'],
      ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
      ['a NUL byte', '\0'],
      ['a raw line break in a string', '{"jsonrpc":"2.0","id":1,"method":"a\nb"}'],
      ['UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le')],
      ['a form', 'jsonrpc=2.0&method=tools/call'],
      ['XML', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ])('refuses %s as not JSON [RPC-024]', async (_what, body) => {
      await refusesBody(-32700, body)
    })

    it.each([
      'null',
      'true',
      '1',
      '"text"',
      '{}',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"1.0","method":"ping"}',
      '{"method":"ping"}',
    ])('refuses the JSON %s as no message [RPC-025]', async (body) => {
      await refusesBody(-32600, body)
    })

    it('PR #2698: refuses a batch of 10,000, and runs none of it [RPC-025]', async () => {
      const before = echoed
      const member = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'
      await refusesBody(-32600, `[${Array.from({ length: 10_000 }, () => member).join(',')}]`)
      // The one that proves that it still serves.
      expect(echoed).toBe(before + 1)
    })

    it('refuses an empty batch, and a batch in a batch', async () => {
      await refusesBody(-32600, '[]')
      if (revision !== '2025-03-26') await refusesBody(-32600, '[[]]')
    })

    it('refuses 100,000 levels of nesting, wherever they are', async () => {
      const deep = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`
      for (const nested of [deep('[', ']'), deep('{"":', '}')]) {
        const meta = JSON.stringify(client.params()).slice(1, -1)
        const params = `{${meta}${meta && ','}"name":"echo","arguments":{"a":${nested}}}`
        await refusesBody(-32600, `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${params}}`, 'deep')
      }
      await refusesBody(-32600, deep('[', ']'))
      await refusesBody(-32700, '['.repeat(100_000))
    })

    it('answers objects that are wide', async () => {
      const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index]))
      const response = await client.post(client.call('wide', 'echo', wide))
      expect(response.status).toBe(200)
      expect(Object.keys(JSON.parse(response.json.result!.content![0]!.text))).toHaveLength(50_000)
    })

    const twice = [
      ['method', '"method":"tools/list"'],
      ['method, escaped', '"m\\u0065thod":"tools/list"'],
      ['method, escaped in capitals', '"\\u006D\\u0065\\u0074\\u0068\\u006F\\u0064":"tools/list"'],
      ['id', '"id":2'],
      ['id, escaped', '"\\u0069d":2'],
      ['params', '"params":{}'],
      ['params, escaped', '"param\\u0073":{}'],
      ['jsonrpc', '"jsonrpc":"2.0"'],
    ] as const
    it.each(twice)('refuses a message in which %s comes twice [RPC-025]', async (_what, member) => {
      const inner = good().slice(1, -1)
      for (const body of [`{${member},${inner}}`, `{${inner},${member}}`]) {
        const response = await client.post(body, client.headers())
        expectRefusal(response, 400, -32600)
      }
      await client.stillServes()
    })

    it('takes names of arguments for what they are, also if the envelope has the same', async () => {
      const args = { id: 1, method: 'x', params: { id: 2, method: 'y' }, jsonrpc: '1', '\u0001': '\u0002' }
      const response = await client.post(client.call(1, 'echo', args))
      expect(JSON.parse(response.json.result!.content![0]!.text)).toEqual(args)
    })

    it('CVE-2026-27896: takes a key that differs in case, or folds to the same, for another key', async () => {
      const others =
        '"Method":"tools/list","METHOD":"tools/list","ID":9,"Params":{"name":"polluted"},"param\u017f":{"name":"polluted"},"Jsonrpc":"1"'
      const response = await client.post(`{${others},${good('exact').slice(1)}`, client.headers())
      expect(response.status).toBe(200)
      expect(response.json.id).toBe('exact')
      expect(response.json.result?.content?.[0]?.text).toBe('{"a":1}')
      const args = good('k').replace(
        '"arguments":{"a":1}',
        '"arguments":{"a":1},"Name":"polluted","NAME":"polluted","\u212aey":1',
      )
      expect((await client.post(args, client.headers())).json.result?.content?.[0]?.text).toBe('{"a":1}')
      await refusesBody(-32600, '{"Jsonrpc":"2.0","ID":1,"Method":"ping"}')
    })

    it('GHSA-q382-vc8q-7jhj: takes a key with a NUL in it for another key', async () => {
      const nul = '\\u0000'
      const others = `"method${nul}":"tools/list","id${nul}":9,"params${nul}":{"name":"polluted"},"${nul}method":"tools/list"`
      for (const body of [`{${others},${good('exact').slice(1)}`, `${good('exact').slice(0, -1)},${others}}`]) {
        const response = await client.post(body, client.headers())
        expect(response.status).toBe(200)
        expect(response.json.id).toBe('exact')
        expect(response.json.result?.content?.[0]?.text).toBe('{"a":1}')
      }
      await refusesBody(-32600, `{"jsonrpc":"2.0","id":1,"method${nul}":"ping"}`, 1)
    })

    it('takes __proto__ and constructor for keys like any other', async () => {
      const args = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}'
      const body = `{"__proto__":{"polluted":"yes"},${good('keys').slice(1).replace('{"a":1}', args)}`
      const response = await client.post(body, client.headers())
      expect(response.status).toBe(200)
      expect(response.json.result?.content?.[0]?.text).toBe(args)
      const looked = await client.post(client.call(2, 'polluted'))
      expect(looked.json.result?.content?.[0]?.text).toBe('undefined')
      await refusesBody(-32600, '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}')
      await client.stillServes()
    })

    it.each([
      'null',
      '1.5',
      'true',
      '[1]',
      '{"a":1}',
      '9007199254740993',
      '-9007199254740993',
      '1e400',
      '123456789012345678901234567890',
    ])('refuses a request with the id %s [RPC-002, RPC-003]', async (id) => {
      await refusesBody(-32600, good().replace('"id":1', `"id":${id}`))
      await refusesBody(-32600, client.initialize(1).replace('"id":1', `"id":${id}`))
    })

    it('CVE-2025-53366: a request that fails validation harms no later one', async () => {
      const broken = [
        { method: 'tools/call', params: { name: 7 } },
        { method: 'tools/call', params: { name: 'echo', arguments: 'x' } },
        { method: 'tools/call', params: { name: 'no such tool' } },
        { method: 'tools/call', params: { name: 'echo', _meta: { progressToken: {} } } },
        { method: 'tools/list', params: { cursor: 5 } },
        { method: 'resources/read', params: { uri: '::' } },
        { method: 'completion/complete', params: { ref: { type: 'ref/none' } } },
        { method: 'no/such/method', params: {} },
        { method: '', params: {} },
        { method: 'x'.repeat(10_000), params: {} },
      ]
      for (const { method, params } of broken) {
        const response = await client.post(client.request('v', method, params), {
          'Mcp-Method': revision === modern ? method.slice(0, 8_000) : undefined,
          'Mcp-Name': revision === modern ? String(params.name ?? params.uri ?? '') : undefined,
        })
        expect(response.json.error).toEqual({ code: expect.any(Number), message: expect.any(String) })
        expect(response.json.error!.code).toBeLessThan(-32000)
        expect(response.json.id).toBe('v')
      }
      await client.stillServes()
    })
  })
})

describe.each([...sessionRevisions])('a session over HTTP that is abused (%s)', (revision) => {
  const owned = (user: string) => ({ 'X-User': user })

  async function serveUsers() {
    const server = createServer()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.registerTool('wait', {}, async (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'begun' })
      await held
      return 'waited'
    })
    const served = await serve(server, { principal: (request) => request.header('x-user') })
    return { server, served, release }
  }

  it.each(['CVE-2026-52869', 'CVE-2026-67431'])(
    '%s: is of no use to anybody but who opened it, by any method [SESS-012, SESS-014]',
    async () => {
      const { served, release } = await serveUsers()
      const alice = await RawClient.open(served.port, revision, owned('alice'))
      const stream = await alice.listen()
      const called = await alice.stream(alice.call('w', 'wait'))
      await called.message(({ method }) => method === 'notifications/message')
      for (const thief of [
        owned('mallory'),
        owned(''),
        owned('Alice'),
        owned('alice, alice'),
        { 'X-User': undefined },
      ]) {
        expectRefusal(await alice.post(alice.call(1, 'echo'), thief), 404, -32001)
        expectRefusal(await alice.post(alice.initialize(1), thief), 404, -32001)
        expectRefusal(await alice.post('{"jsonrpc":"2.0","id":"w","result":{}}', thief), 404, -32001)
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } }
        expectRefusal(await alice.post(JSON.stringify(cancel), thief), 404, -32001)
        expectRefusal(await alice.get(thief), 404, -32001)
        expectRefusal(await alice.get({ ...thief, 'Last-Event-ID': `${alice.sessionId}/1/1` }), 404, -32001)
        expectRefusal(await alice.delete(thief), 404, -32001)
      }
      release()
      expect((await called.message(({ id }) => id === 'w')).result?.content?.[0]?.text).toBe('waited')
      expect(stream.connection.ended).toBe(false)
      await alice.stillServes()
    },
  )

  it('tells a session of somebody else from none by nothing that it says', async () => {
    const { served } = await serveUsers()
    const alice = await RawClient.open(served.port, revision, owned('alice'))
    const foreign = await alice.post(alice.call(1, 'echo'), owned('mallory'))
    const unknown = await alice.post(alice.call(1, 'echo'), { 'Mcp-Session-Id': 'x'.repeat(43) })
    const dated = (headers: ReadonlyMap<string, string>) => new Map([...headers].filter(([name]) => name !== 'date'))
    expect({ ...foreign, headers: dated(foreign.headers), body: 0 }).toEqual({
      ...unknown,
      headers: dated(unknown.headers),
      body: 0,
    })
  })

  it('CVE-2026-33946: a second GET replaces nobody: each message goes to the stream that was there first [HTTP-036]', async () => {
    const { server, served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const first = await client.listen()
    const second = await client.listen()
    server.server.sendLoggingMessage({ level: 'info', data: 'for the first' })
    expect((await first.message()).params?.data).toBe('for the first')
    await client.stillServes()
    const messages = () => second.connection.waiting.toString().includes('for the first')
    expect(messages()).toBe(false)
    first.connection.destroy()
    await eventually(() => served.metrics.streams === 1)
  })

  it('refuses session ids that are unknown, mad or given twice, and makes none of them its own [SESS-008]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const own = client.sessionId!
    const ids = [
      'x',
      '',
      `${own} `.trim().slice(1),
      own.toUpperCase(),
      '../..',
      '__proto__',
      'constructor',
      '\u00e9',
      'a b',
      'x'.repeat(10_000),
    ]
    for (const id of [...ids, [own, own], [own, 'x'], ['x', own]]) {
      expectRefusal(await client.post(client.call(1, 'echo'), { 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.get({ 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.delete({ 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.post(client.initialize(), { 'Mcp-Session-Id': id }), 404, -32001)
    }
    expect(served.metrics.sessions.opened).toBe(1)
    await client.stillServes()
  })

  it('refuses what needs a session and has none [SESS-006]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const none = { 'Mcp-Session-Id': undefined }
    expectRefusal(await client.post(client.call(1, 'echo'), none), 400, -32000)
    expectRefusal(await client.post('{"jsonrpc":"2.0","method":"notifications/initialized"}', none), 400, -32000)
    expectRefusal(await client.post(`[${client.initialize()}]`, none), 400, -32000)
    expectRefusal(await client.get(none), 400, -32000)
    expectRefusal(await client.delete(none), 400, -32000)
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('refuses a second initialize, also in a batch, and goes on with the first [RPC-022]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    expectRefusal(await client.post(client.initialize(7)), 400, -32600)
    const other = client.initialize(7).replace(revision, '2024-11-05')
    expectRefusal(await client.post(other), 400, -32600)
    if (revision === '2025-03-26') {
      const [answer] = (await client.post(`[${client.initialize(8)}]`)).json as unknown as { error: { code: number } }[]
      expect(answer?.error.code).toBe(-32600)
    }
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('keeps no session for an initialize that fails', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    for (const body of [
      '{"jsonrpc":"2.0","id":1,"method":"initialize"}',
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
      '{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}',
      '{"id":1,"method":"initialize","params":{}}',
      client.initialize(1).replace('"capabilities":{}', '"capabilities":7'),
    ]) {
      const response = await client.post(body, { 'Mcp-Session-Id': undefined, 'MCP-Protocol-Version': undefined })
      expect([-32600, -32602]).toContain(response.json.error?.code)
      expect(response.headers.get('mcp-session-id')).toBeUndefined()
    }
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('is over after DELETE, for every method, and its streams end [SESS-008]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const stream = await client.listen()
    expect((await client.delete()).status).toBe(200)
    expect(await stream.rest()).toEqual([])
    expectRefusal(await client.post(client.call(1, 'echo')), 404, -32001)
    expectRefusal(await client.get(), 404, -32001)
    expectRefusal(await client.get({ 'Last-Event-ID': `${client.sessionId}/1/1` }), 404, -32001)
    expectRefusal(await client.delete(), 404, -32001)
    expect(served.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
    const other = await RawClient.open(served.port, revision)
    await other.stillServes()
  })

  it('refuses a Last-Event-ID that is forged, foreign, mad or given twice, and replays nothing [SSE-017]', async () => {
    const { server, served } = await serveUsers()
    const [alice, bob] = [await RawClient.open(served.port, revision), await RawClient.open(served.port, revision)]
    const stream = await alice.listen()
    server.server.sendLoggingMessage({ level: 'info', data: 'a secret of alice' })
    const { id } = (await stream.next(({ data }) => Boolean(data)))!
    const number = Number(id!.slice(id!.lastIndexOf('/') + 1))
    const [session, at] = [bob.sessionId!, id!.slice(0, id!.lastIndexOf('/'))]
    const ids = [
      id!,
      `${at}/${number - 1}`,
      `${at}/0`,
      `${at}/-1`,
      `${at}/`,
      `${session}/1/${number}`,
      `${session}/1/${number - 1}`,
      `${session}/../${alice.sessionId}/1/${number - 1}`,
      `${session}`,
      `${session}/`,
      `${session}/__proto__/1`,
      '__proto__/1',
      '',
      '0',
      '\u00e9',
      'x'.repeat(10_000),
      [id!, id!],
    ]
    for (const lastEventId of ids) expectRefusal(await bob.get({ 'Last-Event-ID': lastEventId }), 400, -32000)
    // The one before the first message is the event that opens the stream on 2025-11-25, and alice's own.
    for (const lastEventId of ids.slice(2))
      expectRefusal(await alice.get({ 'Last-Event-ID': lastEventId }), 400, -32000)
    await alice.stillServes()
    await bob.stillServes()
  })

  it('refuses a request whose id is still in progress, and a foreign client with the same id is not meant', async () => {
    const { served, release } = await serveUsers()
    const [alice, bob] = [await RawClient.open(served.port, revision), await RawClient.open(served.port, revision)]
    const called = await alice.stream(alice.call('same', 'wait'))
    await called.message()
    expectRefusal(await alice.post(alice.call('same', 'echo')), 400, -32600)
    expect((await bob.post(bob.call('same', 'echo', { bob: 1 }))).json.result?.content?.[0]?.text).toBe('{"bob":1}')
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'same' } }
    expect((await bob.post(JSON.stringify(cancel))).status).toBe(202)
    release()
    expect((await called.message(({ id }) => id === 'same')).result?.content?.[0]?.text).toBe('waited')
  })

  it('CVE-2025-53365: goes on when clients vanish in the middle of their streams', async () => {
    const { server, served, release } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const streams = [await client.stream(client.call('gone', 'wait')), await client.listen()]
    await streams[0]!.message()
    for (const stream of streams) stream.connection.socket.resetAndDestroy()
    for (let at = 0; at < 50; at++) server.server.sendLoggingMessage({ level: 'info', data: 'x'.repeat(10_000) })
    release()
    await eventually(() => served.metrics.streams === 0)
    await client.stillServes()
  })

  it('refuses more streams than one session may have', async () => {
    const served = await serve(createServer(), { maxStreamsPerSession: 2 })
    const client = await RawClient.open(served.port, revision)
    const streams = [await client.listen(), await client.listen()]
    const refused = await client.get()
    expectRefusal(refused, 429, -32000)
    expect(refused.headers.get('retry-after')).toBeDefined()
    streams[0]!.connection.destroy()
    await eventually(() => served.metrics.streams === 1)
    await client.listen()
    await client.stillServes()
  })
})

describe('the old transport that is sent bad input (2024-11-05)', () => {
  async function serveOld(users = false) {
    return serve(createServer(), {
      sse: true,
      maxBodyBytes,
      bodyTimeoutMs,
      ...(users && { principal: (request) => request.header('x-user') }),
    })
  }

  it('CVE-2026-34237: says nothing to pages, on either route [HTTP-003]', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    expect([...client.stream.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    for (const origin of ['http://evil.example', 'null']) {
      expectRefusal(await client.get({ Origin: origin }), 403, -32000)
      expectRefusal(await client.post('{}', { Origin: origin }), 403, -32000)
    }
    await client.stillServes()
  })

  it('CVE-2025-66416: a page that rebinds its name is refused on either route', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    for (const more of [{}, { Origin: `http://evil.example:${served.port}` }]) {
      expectRefusal(await client.get({ Host: `evil.example:${served.port}`, ...more }), 403, -32000)
      expectRefusal(await client.post('{}', { Host: `evil.example:${served.port}`, ...more }), 403, -32000)
    }
    await client.stillServes()
  })

  it('CVE-2026-52869: a session id is of no use to anybody else', async () => {
    const served = await serveOld(true)
    const client = await OldClient.open(served.port, { 'X-User': 'alice' })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    for (const user of ['mallory', '', undefined]) {
      expectRefusal(await client.post(body, { 'X-User': user }), 404, -32001)
    }
    for (const query of ['', '?sessionId=', '?sessionId=x', '?sessionId=__proto__']) {
      expectRefusal(await client.post(body, {}, `/messages${query}`), 404, -32001)
    }
    await client.stillServes()
  })

  it('refuses bodies that are too large, too slow, or no message', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    const length = (value: number) => ({ 'Content-Length': String(value) })
    expectRefusal(await client.post('', length(maxBodyBytes + 1)), 413, -32000)
    expectRefusal(await client.post('{"jsonrpc"', length(100)), 408, -32000)
    expectRefusal(await client.post('{}', { 'Content-Type': 'text/plain' }), 415, -32000)
    expectRefusal(await client.post('{"jsonrpc":'), 400, -32700)
    expectRefusal(await client.post(Buffer.from([0x22, 0xff, 0x22])), 400, -32700)
    expectRefusal(await client.post('['.repeat(100_000) + ']'.repeat(100_000)), 400, -32600)
    expectRefusal(await client.post('{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"ping"}'), 400, -32600)
    await client.stillServes()
  })

  it('refuses a body in an encoding with the same words as the new transport', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    expectRefusal(await client.post(gzipSync('{}'), { 'Content-Encoding': 'gzip' }), 415, -32000)
    await client.stillServes()
  })

  it.each(['PUT', 'DELETE', 'OPTIONS', 'TRACE'])('refuses the method %s on either route [HTTP-030]', async (method) => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    for (const path of ['/sse', client.endpoint]) {
      const response = await client.exchange(method, path)
      expectRefusal(response, 405, -32000)
      expect(response.headers.get('allow')).toBeDefined()
    }
    await client.stillServes()
  })

  it('forgets who is gone, and refuses what is posted for them', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    client.stream.connection.socket.resetAndDestroy()
    await eventually(() => served.metrics.streams === 0)
    expectRefusal(await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}'), 404, -32001)
  })
})

describe('every door', () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  /** Serves by `node:http` what the handler makes of it, and posts to it under a name that was rebound. */
  async function rebind(answer: (request: IncomingMessage, response: ServerResponse) => void, method = 'POST') {
    const port = await listen(answer)
    const client = new RawClient(port, '2025-11-25')
    const good = await client.post(body)
    expect(good.status).toBe(200)
    for (const origin of [undefined, `http://evil.example:${port}`]) {
      const more = { Host: `evil.example:${port}`, Origin: origin, 'Content-Length': String(body.length) }
      expectRefusal(await client.exchange(toBytes(method, '/mcp', client.headers('', '', more), body)), 403, -32000)
    }
    expectRefusal(
      await client.exchange(
        toBytes(
          method,
          '/mcp',
          client.headers('', '', { Origin: 'http://evil.example', 'Content-Length': String(body.length) }),
          body,
        ),
      ),
      403,
      -32000,
    )
    return client
  }

  it('CVE-2026-34742: createMcpHandler().node refuses names that were rebound, without any option', async () => {
    const handler = createMcpHandler(createServer())
    await rebind((request, response) => handler.node(request, response))
    await handler.close()
  })

  it('GHSA-8jxr-pr72-r468: createMcpHandler().fetch refuses names that were rebound, without any option', async () => {
    const handler = createMcpHandler(createServer())
    const ask = async (url: string, more: Record<string, string> = {}) =>
      (await handler.fetch(new Request(url, { method: 'POST', headers: { ...headers, ...more }, body }))).status
    expect(await ask('http://127.0.0.1:3000/mcp')).toBe(200)
    expect(await ask('http://evil.example:3000/mcp')).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { origin: 'http://evil.example' })).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { host: 'evil.example' })).toBe(403)
    expect(await ask('http://127.0.0.1:3000/mcp', { origin: 'null' })).toBe(403)
    await handler.close()
  })

  it('CVE-2026-42559: StreamableHTTPServerTransport refuses names that were rebound, without any option', async () => {
    const server = createServer()
    await rebind(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      response.on('close', () => void transport.close())
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
  })

  it('CVE-2026-63118: SSEServerTransport refuses names that were rebound, without any option', async () => {
    const server = createServer()
    const transports = new Map<string, SSEServerTransport>()
    const port = await listen(async (request, response) => {
      if (request.method === 'GET') {
        const transport = new SSEServerTransport('/messages', response)
        transports.set(transport.sessionId, transport)
        await server.connect(transport).catch(() => {})
        return
      }
      const id = new URL(request.url!, 'http://localhost').searchParams.get('sessionId')!
      await transports.get(id)!.handlePostMessage(request, response)
    })
    const client = await OldClient.open(port)
    for (const more of [
      { Host: 'evil.example' },
      { Host: 'evil.example', Origin: 'http://evil.example' },
      { Origin: 'http://evil.example' },
    ]) {
      expectRefusal(await client.get(more), 403, -32000)
      expectRefusal(await client.post('{}', more), 403, -32000)
    }
    expectRefusal(await client.post('{"jsonrpc":"2.0"}'), 400, -32600)
    expectRefusal(await client.post('{'), 400, -32700)
    expectRefusal(await client.post('', { 'Content-Length': '999999999' }), 413, -32000)
    expectRefusal(await client.post('{}', { 'Content-Type': 'text/plain' }), 415, -32000)
    await client.stillServes()
    client.stream.connection.destroy()
  })

  it('csharp-sdk #1520: DELETE, PUT and OPTIONS are refused under names that were rebound as well', async () => {
    const handler = createMcpHandler(createServer(), { cors: { origins: ['http://app.example'] } })
    for (const method of ['DELETE', 'PUT', 'OPTIONS', 'PATCH']) {
      await rebind((request, response) => handler.node(request, response), method)
    }
    await handler.close()
  })

  it('PR #2698: createMcpHandler().fetch bounds bodies at 4 MiB and batches at 100, without any option', async () => {
    const handler = createMcpHandler(createServer(), { stateless: true })
    const post = (text: string | ReadableStream, more: Record<string, string> = {}) =>
      handler.fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: { ...headers, ...more },
          body: text,
          ...(typeof text !== 'string' && { duplex: 'half' }),
        } as RequestInit),
      )
    const limit = 4 * 1024 * 1024
    const large = await post(' '.repeat(limit + 1))
    expect([large.status, ((await large.json()) as Message).error?.code]).toEqual([413, -32000])
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 0x10000
        controller.enqueue(new Uint8Array(0x10000).fill(32))
      },
    })
    expect((await post(endless)).status).toBe(413)
    expect(pulled).toBeLessThan(2 * limit)
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const batch = (length: number) => `[${Array.from({ length }, (_, at) => ping.replace('1', String(at))).join(',')}]`
    const version = { 'mcp-protocol-version': '2025-03-26' }
    expect((await post(batch(100), version)).status).toBe(200)
    const long = await post(batch(101), version)
    expect([long.status, ((await long.json()) as Message).error?.code]).toEqual([400, -32600])
    await handler.close()
  })

  it('CVE-2026-0621: an exploded template does not pin the processor', async () => {
    const server = createServer()
    server.registerResource('files', new ResourceTemplate('x://files{/path*}{?query*}'), {}, () => 'found')
    const served = await serve(server)
    const client = await RawClient.open(served.port, '2025-11-25')
    for (const uri of [
      `x://files${'/a'.repeat(50_000)}\u0000`,
      `x://files${',a=a'.repeat(50_000)}!`,
      `x://files?${'a=,'.repeat(50_000)}`,
    ]) {
      const response = await client.post(client.request(1, 'resources/read', { uri }))
      expect(response.json.id).toBe(1)
    }
    await client.stillServes()
  })

  it('createMcpHandler().node overlooks no header, however many tiny ones come before it', async () => {
    const handler = createMcpHandler(createServer())
    const port = await listen((request, response) => handler.node(request, response))
    const client = new RawClient(port, '2025-11-25')
    const head = toHead('POST', '/mcp', client.headers('', '', { 'Content-Length': String(body.length) })).toString()
    for (const count of [998, 1_500, 2_000, 3_000]) {
      const bytes = `${head.slice(0, -2)}${'a:\r\n'.repeat(count)}Origin: http://evil.example\r\n\r\n${body}`
      const response = await client.exchange(bytes)
      expect([403, 431]).toContain(response.status)
      // Since Node 24 the HTTP server of Node itself answers too many headers, with 431 and no body.
      if (response.status === 403 || response.text !== '') expectRefusal(response, response.status, -32000)
    }
    expect((await client.post(body)).status).toBe(200)
    await handler.close()
  })

  it('a message with very many members does not pin the processor', async () => {
    const served = await serve(createServer())
    const client = new RawClient(served.port, modern)
    // In quadratic time this many would take longer than the test may.
    const members = Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`).join(',')
    const body = `{${members},${client.call('wide', 'echo', {}).slice(1)}`
    const response = await client.post(body)
    expect(response.json.id).toBe('wide')
    await client.stillServes()
  })

  it('a transport that is not connected says so to node:http', async () => {
    const transport = new StreamableHTTPServerTransport({})
    const port = await listen((request, response) => void transport.handleRequest(request, response))
    expectRefusal(await new RawClient(port, '2025-11-25').post(body), 500, -32000)
  })

  it('a transport that is not connected says so to fetch', async () => {
    const transport = new StreamableHTTPServerTransport({})
    const asked = transport.handleFetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body }))
    expect(await asked).toMatchObject({ status: 500 })
  })
})
