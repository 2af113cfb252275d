import { createServer as createTcpServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { HttpError } from '../../src/errors.ts'
import { GuardError, kindOfAddress } from '../../src/net/address-policy.ts'
import { guardedFetch } from '../../src/net/guarded-fetch.ts'
import { deferred } from '../../src/util/deferred.ts'
import { failure, json, listen, local, refusal, site } from './guarded-fetch-support.ts'

/** A fetch that answers like any public site. */
const anywhere = async () => Response.json({ ok: true })

describe('the address policy of guardedFetch', () => {
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
    // Other notations of 127.0.0.1 and 169.254.169.254.
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
  it.each(bad)('refuses %s [SEC-001, SEC-003]', async (host) => {
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
  ])('allows %s', async (url) => {
    expect(await (await guardedFetch({ fetch: anywhere })(url)).json()).toEqual({ ok: true })
  })

  it.each(['10.1.2.3', '192.168.0.1', '100.64.1.1', '[fd12::1]', 'idp.internal', 'idp'])(
    'allows %s only with allowPrivate, and names that option in the error',
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
  ])('refuses %s even if private networks and loopback are allowed [SEC-003]', async (host) => {
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
  ])('refuses %s even with allowPrivate and allowLoopback [SEC-002, SEC-006]', async (url, rule) => {
    const fetch = guardedFetch({ fetch: anywhere, allowPrivate: true, allowLoopback: 'http' })
    expect((await refusal(fetch(url))).rule).toBe(rule)
  })

  it.each(['http://127.0.0.1/', 'http://127.8.9.1:8080/', 'http://[::1]/', 'http://localhost:3000/'])(
    'allows %s without TLS only with allowLoopback "http" [SEC-002]',
    async (url) => {
      expect((await refusal(guardedFetch({ fetch: anywhere })(url))).message).toContain("allowLoopback: 'http'")
      expect((await refusal(guardedFetch({ fetch: anywhere, allowLoopback: true })(url))).rule).toBe('scheme')
      expect((await guardedFetch({ fetch: anywhere, allowLoopback: 'http' })(url)).ok).toBe(true)
    },
  )

  it('refuses a URL with credentials and does not repeat them', async () => {
    const error = await refusal(guardedFetch({ fetch: anywhere })('https://me:s3cret@as.example/'))
    expect(error.rule).toBe('credentials')
    expect(error.message).toContain('as.example')
    expect(error.message).not.toContain('s3cret')
  })

  it.each(['PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'])('refuses the method %s', async (method) => {
    expect((await refusal(guardedFetch({ fetch: anywhere })('https://as.example/', { method }))).rule).toBe('method')
  })
})

describe('host names', () => {
  it('resolves and checks a host name before it connects [SEC-003]', async () => {
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
  ])('refuses a host name when one of its addresses is %s [SEC-003]', async (address) => {
    const resolve = async () => ['8.8.8.8', address]
    expect((await refusal(guardedFetch({ resolve })('https://as.example/'))).rule).toBe('address')
  })

  it('resolves a host name once, against DNS rebinding [SEC-003]', async () => {
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

  it('resolves and checks the host name of every redirect [SEC-003]', async () => {
    const { port, seen } = await site((_, response) => void response.writeHead(302, { location: '/again' }).end())
    const answers = [['127.0.0.1'], ['169.254.169.254']]
    const fetch = guardedFetch({ ...local, resolve: async () => answers.shift()! })
    expect((await refusal(fetch(`http://localhost:${port}/`))).rule).toBe('address')
    expect(seen).toHaveLength(1)
  })

  it('uses the host name for TLS when it connects to the checked address', async () => {
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
    // The first message of TLS contains the host name in clear text, but not the request.
    const bytes = (await hello.promise).toString('latin1')
    expect(bytes).toContain('as.example')
    expect(bytes).not.toContain('POST')
    expect(error).toBeInstanceOf(HttpError)
    expect(error.message).toContain(`as.example:${port}`)
  })

  it('refuses a loopback name that does not resolve to loopback', async () => {
    const fetch = guardedFetch({ ...local, allowPrivate: true, resolve: async () => ['10.0.0.1'] })
    expect((await refusal(fetch('http://localhost/'))).message).toContain('is not on this machine')
  })

  it('distinguishes unknown host names from refused ones', async () => {
    const error = await failure(guardedFetch({ resolve: async () => [] })('https://as.example/'))
    expect(error).toMatchObject({
      code: 'http',
      outcome: 'not-sent',
      message: 'as.example could not be reached (ENOTFOUND)',
    })
    expect(error).not.toBeInstanceOf(GuardError)
  })

  it('checks the embedded IPv4 address of NAT64 addresses', () => {
    expect(kindOfAddress('64:ff9b::8.8.8.8')).toBe('public')
    expect(kindOfAddress('64:ff9b::c0a8:1')).toBe('private')
    expect(kindOfAddress('64:ff9b::7f00:1')).toBe('loopback')
  })
})
