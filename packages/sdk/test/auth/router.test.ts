import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type AuthorizationParams,
  type AuthRouterOptions,
  InvalidTokenError,
  jwtVerifier,
  mcpAuthRouter,
  type NodeMiddleware,
  type OAuthClient,
  OAuthError,
  type OAuthServerProvider,
  ProxyOAuthServerProvider,
  type ProxyOptions,
  type RedirectingResponse,
  requireBearerAuth,
} from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { createMcpHandler, McpServer } from 'tenon/server'
import { type AuthorizationServerOptions, startAuthorizationServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { anyRequest, challenge, listen, redirectUri, verifier } from './broker-support.ts'
import { User } from './client-support.ts'

afterEach(() => vi.restoreAllMocks())

/** A provider as people write it, who know the interface from elsewhere. */
class Provider implements OAuthServerProvider<RedirectingResponse> {
  readonly clients = new Map<string, OAuthClient>()
  readonly codes = new Map<string, { client: OAuthClient; params: AuthorizationParams }>()
  readonly tokens = new Map<string, { clientId: string; scopes: string[] }>()
  readonly calls: unknown[][] = []

  clientsStore = {
    getClient: (id: string) => this.clients.get(id),
    registerClient: async (client: Omit<OAuthClient, 'client_id'> & { client_id?: string }) => {
      const full = client as OAuthClient
      this.clients.set(full.client_id, full)
      return full
    },
  }

  async authorize(client: OAuthClient, params: AuthorizationParams, response: RedirectingResponse): Promise<void> {
    if (params.scopes?.includes('never')) throw new OAuthError('invalid_scope', 'There is no such scope')
    if (params.scopes?.includes('broken')) throw new Error('/home/me/secret.ts failed')
    const code = crypto.randomUUID()
    this.codes.set(code, { client, params })
    const url = new URL(params.redirectUri)
    url.searchParams.set('code', code)
    if (params.state !== undefined) url.searchParams.set('state', params.state)
    response.redirect(url.href)
  }

  async challengeForAuthorizationCode(_client: OAuthClient, code: string): Promise<string> {
    return this.codes.get(code)?.params.codeChallenge ?? ''
  }

  async exchangeAuthorizationCode(client: OAuthClient, code: string, ...more: unknown[]) {
    this.calls.push(['code', ...more])
    if (this.codes.get(code)?.client.client_id !== client.client_id) {
      // As an error of another library looks.
      throw Object.assign(new Error('No such code'), { errorCode: 'invalid_grant' })
    }
    return this.#issue(client, this.codes.get(code)!.params.scopes ?? [])
  }

  async exchangeRefreshToken(client: OAuthClient, token: string, scopes?: string[], resource?: URL) {
    this.calls.push(['refresh', token, scopes, resource?.href])
    return this.#issue(client, scopes ?? [])
  }

  async verifyAccessToken(token: string) {
    const found = this.tokens.get(token)
    if (!found) throw new InvalidTokenError('no')
    return { ...found, expiresAt: Math.floor(Date.now() / 1000) + 60, extra: { sub: 'ann' } }
  }

  async revokeToken(client: OAuthClient, request: { token: string; token_type_hint?: string }) {
    this.calls.push(['revoke', client.client_id, request])
    this.tokens.delete(request.token)
  }

  #issue({ client_id: clientId }: OAuthClient, scopes: string[]) {
    const access_token = crypto.randomUUID()
    this.tokens.set(access_token, { clientId, scopes })
    return { access_token, token_type: 'Bearer', expires_in: 60, refresh_token: crypto.randomUUID() }
  }
}

function inTurn(...layers: NodeMiddleware[]) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const step = (index: number): void => layers[index]?.(request, response, () => step(index + 1))
    step(0)
  }
}

/** An application with the router, and an MCP server behind it. */
async function start<P extends OAuthServerProvider<RedirectingResponse>>(
  provider: P,
  options: Partial<AuthRouterOptions> = {},
) {
  const port = await listen()
  const { origin } = port
  const resourceServerUrl = `${origin}/mcp`
  const router = mcpAuthRouter({
    provider,
    issuerUrl: new URL(origin),
    resourceServerUrl,
    scopesSupported: ['mcp'],
    ...options,
  })
  const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`
  const server = new McpServer({ name: 'app', version: '1.0.0' })
  server.registerTool('hi', {}, () => 'hi')
  const handler = createMcpHandler(server)
  const guard = requireBearerAuth({ verifier: provider, resourceMetadataUrl })
  port.serve(inTurn(router, guard, handler.node))
  const post = async (path: string, form: Record<string, string> | string, headers: Record<string, string> = {}) => {
    const body = typeof form === 'string' ? form : new URLSearchParams(form)
    const response = await fetch(origin + path, { method: 'POST', body, headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const register = async (metadata: object = {}) =>
    (await post('/register', JSON.stringify({ redirect_uris: [redirectUri], ...metadata }))).body
  const authorize = async (params: Record<string, string>) => {
    const url = new URL('/authorize', origin)
    const all = { response_type: 'code', code_challenge: challenge, code_challenge_method: 'S256', ...params }
    url.search = String(new URLSearchParams(all))
    const response = await fetch(url, { redirect: 'manual' })
    const location = response.headers.get('location')
    return { status: response.status, back: location === null ? undefined : new URL(location) }
  }
  return {
    origin,
    url: resourceServerUrl,
    provider,
    post,
    register,
    authorize,
    async [Symbol.asyncDispose]() {
      await handler.close(0)
      await port[Symbol.asyncDispose]()
    },
  }
}

describe('mcpAuthRouter', () => {
  it('registers, signs in and calls through a provider of the official interface', async () => {
    await using app = await start(new Provider())
    const user = new User()
    await using client = await connect(app.url, { auth: user.auth({ clientName: 'Agent' }) })
    expect((await client.callTool('hi')).text).toBe('hi')
    expect([...app.provider.clients.values()]).toMatchObject([{ client_name: 'Agent', redirect_uris: [redirectUri] }])
  })

  it('describes the authorization server and the resource', async () => {
    const serviceDocumentationUrl = new URL('https://docs.example.com/')
    await using app = await start(new Provider(), { resourceName: 'App', serviceDocumentationUrl })
    const metadata = await (await fetch(`${app.origin}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).toMatchObject({
      issuer: `${app.origin}/`,
      authorization_endpoint: `${app.origin}/authorize`,
      token_endpoint: `${app.origin}/token`,
      registration_endpoint: `${app.origin}/register`,
      revocation_endpoint: `${app.origin}/revoke`,
      code_challenge_methods_supported: ['S256'],
      scopes_supported: ['mcp'],
      service_documentation: 'https://docs.example.com/',
    })
    const resource = await (await fetch(`${app.origin}/.well-known/oauth-protected-resource/mcp`)).json()
    expect(resource).toMatchObject({
      resource: app.url,
      authorization_servers: [`${app.origin}/`],
      resource_name: 'App',
    })
  })

  it('has no registration or revocation endpoint where the provider has none', async () => {
    const whole = new Provider()
    const { getClient } = whole.clientsStore
    const provider: OAuthServerProvider<RedirectingResponse> = {
      clientsStore: { getClient },
      authorize: (...given) => whole.authorize(...given),
      challengeForAuthorizationCode: (...given) => whole.challengeForAuthorizationCode(...given),
      exchangeAuthorizationCode: (...given) => whole.exchangeAuthorizationCode(...given),
      exchangeRefreshToken: (...given) => whole.exchangeRefreshToken(...given),
      verifyAccessToken: (token) => whole.verifyAccessToken(token),
    }
    await using app = await start(provider)
    const metadata = await (await fetch(`${app.origin}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).not.toHaveProperty('registration_endpoint')
    expect(metadata).not.toHaveProperty('revocation_endpoint')
    // Left to what follows, which wants a token.
    expect((await app.post('/register', '{}')).status).toBe(401)
  })

  it('generates client ids and secrets that can expire', async () => {
    await using app = await start(new Provider(), { clientRegistrationOptions: { clientSecretExpirySeconds: 60 } })
    const open = await app.register({ token_endpoint_auth_method: 'none' })
    expect(open.client_secret).toBe(undefined)
    const secret = await app.register({ token_endpoint_auth_method: 'client_secret_post' })
    expect(secret.client_secret).toMatch(/^[\w-]{43}$/)
    expect(secret.client_secret_expires_at).toBeGreaterThan(Date.now() / 1000)
    const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: secret.client_id }
    expect((await app.post('/token', { ...form, client_secret: secret.client_secret })).status).toBe(200)
    expect((await app.post('/token', { ...form, client_secret: 'wrong' })).status).toBe(401)
    expect((await app.post('/token', form)).status).toBe(401)
    app.provider.clients.set(secret.client_id, { ...secret, client_secret_expires_at: 1 })
    const late = await app.post('/token', { ...form, client_secret: secret.client_secret })
    expect([late.status, late.body.error]).toEqual([401, 'invalid_client'])
  })

  it('accepts a client secret by either method if none was registered', async () => {
    await using app = await start(new Provider())
    app.provider.clients.set('c', { client_id: 'c', client_secret: 's', redirect_uris: [redirectUri] })
    const form = { grant_type: 'refresh_token', refresh_token: 'x' }
    const headers = { authorization: `Basic ${btoa('c:s')}` }
    expect((await app.post('/token', form, headers)).status).toBe(200)
    expect((await app.post('/token', { ...form, client_id: 'c', client_secret: 's' })).status).toBe(200)
    expect((await app.post('/token', { ...form, client_id: 'c' })).status).toBe(401)
  })

  it('verifies PKCE itself unless the provider does', async () => {
    for (const skipLocalPkceValidation of [false, true]) {
      await using app = await start(Object.assign(new Provider(), { skipLocalPkceValidation }))
      const { client_id } = await app.register({ token_endpoint_auth_method: 'none' })
      const { back } = await app.authorize({ client_id, redirect_uri: redirectUri, state: 's' })
      expect(back!.searchParams.get('state')).toBe('s')
      const code = back!.searchParams.get('code')!
      const form = { grant_type: 'authorization_code', client_id, code, redirect_uri: redirectUri, resource: app.url }
      const wrong = await app.post('/token', { ...form, code_verifier: 'w'.repeat(43) })
      expect(wrong.body.error).toBe(skipLocalPkceValidation ? undefined : 'invalid_grant')
      expect((await app.post('/token', { ...form, code_verifier: verifier })).status).toBe(200)
      const given = skipLocalPkceValidation ? verifier : undefined
      expect(app.provider.calls.at(-1)).toEqual(['code', given, redirectUri, new URL(app.url)])
    }
  })

  it('validates requests before the provider sees them [AUTH-091]', async () => {
    await using app = await start(new Provider())
    const { client_id } = await app.register({ token_endpoint_auth_method: 'none' })
    const ok = { client_id, redirect_uri: redirectUri }
    expect((await app.authorize({ ...ok, redirect_uri: 'https://evil.example/cb' })).status).toBe(400)
    expect((await app.authorize({ ...ok, client_id: 'nobody' })).status).toBe(400)
    const errorOf = async (params: Record<string, string>) =>
      (await app.authorize({ ...ok, ...params })).back?.searchParams.get('error')
    expect(await errorOf({ code_challenge_method: 'plain' })).toBe('invalid_request')
    expect(await errorOf({ resource: 'x' })).toBe('invalid_target')
    expect(app.provider.codes.size).toBe(0)
    expect(await errorOf({ scope: 'never' })).toBe('invalid_scope')
  })

  it('forwards OAuth errors of the provider and hides its internal errors', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await using app = await start(new Provider())
    const { client_id } = await app.register({ token_endpoint_auth_method: 'none' })
    const { back } = await app.authorize({ client_id, redirect_uri: redirectUri, scope: 'broken' })
    expect(Object.fromEntries(back!.searchParams)).toEqual({
      error: 'server_error',
      error_description: 'Internal server error.',
    })
    expect(log).toHaveBeenCalledOnce()
    app.provider.challengeForAuthorizationCode = async () => challenge
    const form = { grant_type: 'authorization_code', client_id, code: 'x', code_verifier: verifier }
    const { status, body } = await app.post('/token', form)
    expect([status, body]).toEqual([400, { error: 'invalid_grant', error_description: 'No such code' }])
  })

  it('refreshes and revokes through the provider', async () => {
    await using app = await start(new Provider())
    const { client_id } = await app.register({ token_endpoint_auth_method: 'none' })
    const form = { client_id, refresh_token: 'r', scope: 'a b', resource: app.url }
    expect((await app.post('/token', { grant_type: 'refresh_token', ...form })).status).toBe(200)
    const revoked = await app.post('/revoke', { client_id, token: 't', token_type_hint: 'access_token' })
    expect(revoked.status).toBe(200)
    expect(app.provider.calls).toEqual([
      ['refresh', 'r', ['a', 'b'], app.url],
      ['revoke', client_id, { token: 't', token_type_hint: 'access_token' }],
    ])
  })

  it('reads a body that a body parser has already parsed', async () => {
    const port = await listen()
    const provider = new Provider()
    const router = mcpAuthRouter({ provider, issuerUrl: port.origin })
    const withBody = (body: unknown) => (request: IncomingMessage, response: ServerResponse) =>
      router(Object.assign(request, { body }), response)
    port.serve(withBody({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }))
    const json = { 'content-type': 'application/json' }
    const registered = await fetch(`${port.origin}/register`, { method: 'POST', headers: json })
    const { client_id } = (await registered.json()) as OAuthClient
    port.serve(withBody({ grant_type: 'refresh_token', refresh_token: 'r', client_id, scope: 'a' }))
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await fetch(`${port.origin}/token`, { method: 'POST', headers: form })).status).toBe(200)
    port.serve(withBody({ grant_type: ['refresh_token', 'x'], client_id }))
    expect((await fetch(`${port.origin}/token`, { method: 'POST', headers: form })).status).toBe(400)
    await port[Symbol.asyncDispose]()
  })

  it('requires https and an issuer without query or fragment', () => {
    const provider = new Provider()
    expect(() => mcpAuthRouter({ provider, issuerUrl: 'http://auth.example.com' })).toThrow(/https/)
    expect(() => mcpAuthRouter({ provider, issuerUrl: 'https://auth.example.com/?a' })).toThrow(/query/)
    expect(() => mcpAuthRouter({ provider, issuerUrl: new URL('https://auth.example.com') })).not.toThrow()
  })
})

describe('ProxyOAuthServerProvider', () => {
  /** In front of an authorization server that knows every client by its own id. */
  async function proxied(options: Partial<ProxyOptions> = {}, server: AuthorizationServerOptions = {}) {
    // Its name is not the router's, so that it must not put it into the answers.
    const as = await startAuthorizationServer({ issParameter: false, ...server })
    const known = new Map<string, OAuthClient>()
    const verify = jwtVerifier({ issuer: as.issuer })
    const provider = new ProxyOAuthServerProvider({
      endpoints: {
        authorizationUrl: `${as.issuer}/authorize`,
        tokenUrl: `${as.issuer}/token`,
        revocationUrl: `${as.issuer}/revoke`,
        registrationUrl: `${as.issuer}/register`,
      },
      getClient: async (id) => known.get(id),
      verifyAccessToken: async (token) => {
        const info = await verify(token, anyRequest)
        if (!info) throw new InvalidTokenError('no')
        return info
      },
      ...options,
    })
    const { registerClient } = provider.clientsStore
    provider.clientsStore.registerClient = async (client) => {
      const registered = await registerClient!(client)
      known.set(registered.client_id, registered)
      return registered
    }
    const app = await start(provider)
    const dispose = async () => {
      await app[Symbol.asyncDispose]()
      await as.close()
    }
    return { ...app, as, [Symbol.asyncDispose]: dispose }
  }

  it('proxies a client to another authorization server [SDK-016]', async () => {
    await using app = await proxied()
    const user = new User()
    const follow = async (page: URL) => {
      const on = (await fetch(page, { redirect: 'manual' })).headers.get('location')!
      expect(on).toContain(`${app.as.issuer}/authorize?`)
      return new URL((await fetch(on, { redirect: 'manual' })).headers.get('location')!)
    }
    await using client = await connect(app.url, { auth: user.auth({ authorize: follow }) })
    expect((await client.callTool('hi')).text).toBe('hi')
    const [request] = app.as.requests.filter(({ endpoint }) => endpoint === 'token')
    expect(request!.params).toMatchObject({ resource: app.url, redirect_uri: redirectUri })
  })

  it('forwards refusals and hides internal errors', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await using app = await proxied()
    const { client_id } = await app.register({
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    const form = { grant_type: 'refresh_token', client_id, refresh_token: 'x' }
    const refused = await app.post('/token', form)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    app.as.faults.next('token', 'server-error')
    const failed = await app.post('/token', form)
    expect([failed.status, failed.body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(failed.headers.get('retry-after')).toBe('5')
    expect(JSON.stringify(failed.body)).not.toContain(new URL(app.as.issuer).host)
    expect(log).toHaveBeenCalledOnce()
    expect((await app.post('/revoke', { client_id, token: 'x' })).status).toBe(200)
    expect(app.as.requests.at(-1)).toMatchObject({ endpoint: 'revoke', params: { token: 'x', client_id } })
  })
  it.each(['client_secret_post', 'client_secret_basic'] as const)(
    'authenticates by %s where configured',
    async (method) => {
      const client = { client_id: 'an app', client_secret: 'a secret: 100%', redirect_uris: [redirectUri] }
      await using app = await proxied(
        { tokenEndpointAuthMethod: method, getClient: async () => client },
        { tokenEndpointAuthMethods: [method] },
      )
      app.as.registerClient({ ...client, token_endpoint_auth_method: method })
      const { client_id, client_secret } = client
      const form = { grant_type: 'refresh_token', client_id, client_secret, refresh_token: 'x' }
      // The client was recognised: what is wrong is the token.
      expect((await app.post('/token', form)).body.error).toBe('invalid_grant')
      const { headers, params } = app.as.requests.at(-1)!
      expect([headers.authorization !== undefined, 'client_secret' in params]).toEqual(
        method === 'client_secret_basic' ? [true, false] : [false, true],
      )
    },
  )

  it('answers 503 when the upstream server is down', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    await using app = await proxied()
    const { client_id } = await app.register({ token_endpoint_auth_method: 'none' })
    await app.as.close()
    const form = { grant_type: 'authorization_code', client_id, code: 'THE-CODE', code_verifier: verifier }
    const { status, body } = await app.post('/token', form)
    expect([status, body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(log).toHaveBeenCalledOnce()
    expect(JSON.stringify(log.mock.calls)).not.toContain('THE-CODE')
  })
})
