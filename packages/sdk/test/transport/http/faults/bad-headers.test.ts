import { type ServingHttp, serveHttp } from 'tenon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, type RawHeaders, toBytes, toHead } from '../../../kit/raw-http.ts'
import { type HttpRevision, httpRevisions, modern } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, RawClient } from './support.ts'

const maxBodyBytes = 1_000_000
const bodyTimeoutMs = 1_000
const errors: unknown[] = []

const ofModern = (revision: HttpRevision, then: number, before: number) => (revision === modern ? then : before)

let http: ServingHttp
beforeAll(async () => {
  const server = createServer({ onError: (error) => errors.push(error) })
  http = await serveHttp(server, { port: 0, exit: false, maxBodyBytes, bodyTimeoutMs })
})
afterAll(async () => {
  await eventually(() => http.metrics.calls === 0 && http.metrics.streams === 0)
  expect(errors).toEqual([])
  await http.close()
})

describe.each([...httpRevisions])('a server that receives bad headers over HTTP (%s)', (revision) => {
  let client: RawClient
  beforeAll(async () => {
    client = await RawClient.open(http.port, revision)
  })

  /** A valid call, sent with the given headers. */
  const good = (id: unknown = 1) => client.call(id, 'echo', { a: 1 })
  async function refuses(status: number, code: number, headers: RawHeaders, body: string | Uint8Array = good()) {
    expectRefusal(await client.post(body, headers), status, code)
    await client.stillServes()
  }
  /** The head of a valid call, for tests that write the body themselves. */
  const head = (more: RawHeaders) => toHead('POST', '/mcp', client.headers('tools/call', 'echo', more))

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
    ])('CVE-2026-33252: rejects the content type %j, which a web page can post without a preflight', async (type) => {
      await refuses(415, -32000, { 'Content-Type': type })
    })

    it('rejects a POST with two content types', async () => {
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
    ])('rejects a POST with Accept: %j', async (accept) => {
      await refuses(406, -32000, { Accept: accept })
    })

    it('combines two Accept headers', async () => {
      const response = await client.post(good(), { Accept: ['application/json', 'text/event-stream'] })
      expect(response.status).toBe(200)
    })

    it.each([
      ['two that differ', ['evil.example', '127.0.0.1']],
      ['two that differ, the valid one first', ['127.0.0.1', 'evil.example']],
      ['two that are equal', ['127.0.0.1', '127.0.0.1']],
    ])('rejects %s Host headers', async (_what, hosts) => {
      const response = await client.post(good(), { Host: hosts })
      expect([400, 403]).toContain(response.status)
      expectRefusal(response, response.status, -32000)
      await client.stillServes()
    })

    it.each([
      ['equal', '2'],
      ['different', '3'],
    ])('rejects two Content-Length headers that are %s', async (_what, second) => {
      const bytes = Buffer.concat([head({ 'Content-Length': ['2', second] }), Buffer.from('{}')])
      expectRefusal(await client.exchange(bytes), 400, -32000)
      await client.stillServes()
    })

    it.each(['chunked', 'Chunked', 'identity, chunked', 'xchunked'])(
      'rejects Content-Length with Transfer-Encoding: %s, which allows request smuggling',
      async (encoding) => {
        const smuggled = toBytes('POST', '/mcp', client.headers(), '')
        using connection = await RawConnection.open(http.port)
        connection
          .write(head({ 'Content-Length': '4', 'Transfer-Encoding': encoding }))
          .write('0\r\n\r\n')
          .write(smuggled)
        expectRefusal(await connection.response(), 400, -32000)
        await connection.closed()
        // Nothing after it was read as a request.
        expect(connection.waiting.toString()).toBe('')
        await client.stillServes()
      },
    )

    it('rejects two MCP-Protocol-Version headers [HTTP-040, HTTP-043]', async () => {
      const code = ofModern(revision, -32020, -32000)
      await refuses(400, code, { 'MCP-Protocol-Version': [revision, revision] })
      await refuses(400, code, { 'MCP-Protocol-Version': [revision, '2025-06-18'] })
    })

    it('rejects two Mcp-Method and two Mcp-Name headers [HDR-007, HDR-008, HDR-009]', async () => {
      const code = ofModern(revision, -32020, -32001)
      await refuses(400, code, { 'Mcp-Method': ['tools/call', 'tools/call'] })
      await refuses(400, code, { 'Mcp-Method': ['tools/call', 'tools/list'] })
      await refuses(400, code, { 'Mcp-Method': 'tools/call', 'Mcp-Name': ['echo', 'echo'] })
      await refuses(400, code, { 'Mcp-Method': 'tools/call', 'Mcp-Name': ['other', 'echo'] })
    })

    it.each([
      ['a bare CR', 'a\rb'],
      ['a bare CR followed by a header', 'a\rOrigin: http://127.0.0.1'],
      ['a NUL', 'a\0b'],
      ['a line feed without CR', 'a\nb'],
      ['DEL', 'a\x7fb'],
      ['another control byte', 'a\x01b'],
    ])('rejects a header value with %s', async (_what, value) => {
      for (const name of ['X-Other', 'Mcp-Method', 'Mcp-Session-Id', 'Origin']) {
        const response = await client.post(good(), { [name]: value })
        expect(response.status).toBe(400)
        expectRefusal(response, 400, -32000)
      }
      await client.stillServes()
    })

    it('rejects a header value that continues on the next line', async () => {
      for (const fold of ['\r\n b', '\r\n\tb'])
        expectRefusal(await client.post(good(), { 'X-Other': `a${fold}` }), 400, -32000)
      await client.stillServes()
    })

    it.each([
      ['a space before the colon', 'X-Other : a'],
      ['no colon', 'X-Other'],
      ['a space in its name', 'X Other: a'],
      ['no name', ': a'],
      ['a name that is not ASCII', 'X-\u00e9: a'],
    ])('rejects a header with %s', async (_what, line) => {
      const bytes = head({ 'Content-Length': '2' }).toString('latin1').replace('\r\n\r\n', `\r\n${line}\r\n\r\n{}`)
      expectRefusal(await client.exchange(bytes), 400, -32000)
      await client.stillServes()
    })

    it('rejects non-ASCII bytes in the headers that it uses, and ignores them in others', async () => {
      await refuses(400, ofModern(revision, -32020, -32000), { 'MCP-Protocol-Version': '\u00e9' })
      await refuses(400, ofModern(revision, -32020, -32001), { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'ech\u00f6' })
      await refuses(403, -32000, { Origin: 'http://127.0.0.1\u00e9' })
      await refuses(403, -32000, { Host: '127.0.0.1\u00e9' })
      expect((await client.post(good(), { 'X-Other': '\u00e9\u00ff\u0080' })).status).toBe(200)
    })

    it('trims only space and tab around header values [HDR-012]', async () => {
      for (const blank of ['\u00a0', '\u0085', '\u000b']) {
        const version = await client.post(good(), { 'MCP-Protocol-Version': `${revision}${blank}` })
        expect(version.status).toBe(400)
        expect((await client.post(good(), { 'Mcp-Method': `tools/call${blank}` })).status).toBe(400)
        expect((await client.post(good(), { 'Mcp-Method': 'tools/call', 'Mcp-Name': `${blank}echo` })).status).toBe(400)
      }
      await client.stillServes()
    })

    it('rejects a header of 20 KB [HDR-048]', async () => {
      await refuses(431, -32000, { 'X-Other': 'x'.repeat(20_000) })
    })

    it('rejects 2,000 headers of normal size [HDR-048]', async () => {
      const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`X-Other-${index}`, 'value']))
      await refuses(431, -32000, many)
    })

    it('does not miss a header after thousands of tiny ones', async () => {
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

    it('never echoes a session id sent by the client [HTTP-059]', async () => {
      const response = await client.post(good(), revision === modern ? { 'Mcp-Session-Id': ['a', 'b'] } : {})
      expect(response.status).toBe(200)
      expect(response.headers.get('mcp-session-id')).toBeUndefined()
    })
  })

  describe('the request line', () => {
    it.each(['PUT', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND'])(
      'rejects the method %s and lists the allowed ones [HTTP-030]',
      async (method) => {
        const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(good().length) })
        const response = await client.exchange(toBytes(method, '/mcp', headers, good()), method)
        expectRefusal(response, 405, -32000)
        expect(response.headers.get('allow')).toBe('GET, POST, DELETE')
        // TRACE must not reveal headers that a proxy added.
        expect(response.text).not.toContain('echo')
        await client.stillServes()
      },
    )

    it('rejects HEAD without a body', async () => {
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
    ])('rejects the request line %j', async (line) => {
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

    it('answers HTTP/1.0 and requires a Host header there too', async () => {
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

    it('rejects HTTP/1.1 without a Host header', async () => {
      expect((await client.post(good(), { Host: undefined })).status).toBe(400)
      await client.stillServes()
    })

    it('CVE-2026-59950: never upgrades to a WebSocket, with or without an Origin', async () => {
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

    it('rejects an unknown Expect header and answers 100-continue', async () => {
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

    it('CVE-2026-33252: rejects every foreign Origin on every method [HTTP-003, HTTP-004]', async () => {
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

    it('rejects two Origin headers, even if one of them is allowed', async () => {
      const own = `http://127.0.0.1:${http.port}`
      await refuses(403, -32000, { Origin: [own, 'http://evil.example'] })
      await refuses(403, -32000, { Origin: ['http://evil.example', own] })
    })

    it('CVE-2026-34237: sends no CORS headers by default, so no web page can read a response', async () => {
      const own = `http://127.0.0.1:${http.port}`
      for (const origin of [own, 'http://localhost:9999']) {
        const response = await client.post(good(), { Origin: origin })
        expect(response.status).toBe(200)
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      }
      const preflight = { Origin: own, 'Access-Control-Request-Method': 'POST' }
      expectRefusal(await client.exchange(toBytes('OPTIONS', '/mcp', client.getHeaders(preflight))), 405, -32000)
    })

    it('CVE-2025-66414: rejects a page that rebinds its name, with and without an Origin [HTTP-003]', async () => {
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
})
