import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose'
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HttpError, TimeoutError } from '../../src/errors.ts'
import { GuardError } from '../../src/net/address-policy.ts'
import { kindOfAddress } from '../../src/net/addresses.ts'
import { type GuardedFetchOptions, guardedFetch } from '../../src/net/guarded-fetch.ts'
import { deferred } from '../../src/util/deferred.ts'

const local: GuardedFetchOptions = { allowLoopback: 'http' }

/** The error of a request that must fail. */
async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => expect.fail('nothing was refused'),
    (error: Error) => error,
  )
}

async function refusal(work: Promise<unknown>): Promise<GuardError> {
  const error = await failure(work)
  expect(error).toBeInstanceOf(GuardError)
  return error as GuardError
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A site on this machine that remembers what it was asked. */
async function site(handler: RequestListener) {
  const seen: { request: IncomingMessage; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ request, body })
    handler(request, response)
  })
  let connections = 0
  server.on('connection', () => connections++)
  const port = await listen(server)
  onTestFinished(() => server.closeAllConnections())
  return { origin: `http://127.0.0.1:${port}`, port, seen, connections: () => connections }
}

/** Sends every request on to the same place. */
const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end('moved')

const json: RequestListener = (_, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')

/** Stands for any public site. */
const anywhere = async () => Response.json({ ok: true })

describe('where discovered URLs may lead', () => {
  const bad = [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '100.64.0.1',
    '100.127.255.255',
    '168.63.129.16',
    '0.0.0.0',
    '0.1.2.3',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    // Other ways to write 127.0.0.1 and 169.254.169.254.
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '127.1',
    '127.0.1',
    '0',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '2852039166',
    '0xa9fea9fe',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[::ffff:0:10.0.0.1]',
    '[64:ff9b::10.0.0.1]',
    '[64:ff9b::8.8.8.8]',
    '[64:ff9b:1::a00:1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[100::1]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'app.localhost',
    'metadata.google.internal',
    'printer.local',
    'intranet',
  ]
  it.each(bad)('does not ask %s [SEC-001, SEC-003]', async (host) => {
    let asked = 0
    const fetch = guardedFetch({
      fetch: async () => {
        asked++
        return new Response()
      },
    })
    const error = await refusal(fetch(`https://${host}/.well-known/oauth-authorization-server?key=s3cret`))
    expect(error).toMatchObject({ code: 'http', rule: 'address', outcome: 'not-sent' })
    expect(error.message).toContain(new URL(`https://${host}`).host)
    expect(error.message).not.toContain('s3cret')
    expect(asked).toBe(0)
  })

  it.each([
    'https://8.8.8.8/',
    'https://172.32.0.1/',
    'https://172.15.0.1/',
    'https://100.128.0.1/',
    'https://[2606:4700:4700::1111]/',
    'https://as.example/',
    'https://as.example:8443/',
    'https://10.example/',
    'https://127.0.0.1.example/',
  ])('asks %s', async (url) => {
    expect(await (await guardedFetch({ fetch: anywhere })(url)).json()).toEqual({ ok: true })
  })

  it.each(['10.1.2.3', '192.168.0.1', '100.64.1.1', '[fd12::1]', 'idp.internal', 'idp'])(
    'asks %s only where private networks are allowed, and says how',
    async (host) => {
      const error = await refusal(guardedFetch({ fetch: anywhere })(`https://${host}/`))
      expect(error.message).toContain('allowPrivate')
      expect((await guardedFetch({ fetch: anywhere, allowPrivate: true })(`https://${host}/`)).ok).toBe(true)
    },
  )

  it.each([
    '169.254.169.254',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '0.0.0.0',
    '[::ffff:10.0.0.1]',
    'metadata.google.internal',
  ])('does not ask %s even where private networks and this machine are allowed [SEC-003]', async (host) => {
    const fetch = guardedFetch({ fetch: anywhere, allowPrivate: true, allowLoopback: 'http' })
    expect((await refusal(fetch(`https://${host}/`))).rule).toBe('address')
  })

  it.each([
    ['http://as.example/', 'scheme'],
    ['http://8.8.8.8/', 'scheme'],
    ['http://10.0.0.1/', 'scheme'],
    ['http://app.localhost/', 'scheme'],
    ['http://localhost.example/', 'scheme'],
    ['ftp://as.example/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['data:application/json,{}', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['/relative', 'url'],
    ['https://', 'url'],
    ['https://[::1%25eth0]/', 'url'],
  ])('does not ask %s, whatever is allowed [SEC-002, SEC-006]', async (url, rule) => {
    const fetch = guardedFetch({ fetch: anywhere, allowPrivate: true, allowLoopback: 'http' })
    expect((await refusal(fetch(url))).rule).toBe(rule)
  })

  it.each(['http://127.0.0.1/', 'http://127.8.9.1:8080/', 'http://[::1]/', 'http://localhost:3000/'])(
    'asks %s without TLS only where that is allowed [SEC-002]',
    async (url) => {
      expect((await refusal(guardedFetch({ fetch: anywhere })(url))).message).toContain("allowLoopback: 'http'")
      expect((await refusal(guardedFetch({ fetch: anywhere, allowLoopback: true })(url))).rule).toBe('scheme')
      expect((await guardedFetch({ fetch: anywhere, allowLoopback: 'http' })(url)).ok).toBe(true)
    },
  )

  it('does not ask a URL with credentials, and does not repeat them', async () => {
    const error = await refusal(guardedFetch({ fetch: anywhere })('https://me:s3cret@as.example/'))
    expect(error.rule).toBe('credentials')
    expect(error.message).toContain('as.example')
    expect(error.message).not.toContain('s3cret')
  })

  it.each(['PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'])('does not ask by %s', async (method) => {
    expect((await refusal(guardedFetch({ fetch: anywhere })('https://as.example/', { method }))).rule).toBe('method')
  })
})

describe('names', () => {
  it('are resolved and judged before anything is connected to [SEC-003]', async () => {
    const { port, connections } = await site(json)
    const fetch = guardedFetch({ resolve: async () => ['127.0.0.1'] })
    const error = await refusal(fetch(`https://as.example:${port}/`))
    expect(error.message).toContain(`as.example:${port}`)
    expect(error.message).not.toContain('127.0.0.1')
    expect(connections()).toBe(0)
  })

  it.each([
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    '64:ff9b::a9fe:a9fe',
    'fd00::1',
    'x',
  ])('are refused when one of their addresses is %s [SEC-003]', async (address) => {
    const resolve = async () => ['8.8.8.8', address]
    expect((await refusal(guardedFetch({ resolve })('https://as.example/'))).rule).toBe('address')
  })

  it('are looked up once, so that a second answer cannot lead elsewhere (DNS rebinding) [SEC-003]', async () => {
    const { port, seen } = await site(json)
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return [asked.length === 1 ? '127.0.0.1' : '10.255.255.1']
    }
    const response = await guardedFetch({ ...local, resolve })(`http://localhost:${port}/metadata`)
    expect(await response.json()).toEqual({ ok: true })
    expect(asked).toEqual(['localhost'])
    expect(seen[0]?.request.headers.host).toBe(`localhost:${port}`)
  })

  it('are looked up and judged anew for every redirect [SEC-003]', async () => {
    const { port, seen } = await site((_, response) => void response.writeHead(302, { location: '/again' }).end())
    const answers = [['127.0.0.1'], ['169.254.169.254']]
    const fetch = guardedFetch({ ...local, resolve: async () => answers.shift()! })
    expect((await refusal(fetch(`http://localhost:${port}/`))).rule).toBe('address')
    expect(seen).toHaveLength(1)
  })

  it('keep their part in TLS when the connection goes to the judged address', async () => {
    const hello = deferred<Buffer>()
    const port = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', (bytes) => {
          hello.resolve(bytes)
          socket.destroy()
        })
      }),
    )
    const fetch = guardedFetch({ allowLoopback: true, resolve: async () => ['127.0.0.1'] })
    const error = await failure(fetch(`https://as.example:${port}/token`, { method: 'POST', body: 'code=s3cret' }))
    // The name is in the clear in the first message of TLS, the request is not.
    const bytes = (await hello.promise).toString('latin1')
    expect(bytes).toContain('as.example')
    expect(bytes).not.toContain('POST')
    expect(error).toBeInstanceOf(HttpError)
    expect(error.message).toContain(`as.example:${port}`)
  })

  it('of this machine must lead to it', async () => {
    const fetch = guardedFetch({ ...local, allowPrivate: true, resolve: async () => ['10.0.0.1'] })
    expect((await refusal(fetch('http://localhost/'))).message).toContain('is not on this machine')
  })

  it('that do not exist are told apart from those that are refused', async () => {
    const error = await failure(guardedFetch({ resolve: async () => [] })('https://as.example/'))
    expect(error).toMatchObject({
      code: 'http',
      outcome: 'not-sent',
      message: 'as.example could not be reached (ENOTFOUND)',
    })
    expect(error).not.toBeInstanceOf(GuardError)
  })

  it('on networks without IPv4 are judged by the IPv4 address that they lead to', () => {
    expect(kindOfAddress('64:ff9b::8.8.8.8')).toBe('public')
    expect(kindOfAddress('64:ff9b::c0a8:1')).toBe('private')
    expect(kindOfAddress('64:ff9b::7f00:1')).toBe('loopback')
  })
})

describe('redirects', () => {
  it('are followed within an origin, and the answer says where it came from', async () => {
    const { origin, seen } = await site((request, response) =>
      request.url === '/old' ? redirectTo('/new', 308)(request, response) : json(request, response),
    )
    const init = { headers: { authorization: 'Bearer s3cret' } }
    const response = await guardedFetch(local)(`${origin}/old`, init)
    expect(response.url).toBe(`${origin}/new`)
    expect(seen[1]?.request.headers.authorization).toBe('Bearer s3cret')
  })

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://[::ffff:169.254.169.254]/',
    'https://2852039166/',
    'http://as.example/',
    'file:///etc/passwd',
    'https://me:s3cret@as.example/',
    'https://[oops',
  ])('to %s are refused [SEC-003]', async (target) => {
    const { origin, seen } = await site(redirectTo(target))
    const error = await refusal(guardedFetch(local)(origin))
    expect(['address', 'scheme', 'credentials', 'redirect']).toContain(error.rule)
    expect(error.message).not.toContain('s3cret')
    expect(seen).toHaveLength(1)
  })

  it('vercel/ai #20578: what was posted does not follow a 307 to another origin', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(`${other.origin}/token`, 307))
    const body = new URLSearchParams({ client_secret: 's3cret' })
    const error = await refusal(guardedFetch(local)(`${origin}/token`, { method: 'POST', body }))
    expect(error).toMatchObject({ rule: 'redirect', status: 307, outcome: 'refused' })
    expect(error.message).not.toContain('s3cret')
    expect(other.connections()).toBe(0)
  })

  it.each(['authorization', 'cookie', 'dpop'])(
    'GHSA-9g45-5xwm-f3wc: a request with %s does not follow to another origin',
    async (name) => {
      const other = await site(json)
      const { origin } = await site(redirectTo(other.origin))
      const error = await refusal(guardedFetch(local)(origin, { headers: { [name]: 's3cret' } }))
      expect(error.rule).toBe('redirect')
      expect(other.connections()).toBe(0)
    },
  )

  it('GHSA-9g45-5xwm-f3wc: other headers of the caller stay with the origin they were meant for', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(other.origin))
    const headers = { accept: 'application/json', 'mcp-protocol-version': '2025-06-18', 'x-api-key': 's3cret' }
    await guardedFetch(local)(origin, { headers })
    expect(other.seen[0]?.request.headers).toMatchObject({
      accept: 'application/json',
      'mcp-protocol-version': '2025-06-18',
    })
    expect(other.seen[0]?.request.headers).not.toHaveProperty('x-api-key')
  })

  it('do not lead from https: to http:', async () => {
    const fetch = guardedFetch({
      ...local,
      fetch: async () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1/' } }),
    })
    expect((await refusal(fetch('https://as.example/'))).message).toContain('from https: to http:')
  })

  it('keep what was posted within an origin, unless they would turn it into a GET', async () => {
    const { origin, seen } = await site((request, response) =>
      request.url === '/kept'
        ? json(request, response)
        : redirectTo('/kept', Number(request.url?.slice(1)))(request, response),
    )
    const post = (status: number) => guardedFetch(local)(`${origin}/${status}`, { method: 'POST', body: 'a=b' })
    await post(307)
    await post(308)
    expect(seen.filter(({ request }) => request.url === '/kept').map(({ body }) => body)).toEqual(['a=b', 'a=b'])
    for (const status of [301, 302, 303]) expect((await refusal(post(status))).rule).toBe('redirect')
    expect(seen).toHaveLength(7)
  })

  it('end after three', async () => {
    const { origin, seen } = await site(redirectTo('/'))
    expect((await refusal(guardedFetch(local)(origin))).message).toContain('redirects more than 3 times')
    expect(seen).toHaveLength(4)
    expect((await refusal(guardedFetch({ ...local, maxRedirects: 0 })(origin))).rule).toBe('redirect')
    expect((await refusal(guardedFetch(local)(origin, { redirect: 'error' }))).rule).toBe('redirect')
    expect(seen).toHaveLength(6)
  })

  it('are handed back to who asks for that', async () => {
    const { origin, seen } = await site(redirectTo('http://169.254.169.254/'))
    const response = await guardedFetch(local)(origin, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://169.254.169.254/'])
    expect(seen).toHaveLength(1)
  })

  it('that a fetch followed by itself are refused, as nobody judged them', async () => {
    const other = await site(json)
    const { origin } = await site(redirectTo(other.origin))
    const careless = (url: string, init: object) => fetch(url, { ...init, redirect: 'follow' })
    expect((await refusal(guardedFetch({ ...local, fetch: careless })(origin))).rule).toBe('redirect')
  })
})

describe('answers', () => {
  it('that say they are too large are not read', async () => {
    const { origin } = await site(
      (_, response) => void response.writeHead(200, { 'content-length': 100_000_000 }).write('{'),
    )
    expect(await refusal(guardedFetch(local)(origin))).toMatchObject({ rule: 'size', status: 200 })
  })

  it('that never end are cut off, and the connection with them', async () => {
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

  it('of exactly the limit are taken', async () => {
    const { origin } = await site((_, response) => void response.end('a'.repeat(1_000)))
    expect(await (await guardedFetch({ ...local, maxBytes: 1_000 })(origin)).text()).toHaveLength(1_000)
    expect((await refusal(guardedFetch({ ...local, maxBytes: 999 })(origin))).rule).toBe('size')
  })

  it('that are packed are refused by name, as nothing asked for that', async () => {
    const { origin, seen } = await site(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
    )
    expect((await refusal(guardedFetch(local)(origin))).rule).toBe('encoding')
    expect(seen[0]?.request.headers['accept-encoding']).toBe('identity')
  })

  it.each([
    ['drips', 'drip'],
    ['stops after the head', 'stop'],
    ['says nothing', 'silent'],
  ])('that take too long are given up: a server that %s', async (_, how) => {
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

  it('are not waited for when the name server, or a fetch that heeds no signal, hangs', async () => {
    const never = () => new Promise<never>(() => {})
    const slow = { timeoutMs: 50 }
    expect(await failure(guardedFetch({ ...slow, resolve: never })('https://as.example/'))).toBeInstanceOf(TimeoutError)
    expect(await failure(guardedFetch({ ...slow, fetch: never })('https://as.example/'))).toBeInstanceOf(TimeoutError)
    const drip = async () => new Response(new ReadableStream({ pull: never }))
    expect(await failure(guardedFetch({ ...slow, fetch: drip })('https://as.example/'))).toBeInstanceOf(TimeoutError)
  })

  it('are not waited for when the caller wants to end', async () => {
    const stop = new AbortController()
    const { origin } = await site(() => stop.abort(new Error('enough')))
    expect((await failure(guardedFetch(local)(origin, { signal: stop.signal }))).message).toBe('enough')
    expect((await failure(guardedFetch(local)(origin, { signal: stop.signal }))).message).toBe('enough')
  })

  it('keep their status and headers, and have their body at hand', async () => {
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
  ])('that are none become an error: %j', async (bytes, message) => {
    const port = await listen(
      createTcpServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(bytes))),
    )
    const error = await failure(guardedFetch(local)(`http://127.0.0.1:${port}/?key=s3cret`))
    expect(error).toMatchObject({ code: 'http' })
    expect(error.message).toMatch(message)
    expect(error.message).not.toContain('s3cret')
  })

  it('that cannot come because nobody listens leave no doubt that nothing was sent', async () => {
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

describe('requests', () => {
  it('carry what was given, in any form that fetch takes', async () => {
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

  it('can be made by oauth4webapi and by jose', async () => {
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
