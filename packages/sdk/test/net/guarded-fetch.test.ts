import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose'
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { TimeoutError } from '../../src/errors.ts'
import { guardedFetch } from '../../src/net/guarded-fetch.ts'
import { deferred } from '../../src/util/deferred.ts'
import { failure, json, listen, local, refusal, site } from './guarded-fetch-support.ts'

describe('guarded responses', () => {
  it('does not read a response that declares too large a length', async () => {
    const { origin } = await site(
      (_, response) => void response.writeHead(200, { 'content-length': 100_000_000 }).write('{'),
    )
    expect(await refusal(guardedFetch(local)(origin))).toMatchObject({ rule: 'size', status: 200 })
  })

  it('cuts off an endless response and closes the connection', async () => {
    const ended = deferred<void>()
    const { origin } = await site((_, response) => {
      const chunk = Buffer.alloc(65_536, 'a')
      const more = () => {
        while (!response.destroyed && response.write(chunk)) {}
      }
      response.on('drain', more).on('close', () => ended.resolve())
      more()
    })
    const error = await refusal(guardedFetch(local)(origin))
    expect(error.message).toContain('larger than 1048576 bytes')
    await ended.promise
  })

  it('accepts a response of exactly the limit', async () => {
    const { origin } = await site((_, response) => void response.end('a'.repeat(1_000)))
    expect(await (await guardedFetch({ ...local, maxBytes: 1_000 })(origin)).text()).toHaveLength(1_000)
    expect((await refusal(guardedFetch({ ...local, maxBytes: 999 })(origin))).rule).toBe('size')
  })

  it('asks for an uncompressed response and refuses a compressed one', async () => {
    const { origin, seen } = await site(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    )
    expect((await refusal(guardedFetch(local)(origin))).rule).toBe('encoding')
    expect(seen[0]?.request.headers['accept-encoding']).toBe('identity')
  })

  it.each([
    ['sends a few bytes at a time', 'drip'],
    ['stops after the head', 'stop'],
    ['sends no response', 'silent'],
  ])('times out on a server that %s', async (_, how) => {
    const ended = deferred<void>()
    const { origin } = await site((_, response) => {
      response.on('close', () => ended.resolve())
      if (how !== 'silent') response.write('{')
      if (how !== 'drip') return
      const timer = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(timer))
    })
    const error = await failure(guardedFetch({ ...local, timeoutMs: 200 })(`${origin}/?key=s3cret`))
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error.message).toBe(`${new URL(origin).host} did not answer within 200 ms`)
    await ended.promise
  })

  it('times out when DNS hangs or the fetch ignores its signal', async () => {
    const never = () => new Promise<never>(() => {})
    const slow = { timeoutMs: 50 }
    expect(await failure(guardedFetch({ ...slow, resolve: never })('https://as.example/'))).toBeInstanceOf(TimeoutError)
    expect(await failure(guardedFetch({ ...slow, fetch: never })('https://as.example/'))).toBeInstanceOf(TimeoutError)
    const drip = async () => new Response(new ReadableStream({ pull: never }))
    expect(await failure(guardedFetch({ ...slow, fetch: drip })('https://as.example/'))).toBeInstanceOf(TimeoutError)
  })

  it('stops waiting when the caller aborts', async () => {
    const stop = new AbortController()
    const { origin } = await site(() => stop.abort(new Error('enough')))
    expect((await failure(guardedFetch(local)(origin, { signal: stop.signal }))).message).toBe('enough')
    expect((await failure(guardedFetch(local)(origin, { signal: stop.signal }))).message).toBe('enough')
  })

  it('keeps status and headers and buffers the body', async () => {
    const { origin } = await site((request, response) => {
      if (request.url === '/none') return void response.writeHead(204).end()
      response
        .writeHead(400, { 'content-type': 'application/json', 'dpop-nonce': 'n' })
        .end('{"error":"invalid_grant"}')
    })
    const response = await guardedFetch(local)(`${origin}/token`, { method: 'POST', body: 'a=b' })
    expect([response.status, response.headers.get('dpop-nonce')]).toEqual([400, 'n'])
    expect(await response.json()).toEqual({ error: 'invalid_grant' })
    expect((await guardedFetch(local)(`${origin}/none`)).status).toBe(204)
  })

  it.each([
    ['HTTP/1.1 999 No\r\n\r\n', /has no meaning/],
    ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', /failed/],
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab', /failed/],
    ['SSH-2.0-OpenSSH\r\n', /failed \(HPE_/],
    ['', /failed \(ECONNRESET\)/],
  ])('reports a malformed response: %j', async (bytes, message) => {
    const port = await listen(
      createTcpServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(bytes))),
    )
    const error = await failure(guardedFetch(local)(`http://127.0.0.1:${port}/?key=s3cret`))
    expect(error).toMatchObject({ code: 'http' })
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('s3cret')
  })

  it('reports a refused connection as a request that was not sent', async () => {
    const server = createServer()
    const port = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    const error = await failure(guardedFetch(local)(`http://127.0.0.1:${port}/`))
    expect(error).toMatchObject({
      outcome: 'not-sent',
      message: `127.0.0.1:${port} could not be reached (ECONNREFUSED)`,
    })
  })
})

describe('guarded requests', () => {
  it('sends the body in every form that fetch accepts', async () => {
    const { origin, seen } = await site(json)
    const fetch = guardedFetch(local)
    await fetch(new URL(origin), { method: 'post', body: new URLSearchParams({ a: 'ä b' }), headers: [['X-One', '1']] })
    await fetch(origin, {
      method: 'POST',
      body: '{"a":"ä"}',
      headers: new Headers({ 'content-type': 'application/json' }),
    })
    await fetch(origin, { method: 'POST' })
    expect(seen.map(({ body }) => body)).toEqual(['a=%C3%A4+b', '{"a":"ä"}', ''])
    expect(seen[0]?.request.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      'content-length': '10',
      'x-one': '1',
    })
    expect(seen[1]?.request.headers['content-type']).toBe('application/json')
  })

  it('works as the fetch of oauth4webapi and jose', async () => {
    const { origin } = await site((request, response) => {
      const body = request.url === '/jwks' ? { keys: [] } : { issuer: origin, jwks_uri: `${origin}/jwks` }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    const fetch = guardedFetch(local)
    const issuer = new URL(origin)
    const answer = await discoveryRequest(issuer, {
      algorithm: 'oauth2',
      [customFetch]: (url, init) => fetch(url, init as RequestInit),
      [allowInsecureRequests]: true,
    })
    const found = await processDiscoveryResponse(issuer, answer)
    expect(found.jwks_uri).toBe(`${origin}/jwks`)
    const keys = createRemoteJWKSet(new URL(found.jwks_uri!), {
      [joseFetch]: (url, init) => fetch(url, init as RequestInit),
    })
    await keys.reload()
    expect(keys.jwks()).toEqual({ keys: [] })
  })
})
