import { request } from 'node:http'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { MemoryTokenStore, oauth } from 'tenon/auth/client'
import { broker, MemoryValueStore, providers } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { movableDate } from '../kit/time.ts'
import { anyRequest, Browser, listen, Place, redirectUri, scopes, secret, startProvider } from './broker-support.ts'

describe('a broker, from the first call to the last', () => {
  it('registers the client, asks the user, signs in at the provider and admits the client [AUTH-022, AUTH-024, SDK-016]', async () => {
    await using place = await Place.start()
    const browser = new Browser()
    await using client = await place.connect(browser)
    expect((await client.callTool('whoami')).text).toBe('alice notes:read+notes:write')
    expect(browser.visited).toEqual([
      `${place.origin}/authorize`,
      `${place.origin}/authorize/consent`,
      `${place.as.issuer}/authorize`,
      `${place.origin}/callback`,
      redirectUri,
    ])
    const [login] = place.as.requests.filter(({ endpoint }) => endpoint === 'authorize')
    expect(login!.params).toMatchObject({ client_id: 'the-one', code_challenge_method: 'S256' })
    expect(login!.params.nonce).toMatch(/^[\w-]{43}$/)
  })

  it('gives the provider’s token to handlers and its own tokens to clients [AUTH-015, AUTH-024]', async () => {
    await using place = await Place.start()
    const { access, refresh, body } = await place.signIn()
    expect(access).toMatch(/^[\w-]{43}$/)
    expect(refresh).toMatch(/^[\w-]{22}\.[\w-]{43}$/)
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type'])
    await using client = await connect(place.url, {
      headers: { authorization: `Bearer ${access}` },
    })
    const { text } = await client.callTool('upstream')
    expect(decodeJwt(text)).toMatchObject({ iss: place.as.issuer, sub: 'alice', client_id: 'the-one' })
    const info = JSON.parse((await client.callTool('who')).text)
    expect(info).toMatchObject({ issuer: place.origin, subject: 'alice', resource: place.url, scopes: ['notes:read'] })
    expect(JSON.stringify(info)).not.toContain(access)
    // The client's token went nowhere, and the provider's opens nothing here.
    expect(JSON.stringify(place.as.requests)).not.toContain(access)
    expect(await place.call(text)).toBe(401)
  })

  it('refreshes for the client and checks with the provider each time [AUTH-024, AUTH-026]', async () => {
    const date = movableDate()
    await using place = await Place.start({ broker: { accessTokenSeconds: 60 } })
    const browser = new Browser()
    await using client = await place.connect(browser)
    await client.callTool('whoami')
    const seen = browser.visited.length
    for (const count of [1, 2, 3]) {
      date.advance(60_000)
      expect((await client.callTool('whoami')).text).toBe('alice notes:read+notes:write')
      expect(place.tokenRequests('refresh_token')).toHaveLength(count)
    }
    expect(browser.visited.length).toBe(seen)
  })

  it('publishes metadata for clients of every revision [AUTH-017, AUTH-036, AUTH-037, AUTH-087]', async () => {
    await using place = await Place.start()
    const response = await fetch(`${place.origin}/.well-known/oauth-authorization-server`)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({
      issuer: place.origin,
      authorization_endpoint: `${place.origin}/authorize`,
      token_endpoint: `${place.origin}/token`,
      registration_endpoint: `${place.origin}/register`,
      revocation_endpoint: `${place.origin}/revoke`,
      revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
      scopes_supported: ['notes:read', 'notes:write'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    })
    const resource = await (await fetch(`${place.origin}/.well-known/oauth-protected-resource/mcp`)).json()
    expect(resource).toMatchObject({ resource: place.url, authorization_servers: [place.origin] })
  })

  it('serves its endpoints without a token, only under allowed host names', async () => {
    await using place = await Place.start()
    const { port } = new URL(place.origin)
    const statusFor = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const path = '/.well-known/oauth-authorization-server'
        const call = request({ port, path, headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode!)
        })
        call.on('error', reject)
        call.end()
      })
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200)
    expect(await statusFor('evil.example')).toBe(403)
  })

  it('works with serveHttp without further setup', async () => {
    const { origin, ...port } = await listen()
    await port[Symbol.asyncDispose]()
    const { as, upstream } = await startProvider(origin)
    const auth = broker({ resource: `${origin}/mcp`, upstream, scopes, secrets: [secret] })
    const server = new McpServer({ name: 'notes', version: '1.0.0' })
    server.registerTool('whoami', {}, (_, ctx) => String(ctx.auth?.subject))
    await using serving = await serveHttp(server, { port: Number(new URL(origin).port), exit: false, auth })
    const browser = new Browser()
    const authorize = (page: URL) => browser.agree(page)
    await using client = await connect(serving.url, { auth: oauth({ redirectUrl: redirectUri, authorize }) })
    expect((await client.callTool('whoami')).text).toBe('alice')
    await as.close()
  })

  it('works with fetch, and in frameworks beside a server mounted elsewhere', async () => {
    await using place = await Place.start()
    const metadata = `${place.origin}/.well-known/oauth-authorization-server`
    expect((await place.auth.fetch(new Request(metadata))).status).toBe(200)
    expect((await place.auth.fetch(new Request(`${place.origin}/other`))).status).toBe(404)
    await using app = await listen()
    app.serve((request, response) => place.auth.node(request, response, () => response.end('next')))
    const get = async (path: string) => (await fetch(app.origin + path)).text()
    expect(await get('/.well-known/oauth-authorization-server')).toContain('"issuer"')
    expect(await get('/.well-known/oauth-protected-resource/mcp')).toContain('"authorization_servers"')
    expect(await get('/mcp')).toBe('next')
  })

  it('keeps logins and registrations across a restart with the same secrets and store', async () => {
    const store = new MemoryValueStore()
    await using place = await Place.start({ broker: { store } })
    const { clientId, access, refresh } = await place.signIn()
    const { upstream } = place
    const again = broker({
      resource: place.url,
      upstream,
      scopes,
      store,
      // The new one first; what the old one sealed still opens.
      secrets: ['another secret of more than 32 characters', secret],
    })
    expect(await again.verify(access, anyRequest)).toMatchObject({ subject: 'alice', clientId })
    const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refresh })
    const answer = await again.fetch(new Request(`${place.origin}/token`, { method: 'POST', body: form }))
    expect(answer.status).toBe(200)
    const other = broker({ resource: place.url, upstream, store, secrets: ['not the secret, but as long as it is'] })
    expect(await other.verify(access, anyRequest)).toBe(undefined)
  })

  it('stores nothing that can be read or used without its secrets [AUTH-025, AUTH-094]', async () => {
    const kept: string[] = []
    const memory = new MemoryValueStore()
    const store = {
      get: (key: string) => memory.get(key),
      take: (key: string) => memory.take(key),
      delete: (key: string) => memory.delete(key),
      set: (key: string, value: string, ttlMs: number) => {
        kept.push(key, value)
        memory.set(key, value, ttlMs)
      },
    }
    const user = 'alice-who-signs-in-at-the-provider'
    await using place = await Place.start({ broker: { store }, upstream: { users: [user] } })
    const { clientId, access, refresh, code } = await place.signIn()
    await using client = await connect(place.url, { headers: { authorization: `Bearer ${access}` } })
    const upstreamAccess = (await client.callTool('upstream')).text
    const refreshed = (await place.refresh(clientId, refresh)).body
    const [login] = place.as.requests.filter(({ endpoint }) => endpoint === 'authorize')
    const [exchange] = place.tokenRequests('authorization_code')
    const [renewal] = place.tokenRequests('refresh_token')
    const secrets = [
      access,
      refresh,
      refresh.split('.')[0]!,
      code,
      refreshed.access_token as string,
      refreshed.refresh_token as string,
      upstreamAccess,
      renewal!.params.refresh_token!,
      exchange!.params.code!,
      exchange!.params.code_verifier!,
      login!.params.nonce!,
      user,
      redirectUri,
    ]
    for (const each of secrets) expect(each).toMatch(/^.{20,}$/)
    expect(jwtsIn(upstreamAccess)).toEqual([upstreamAccess])
    expect(kept.length).toBeGreaterThan(8)
    for (const text of kept.flatMap(readings)) {
      for (const each of secrets) expect(text).not.toContain(each)
      expect(jwtsIn(text)).toEqual([])
    }
  })

  it('reports invalid options immediately', () => {
    const upstream = providers.github({ clientId: 'x', clientSecret: 'y' })
    const resource = 'https://mcp.example.com/mcp'
    const secrets = [secret]
    expect(() => broker({ resource: 'http://mcp.example.com/mcp', upstream, secrets })).toThrow(/https/)
    expect(() => broker({ resource, upstream, secrets: ['short'] })).toThrow(/32 random characters/)
    expect(() => broker({ resource, upstream, secrets: [undefined as unknown as string] })).toThrow(/32/)
    expect(() => broker({ resource, upstream, secrets, requiredScopes: ['a'] })).toThrow(/required scope a/)
    for (const accessTokenSeconds of [7_200, 3_601, 0, -1, Number.NaN]) {
      expect(() => broker({ resource, upstream, secrets, accessTokenSeconds })).toThrow(/3,600/)
    }
    expect(() => broker({ resource, upstream, secrets, accessTokenSeconds: 3_600 })).not.toThrow()
    expect(() => broker({ resource, upstream: { ...upstream, clientId: '' }, secrets })).toThrow(/clientId/)
    for (const part of [{ name: '' }, { scopes: 'openid' as never }, { scopes: undefined as never }]) {
      const open = () => broker({ resource, upstream: { ...upstream, ...part }, secrets })
      expect(open).toThrow('broker: upstream must have name, clientId and scopes.')
    }
    expect(() => providers.microsoft({ tenant: 'common', clientId: 'x' })).toThrow(/GUID/)
    expect(() => providers.okta({ domain: 'evil.example/path', clientId: 'x' })).toThrow(/domain/)
    expect(broker({ resource, upstream, secrets }).callbackUrl).toBe('https://mcp.example.com/callback')
  })

  it('issues a token that ends with the provider’s when there is no upstream refresh token', async () => {
    await using place = await Place.start({ upstream: { refreshTokens: 'never', accessTokenSeconds: 120 } })
    const { body } = await place.signIn()
    expect(body.refresh_token).toBe(undefined)
    expect(body.expires_in).toBeLessThanOrEqual(120)
  })

  it('shares a token store with other servers without mixing their data', async () => {
    await using one = await Place.start()
    await using two = await Place.start()
    const store = new MemoryTokenStore()
    await using first = await one.connect(new Browser(), { store })
    await using second = await two.connect(new Browser(), { store })
    const [a, b] = await Promise.all([first.callTool('who'), second.callTool('who')])
    expect([JSON.parse(a.text).issuer, JSON.parse(b.text).issuer]).toEqual([one.origin, two.origin])
  })
})

/** A stored text as it is, and what it contains in base64. */
function readings(text: string): string[] {
  const encoded = text.match(/[\w+/-]{8,}/g) ?? []
  return [text, ...encoded.map((each) => Buffer.from(each, 'base64').toString('latin1'))]
}

/** The JSON Web Tokens in a text: three parts, of which the first is a header with an algorithm. */
function jwtsIn(text: string): string[] {
  const candidates = text.match(/[\w-]+\.[\w-]+\.[\w-]*/g) ?? []
  return candidates.filter((each) => {
    try {
      return typeof decodeProtectedHeader(each).alg === 'string'
    } catch {
      return false
    }
  })
}
