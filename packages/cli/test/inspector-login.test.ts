import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MemoryTokenStore } from 'tenon/auth/client'
import { jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer, type TestAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { callOf, InspectorPage, send } from './inspector-support.ts'

function serveProtected({ issuer }: TestAuthorizationServer) {
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  server.registerTool('whoami', {}, (_args, ctx) => `You are ${ctx.auth?.subject}`)
  return serveHttp(server, {
    port: 0,
    exit: false,
    auth: { verify: jwtVerifier({ issuer }), authorizationServers: [issuer], requiredScopes: ['vault'] },
  })
}

/** Remembers everything that was stored. */
class WatchedStore extends MemoryTokenStore {
  readonly values: string[] = []

  override async set(key: string, value: string): Promise<void> {
    this.values.push(value)
    await super.set(key, value)
  }
}

/** Follows the redirects of a login that needs no input, as a browser does. */
async function visit(url: string): Promise<number> {
  const { status, headers } = await send(url)
  return headers.location === undefined ? status : visit(new URL(headers.location, url).href)
}

describe('login in the inspector', () => {
  it('explains each step of discovery and login, and connects with the token', async () => {
    await using login = await startAuthorizationServer()
    await using vault = await serveProtected(login)
    await using page = await InspectorPage.open()
    const server = await page.connect({ target: vault.url }, 'unauthorized')
    expect(page.all('server-state').at(-1)?.error).toBeUndefined()
    expect(page.all('auth')).toMatchObject([{ scope: 'vault' }, { issuer: login.issuer }, { issuer: login.issuer }])
    expect(page.all('auth')).toMatchObject([
      { title: 'Authorization required', outcome: 'ok', found: expect.stringContaining('resource_metadata=') },
      { title: 'Protected resource metadata', outcome: 'ok', found: `authorization server ${login.issuer}` },
      { title: 'Authorization server metadata', outcome: 'ok', expected: expect.stringContaining('S256') },
    ])
    const before = page.events.length
    const { json } = await page.api('POST', `servers/${server}/login`)
    expect(new URL(json.url).origin).toBe(new URL(login.issuer).origin)
    expect(await page.until('auth', ({ outcome }) => outcome === 'waiting')).toMatchObject({ url: json.url })
    expect(await visit(json.url)).toBe(200)
    await page.until('server-state', ({ state }) => state === 'ready')
    const steps = page.all('auth').filter(({ seq }) => seq > before)
    expect(steps.map(({ title, outcome }) => `${title}: ${outcome}`)).toEqual([
      'Authorization required: ok',
      'Protected resource metadata: ok',
      'Authorization server metadata: ok',
      'Client registration: ok',
      'Login: waiting',
      'Redirect: ok',
      'Token request: ok',
      'Token: ok',
    ])
    expect(await page.run(server, callOf('whoami'))).toMatchObject({ result: { content: [{ text: 'You are alice' }] } })
  })

  it('uses the token again when it reconnects and when it compares revisions', async () => {
    await using login = await startAuthorizationServer()
    await using vault = await serveProtected(login)
    await using page = await InspectorPage.open()
    const server = await page.connect({ target: vault.url }, 'unauthorized')
    await visit((await page.api('POST', `servers/${server}/login`)).json.url)
    const { seq } = await page.until('server-state', ({ state }) => state === 'ready')
    const compared = await page.run(server, { ...callOf('whoami'), revision: '2025-06-18' })
    expect(compared).toMatchObject({ result: { content: [{ text: 'You are alice' }] } })
    await page.api('POST', `servers/${server}/connect`)
    await page.until('server-state', (event) => event.state === 'ready' && event.seq > seq)
  })

  it('shows no token, code or secret in any event', async () => {
    await using login = await startAuthorizationServer()
    await using vault = await serveProtected(login)
    const tokens = new WatchedStore()
    await using page = await InspectorPage.open({ tokens })
    const server = await page.connect({ target: vault.url }, 'unauthorized')
    await visit((await page.api('POST', `servers/${server}/login`)).json.url)
    await page.until('server-state', ({ state }) => state === 'ready')
    const all = JSON.stringify(page.events)
    const secrets = tokens.values.flatMap((value) => value.match(/[\w.-]{40,}/g) ?? [])
    expect(secrets.length).toBeGreaterThan(0)
    for (const secret of secrets) expect(all).not.toContain(secret)
    expect(all).not.toMatch(/code_verifier=(?!\[)|[?&]code=(?!\[)/)
    expect(page.all('http').filter(({ isAuth }) => isAuth).length).toBeGreaterThan(3)
  })

  it('reports a failed login', async () => {
    await using login = await startAuthorizationServer()
    await using vault = await serveProtected(login)
    await using page = await InspectorPage.open()
    const server = await page.connect({ target: vault.url }, 'unauthorized')
    const { json } = await page.api('POST', `servers/${server}/login`)
    login.faults.next('token', 'server-error')
    const { seq } = page.events.at(-1)!
    await visit(json.url)
    await page.until('auth', ({ title, outcome }) => title === 'Token request' && outcome === 'failed')
    const { error } = await page.until('server-state', (event) => event.state === 'unauthorized' && event.seq > seq)
    expect(error).toMatchObject({ code: 'auth', message: expect.any(String), hint: expect.stringContaining('Log in') })
  })

  it('says that a server does not accept the token of a header', async () => {
    const http = createServer(({ url }, response) => response.writeHead(url === '/mcp' ? 401 : 404).end())
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    await using page = await InspectorPage.open()
    const target = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
    await page.connect({ target }, 'unauthorized')
    await page.connect({ target, headers: { authorization: 'Bearer wrong' } }, 'unauthorized')
    const errors = page.all('server-state').filter(({ state }) => state === 'unauthorized')
    expect(errors.map(({ error }) => error?.message)).toEqual([undefined, 'The server does not accept the token.'])
    http.close()
    http.closeAllConnections()
  })

  it('says what is wrong with a server without a challenge and with metadata of another one', async () => {
    const http = createServer(({ url = '' }, response) => {
      const isMetadata = url.startsWith('/.well-known/oauth-protected-resource')
      response.writeHead(isMetadata ? 200 : 401, { 'content-type': 'application/json' })
      response.end(isMetadata ? JSON.stringify({ resource: 'https://other.example/mcp' }) : '{}')
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    await using page = await InspectorPage.open()
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
    await page.connect({ target: url }, 'unauthorized')
    expect(page.all('auth').slice(0, 2)).toMatchObject([
      {
        title: 'Authorization required',
        outcome: 'warning',
        found: expect.stringContaining('without WWW-Authenticate'),
      },
      {
        title: 'Protected resource metadata',
        outcome: 'failed',
        expected: expect.stringContaining(`"resource": "${url}"`),
        found: '"resource" is "https://other.example/mcp"; "authorization_servers" is missing or empty',
      },
    ])
    http.close()
    http.closeAllConnections()
  })

  it('has no login for a command', async () => {
    await using page = await InspectorPage.open()
    const server = await page.connectFixture()
    expect(await page.api('POST', `servers/${server}/login`)).toMatchObject({
      status: 409,
      json: { error: { code: 'no-login' } },
    })
  })
})
