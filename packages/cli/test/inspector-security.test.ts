import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InspectorPage, send, TempFolder } from './inspector-support.ts'

const folder = new TempFolder()
let page: InspectorPage

beforeAll(async () => {
  const ui = join(folder.path, 'ui')
  mkdirSync(join(ui, 'assets'), { recursive: true })
  writeFileSync(join(ui, 'index.html'), '<!doctype html><script type="module" src="./assets/app.js"></script>')
  writeFileSync(join(ui, 'assets', 'app.js'), 'export {}')
  writeFileSync(join(ui, 'assets', 'app.css'), '')
  writeFileSync(join(folder.path, 'secret.txt'), 'outside of the page')
  page = await InspectorPage.open({ page: ui })
})

afterAll(async () => {
  await page[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const paths = ['api/events', 'api/events/1', 'api/configured', 'api/servers', 'api/anything']

describe('the API of the inspector', () => {
  it.each(paths)('refuses %s without the secret', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, json } = await send(`${page.origin}/${path}`, method)
      expect({ status, code: json.error.code }).toEqual({ status: 401, code: 'unauthorized' })
    }
  })

  it.each(['Bearer wrong', 'Bearer ', 'Basic abc', 'bearer'])('refuses the authorization %j', async (authorization) => {
    expect((await send(`${page.origin}/api/configured`, 'GET', { headers: { authorization } })).status).toBe(401)
  })

  it('does not accept the secret in the query or in a cookie', async () => {
    const url = `${page.origin}/api/configured?secret=${page.secret}`
    expect((await send(url, 'GET', { headers: { cookie: `secret=${page.secret}` } })).status).toBe(401)
  })

  it('refuses a secret that differs in one character or in length', async () => {
    const { secret } = page
    const other = secret.startsWith('A') ? 'B' : 'A'
    for (const wrong of [other + secret.slice(1), secret.slice(1), `${secret}A`]) {
      const { status } = await send(`${page.origin}/api/configured`, 'GET', {
        headers: { authorization: `Bearer ${wrong}` },
      })
      expect(status).toBe(401)
    }
  })

  it.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example:3000',
    '127.0.0.1@evil.example',
    '0.0.0.0:80',
    '192.168.0.1',
  ])('refuses the host %j, so that no domain name can be pointed here', async (host) => {
    const headers = { ...page.headers, host }
    for (const path of ['', 'assets/app.js', 'api/configured']) {
      const { status } = await send(`${page.origin}/${path}`, 'GET', { headers })
      expect(status).toBe(403)
    }
  })

  it('accepts the names of this machine with any port, which may be forwarded', async () => {
    for (const host of [new URL(page.origin).host, 'localhost:8080', 'LOCALHOST', '[::1]:5']) {
      const { status } = await send(`${page.origin}/api/configured`, 'GET', { headers: { ...page.headers, host } })
      expect(status).toBe(200)
    }
  })

  it.each(['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost', 'chrome-extension://abc'])(
    'refuses the origin %j even with the secret',
    async (origin) => {
      for (const [method, path] of [
        ['GET', 'api/configured'],
        ['POST', 'api/servers'],
        ['GET', ''],
      ]) {
        const { status } = await send(`${page.origin}/${path}`, method, { headers: { ...page.headers, origin } })
        expect(status).toBe(403)
      }
    },
  )

  it.each(['cross-site', 'same-site'])('refuses requests that a browser marks as %s', async (site) => {
    const headers = { ...page.headers, 'sec-fetch-site': site }
    expect((await send(`${page.origin}/api/configured`, 'GET', { headers })).status).toBe(403)
  })

  it('refuses the form of another web page, and starts nothing', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'target=node%20-e%200'
    const foreign = { ...form, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect((await send(`${page.origin}/api/servers`, 'POST', { headers: foreign, body })).status).toBe(403)
    expect((await send(`${page.origin}/api/servers`, 'POST', { headers: form, body })).status).toBe(401)
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', '']) {
      const headers = { ...page.headers, 'content-type': type }
      const { status } = await send(`${page.origin}/api/servers`, 'POST', { headers, body: '{"target":"node -e 0"}' })
      expect(status).toBe(415)
    }
    expect(page.all('server-added')).toEqual([])
  })

  it('never sends CORS headers, not even for a preflight request', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const answer = await send(`${page.origin}/api/servers`, 'OPTIONS', { headers })
    expect(answer.status).toBe(403)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('refuses a body that is not JSON, or too large', async () => {
    const headers = { ...page.headers, 'content-type': 'application/json' }
    expect((await send(`${page.origin}/api/servers`, 'POST', { headers, body: '{' })).status).toBe(400)
    const body = JSON.stringify({ target: 'x'.repeat(33 * 1024 * 1024) })
    expect((await send(`${page.origin}/api/servers`, 'POST', { headers, body })).status).toBe(413)
    expect(page.all('server-added')).toEqual([])
  })
})

describe('the page of the inspector', () => {
  it('is served without the secret, with a strict policy', async () => {
    const { status, headers, text } = await send(`${page.origin}/`)
    expect(status).toBe(200)
    expect(text).toContain('<!doctype html>')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
    })
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })

  it('has the same headers on assets and on answers of the API', async () => {
    const policies = await Promise.all(
      ['', 'assets/app.js', 'api/configured', 'assets/missing.js'].map(async (path) => {
        const { headers } = await send(`${page.origin}/${path}`)
        return [headers['content-security-policy'], headers['x-content-type-options']]
      }),
    )
    expect(new Set(policies.map((policy) => JSON.stringify(policy))).size).toBe(1)
  })

  it('serves assets with their content types', async () => {
    const types = await Promise.all(
      ['app.js', 'app.css'].map(async (name) => (await send(`${page.origin}/assets/${name}`)).headers['content-type']),
    )
    expect(types).toEqual(['text/javascript; charset=utf-8', 'text/css; charset=utf-8'])
  })

  it.each([
    'assets/../../secret.txt',
    'assets/..%2f..%2fsecret.txt',
    'assets/%2e%2e/%2e%2e/secret.txt',
    'assets/..\\..\\secret.txt',
    'assets//etc/passwd',
    'assets/',
    'assets/app.js/..',
    'assets/app.js%00.css',
  ])('does not serve %s', async (path) => {
    const { status, text } = await send(`${page.origin}/${path}`)
    expect({ status, leaks: text.includes('outside') }).toEqual({ status: 404, leaks: false })
  })

  it('has nothing at other paths', async () => {
    expect((await send(`${page.origin}/secret.txt`)).status).toBe(404)
    expect((await send(`${page.origin}/../secret.txt`)).status).toBe(404)
  })

  it('has another secret of 256 bits at each start', async () => {
    await using other = await InspectorPage.open()
    expect(Buffer.from(other.secret, 'base64url')).toHaveLength(32)
    expect(other.secret).not.toBe(page.secret)
    expect((await send(`${other.origin}/api/configured`, 'GET', { headers: page.headers })).status).toBe(401)
  })
})
