import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { createServer, expectRefusal, OldClient, serve } from './support.ts'

const maxBodyBytes = 1_000_000
const bodyTimeoutMs = 1_000

describe('the HTTP+SSE transport with bad input (2024-11-05)', () => {
  async function serveOld(users = false) {
    return serve(createServer(), {
      sse: true,
      maxBodyBytes,
      bodyTimeoutMs,
      ...(users && { principal: (request) => request.header('x-user') }),
    })
  }

  it('CVE-2026-34237: rejects web pages on both routes [HTTP-003]', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    expect([...client.stream.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    for (const origin of ['http://evil.example', 'null']) {
      expectRefusal(await client.get({ Origin: origin }), 403, -32000)
      expectRefusal(await client.post('{}', { Origin: origin }), 403, -32000)
    }
    await client.stillServes()
  })

  it('CVE-2025-66416: rejects a page that rebinds its name on both routes', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    for (const more of [{}, { Origin: `http://evil.example:${served.port}` }]) {
      expectRefusal(await client.get({ Host: `evil.example:${served.port}`, ...more }), 403, -32000)
      expectRefusal(await client.post('{}', { Host: `evil.example:${served.port}`, ...more }), 403, -32000)
    }
    await client.stillServes()
  })

  it('CVE-2026-52869: rejects a session id used by another caller', async () => {
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

  it('rejects bodies that are too large, too slow or not a message', async () => {
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

  it('rejects a compressed body with 415, like Streamable HTTP', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    expectRefusal(await client.post(gzipSync('{}'), { 'Content-Encoding': 'gzip' }), 415, -32000)
    await client.stillServes()
  })

  it.each(['PUT', 'DELETE', 'OPTIONS', 'TRACE'])('rejects the method %s on both routes [HTTP-030]', async (method) => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    for (const path of ['/sse', client.endpoint]) {
      const response = await client.exchange(method, path)
      expectRefusal(response, 405, -32000)
      expect(response.headers.get('allow')).toBeDefined()
    }
    await client.stillServes()
  })

  it('removes a session whose stream is lost, and rejects messages for it', async () => {
    const served = await serveOld()
    const client = await OldClient.open(served.port)
    client.stream.connection.socket.resetAndDestroy()
    await eventually(() => served.metrics.streams === 0)
    expectRefusal(await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}'), 404, -32001)
  })
})
