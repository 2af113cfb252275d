import { gzipSync } from 'node:zlib'
import { type ServingHttp, serveHttp } from 'tenon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, type RawHeaders, toHead } from '../../../kit/raw-http.ts'
import { httpRevisions, modern } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, RawClient } from './support.ts'

const maxBodyBytes = 1_000_000
const bodyTimeoutMs = 1_000
const errors: unknown[] = []

let http: ServingHttp
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

describe.each([...httpRevisions])('a server that receives bad input over HTTP (%s)', (revision) => {
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
  async function refusesBody(code: number, body: string | Uint8Array, id?: unknown) {
    const response = await client.post(body, { 'Mcp-Method': undefined, 'Mcp-Name': undefined })
    expectRefusal(response, 400, code)
    if (id !== undefined) expect(response.json.id).toBe(id)
    else expect(response.json.id ?? null).toBeNull()
    await client.stillServes()
  }
  /** The head of a valid call, for tests that write the body themselves. */
  const head = (more: RawHeaders) => toHead('POST', '/mcp', client.headers('tools/call', 'echo', more))

  describe('the body', () => {
    it('CVE-2026-67432: rejects a body whose Content-Length is too large before reading it', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': String(maxBodyBytes + 1) }))
      expectRefusal(await connection.response(), 413, -32000)
      await connection.closed()
      await client.stillServes()
    })

    it('CVE-2026-67432: rejects a chunked body as soon as it is too large', async () => {
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

    it('accepts a body of exactly maxBodyBytes', async () => {
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
    ])('rejects the Content-Length %s', async (length) => {
      expectRefusal(await client.exchange(head({ 'Content-Length': length })), 400, -32000)
      await client.stillServes()
    })

    it('times out on a chunked body that never ends', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Transfer-Encoding': 'chunked' }))
      const drip = setInterval(() => connection.write('1\r\n \r\n'), 20)
      expectRefusal(await connection.response(), 408, -32000)
      await connection.closed()
      clearInterval(drip)
      await client.stillServes()
    })

    it('times out on a body that stalls', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': '500' })).write('{"jsonrpc":"2.0",')
      expectRefusal(await connection.response(), 408, -32000)
      await connection.closed()
      await client.stillServes()
    })

    it('CVE-2025-53365: keeps serving when the client disconnects in the middle of its body', async () => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Content-Length': '500' })).write('{"jsonrpc":"2.0",')
      await client.stillServes()
      connection.socket.resetAndDestroy()
      await client.stillServes()
    })

    it.each([
      ['a size that is not a number', 'zz\r\n{}\r\n0\r\n\r\n'],
      ['a negative size', '-5\r\nhello\r\n0\r\n\r\n'],
      ['a size that overflows', 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
      ['more data than its size', '2\r\n{"a":1}\r\n0\r\n\r\n'],
    ])('rejects a chunk with %s', async (_what, chunks) => {
      using connection = await RawConnection.open(http.port)
      connection.write(head({ 'Transfer-Encoding': 'chunked' })).write(chunks)
      expectRefusal(await connection.response(), 400, -32000)
      await client.stillServes()
    })

    it.each(['gzip', 'br', 'deflate', 'gzip, identity', 'x-unknown'])(
      'rejects a body with the encoding %s without decompressing it',
      async (encoding) => {
        await refuses(415, -32000, { 'Content-Encoding': encoding }, gzipSync(good()))
      },
    )
  })

  describe('JSON', () => {
    it('rejects a body that is not UTF-8 [RPC-019]', async () => {
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
    ])('rejects %s as invalid JSON [RPC-024]', async (_what, body) => {
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
    ])('rejects the JSON %s as an invalid message [RPC-025]', async (body) => {
      await refusesBody(-32600, body)
    })

    it('PR #2698: rejects a batch of 10,000 messages and runs none of them [RPC-025]', async () => {
      const before = echoed
      const member = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'
      await refusesBody(-32600, `[${Array.from({ length: 10_000 }, () => member).join(',')}]`)
      // stillServes() made the one call.
      expect(echoed).toBe(before + 1)
    })

    it('rejects an empty batch and a nested batch', async () => {
      await refusesBody(-32600, '[]')
      if (revision !== '2025-03-26') await refusesBody(-32600, '[[]]')
    })

    it('rejects 100,000 levels of nesting anywhere in the message', async () => {
      const deep = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`
      for (const nested of [deep('[', ']'), deep('{"":', '}')]) {
        const meta = JSON.stringify(client.params()).slice(1, -1)
        const params = `{${meta}${meta && ','}"name":"echo","arguments":{"a":${nested}}}`
        await refusesBody(-32600, `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${params}}`, 'deep')
      }
      await refusesBody(-32600, deep('[', ']'))
      await refusesBody(-32700, '['.repeat(100_000))
    })

    it('accepts an object with 50,000 members', async () => {
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
    it.each(twice)('rejects a message with a duplicate member: %s [RPC-025]', async (_what, member) => {
      const inner = good().slice(1, -1)
      for (const body of [`{${member},${inner}}`, `{${inner},${member}}`]) {
        const response = await client.post(body, client.headers())
        expectRefusal(response, 400, -32600)
      }
      await client.stillServes()
    })

    it('accepts arguments with the same names as members of the envelope', async () => {
      const args = { id: 1, method: 'x', params: { id: 2, method: 'y' }, jsonrpc: '1', '\u0001': '\u0002' }
      const response = await client.post(client.call(1, 'echo', args))
      expect(JSON.parse(response.json.result!.content![0]!.text)).toEqual(args)
    })

    it('CVE-2026-27896: treats a key that differs in case, or case-folds to the same, as another key', async () => {
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

    it('GHSA-q382-vc8q-7jhj: treats a key that contains NUL as another key', async () => {
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

    it('treats __proto__ and constructor as ordinary keys', async () => {
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
    ])('rejects a request with the id %s [RPC-002, RPC-003]', async (id) => {
      await refusesBody(-32600, good().replace('"id":1', `"id":${id}`))
      await refusesBody(-32600, client.initialize(1).replace('"id":1', `"id":${id}`))
    })

    it('CVE-2025-53366: a request that fails validation does not affect later requests', async () => {
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
        const { message, data } = response.json.error!
        const error = { code: expect.any(Number), message: expect.any(String) }
        // A gateway names the resource that no server has. Details repeat the message, and nothing more.
        const isNamed = process.env.TENON_BEHIND_GATEWAY !== undefined && data !== undefined && !('details' in data)
        const known = isNamed ? { uri: params.uri } : { details: message }
        expect(response.json.error).toEqual(data === undefined ? error : { ...error, data: known })
        expect(response.json.error!.code).toBeLessThan(-32000)
        expect(response.json.id).toBe('v')
      }
      await client.stillServes()
    })
  })
})
