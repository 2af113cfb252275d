import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import {
  authorize,
  callback,
  discover,
  errorOf,
  host,
  insecure,
  jsonOf,
  type Login,
  login,
  post,
  redeem,
  refresh,
  register,
  resource,
  start,
} from './authorization-server-support.ts'

describe('metadata of the development authorization server', () => {
  it('serves OAuth and OpenID metadata, both with PKCE [AUTH-017, AUTH-036, AUTH-037, AUTH-066]', async () => {
    await using server = await start()
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      const metadata = await discover(server.as, algorithm)
      expect(metadata.issuer).toBe(server.as.issuer)
      expect(metadata.code_challenge_methods_supported).toEqual(['S256'])
    }
  })

  it('lists client authentication methods and the signing algorithms of assertions [AUTH-106]', async () => {
    await using server = await start()
    expect(server.metadata.token_endpoint_auth_methods_supported).toEqual(
      expect.arrayContaining(['private_key_jwt', 'client_secret_basic']),
    )
    expect(server.metadata.token_endpoint_auth_signing_alg_values_supported).toContain('ES256')
    await using bare = await start({ tokenEndpointAuthMethods: ['none'] })
    expect(bare.metadata.token_endpoint_auth_methods_supported).toEqual(['none'])
    expect(bare.metadata.token_endpoint_auth_signing_alg_values_supported).toBeUndefined()
  })

  const oauthForm = '/.well-known/oauth-authorization-server/tenant1'
  const inserted = '/.well-known/openid-configuration/tenant1'
  const appended = '/tenant1/.well-known/openid-configuration'
  for (const [form, served] of [
    ['both', [oauthForm, inserted, appended]],
    ['oauth', [oauthForm]],
    ['openid', [inserted, appended]],
    ['openid-inserted', [inserted]],
    ['openid-appended', [appended]],
    ['none', []],
  ] as const) {
    it(`serves the metadata of an issuer with a path at the '${form}' locations`, async () => {
      await using as = await startAuthorizationServer({ issuerPath: '/tenant1', metadata: form })
      const { origin } = new URL(as.issuer)
      for (const path of [oauthForm, inserted, appended]) {
        const response = await fetch(origin + path)
        expect([path, response.status]).toEqual([path, (served as readonly string[]).includes(path) ? 200 : 404])
        if (response.ok) expect((await jsonOf(response)).token_endpoint).toBe(`${origin}/tenant1/token`)
      }
      expect((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status).toBe(404)
    })
  }

  it('omits disabled features from the metadata', async () => {
    await using server = await start({
      registration: false,
      clientIdMetadataDocuments: false,
      issParameter: false,
      dpop: false,
    })
    for (const member of [
      'registration_endpoint',
      'client_id_metadata_document_supported',
      'authorization_response_iss_parameter_supported',
      'dpop_signing_alg_values_supported',
      'scopes_supported',
    ]) {
      expect(server.metadata).not.toHaveProperty(member)
    }
    expect((await fetch(`${server.as.issuer}/register`, { method: 'POST', body: '{}' })).status).toBe(404)
  })

  it('serves the default paths of 2025-03-26 without metadata [AUTH-018]', async () => {
    await using as = await startAuthorizationServer({ metadata: 'none' })
    expect((await fetch(`${as.issuer}/.well-known/oauth-authorization-server`)).status).toBe(404)
    const registered = await fetch(`${as.issuer}/register`, {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
    })
    const client = (await registered.json()) as oauth.Client
    const metadata = {
      issuer: as.issuer,
      authorization_endpoint: `${as.issuer}/authorize`,
      token_endpoint: `${as.issuer}/token`,
    }
    expect((await login({ as, client, metadata })).token_type).toBe('bearer')
  })
})

describe('the authorization code flow', () => {
  it('issues a short-lived, audience-bound access token in the RFC 9068 format [AUTH-008, AUTH-023, AUTH-026, AUTH-095]', async () => {
    await using server = await start({ scopesSupported: ['files:read', 'files:write'] })
    const tokens = await login({ ...server, params: { scope: 'files:read' } })
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 300, scope: 'files:read' })
    expect(typeof tokens.refresh_token).toBe('string')
    const keys = jose.createRemoteJWKSet(new URL(server.metadata.jwks_uri!))
    const { payload, protectedHeader } = await jose.jwtVerify(tokens.access_token, keys, {
      issuer: server.as.issuer,
      audience: resource,
      typ: 'at+jwt',
      algorithms: ['ES256'],
    })
    expect(protectedHeader.kid).toBe(server.as.jwks.keys[0]!.kid)
    expect(payload).toMatchObject({ sub: 'alice', client_id: server.client.client_id, scope: 'files:read' })
    expect(payload.exp! - payload.iat!).toBe(300)
    expect(typeof payload.jti).toBe('string')
  })

  it('issues tokens that oauth4webapi accepts as a resource server', async () => {
    await using server = await start()
    const { access_token } = await login(server)
    const request = new Request(resource, { headers: { authorization: `Bearer ${access_token}` } })
    const claims = await oauth.validateJwtAccessToken(server.metadata, request, resource, insecure)
    expect(claims.sub).toBe('alice')
    expect(await errorOf(oauth.validateJwtAccessToken(server.metadata, request, 'https://other/', insecure))).toMatch(
      /aud/,
    )
  })

  it('includes iss in every redirect, errors too [AUTH-087]', async () => {
    await using server = await start({ scopesSupported: ['a'] })
    const { redirect } = await authorize(server)
    expect(redirect!.searchParams.get('iss')).toBe(server.as.issuer)
    const refused = await authorize({ ...server, params: { scope: 'b' } })
    expect(Object.fromEntries(refused.redirect!.searchParams)).toMatchObject({
      error: 'invalid_scope',
      state: 'the state',
      iss: server.as.issuer,
    })
  })

  it('redeems a code once and revokes its tokens on reuse', async () => {
    await using server = await start()
    const { redirect, verifier } = await authorize(server)
    const tokens = await redeem(server, redirect!, verifier)
    expect(await errorOf(redeem(server, redirect!, verifier))).toBe('invalid_grant')
    expect(await errorOf(refresh(server, tokens.refresh_token!))).toBe('invalid_grant')
  })

  it('requires the code verifier, the same client and the same redirect URI', async () => {
    await using server = await start()
    const token = server.metadata.token_endpoint!
    const other = server.as.registerClient({ redirect_uris: [callback] }).client_id
    for (const change of [
      { code_verifier: oauth.generateRandomCodeVerifier() },
      { client_id: other },
      { redirect_uri: 'http://127.0.0.1:10/callback' },
    ]) {
      const { redirect, verifier } = await authorize(server)
      const { status, body } = await post(token, {
        grant_type: 'authorization_code',
        client_id: server.client.client_id,
        code: redirect!.searchParams.get('code')!,
        code_verifier: verifier,
        redirect_uri: callback,
        resource,
        ...change,
      })
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
  })

  it('expires a code after a minute', async () => {
    let now = Date.now()
    await using server = await start({ now: () => now })
    const { redirect, verifier } = await authorize(server)
    now += 61_000
    expect(await errorOf(redeem(server, redirect!, verifier))).toBe('invalid_grant')
  })

  for (const [what, params, error] of [
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no challenge', { code_challenge: '' }, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge of no method', { code_challenge_method: '' }, 'invalid_request'],
    ['no resource', { resource: '' }, 'invalid_target'],
    ['a resource with a fragment', { resource: `${resource}#x` }, 'invalid_target'],
    ['another resource', { resource: 'https://other.example' }, 'invalid_target'],
  ] as const) {
    it(`answers ${what} with ${error}`, async () => {
      await using server = await start({ resources: [resource] })
      const { response, redirect } = await authorize({ ...server, params })
      expect(response.status).toBe(303)
      expect(redirect!.searchParams.get('error')).toBe(error)
      expect(redirect!.searchParams.has('code')).toBe(false)
    })
  }

  it('accepts a token request only for the resource that was authorized', async () => {
    await using server = await start()
    const { redirect, verifier } = await authorize(server)
    const { body } = await post(server.metadata.token_endpoint!, {
      grant_type: 'authorization_code',
      client_id: server.client.client_id,
      code: redirect!.searchParams.get('code')!,
      code_verifier: verifier,
      resource: 'https://other.example',
    })
    expect(body.error).toBe('invalid_target')
  })

  it('refuses a duplicate parameter', async () => {
    await using server = await start()
    const url = new URL(server.metadata.authorization_endpoint!)
    url.search = `client_id=${server.client.client_id}&redirect_uri=${callback}&state=a&state=b`
    const response = await fetch(url, { redirect: 'manual' })
    expect(new URL(response.headers.get('location')!).searchParams.get('error')).toBe('invalid_request')
  })

  it('issues an ID token with the nonce when openid is in the scope', async () => {
    await using server = await start({ users: ['alice', 'bob'] })
    const { redirect, verifier } = await authorize({
      ...server,
      params: { scope: 'openid', nonce: 'n', login_hint: 'bob' },
    })
    const params = oauth.validateAuthResponse(server.metadata, server.client, redirect!, 'the state')
    const options = { additionalParameters: { resource }, ...insecure }
    const { metadata, client } = server
    const response = await oauth.authorizationCodeGrantRequest(
      metadata,
      client,
      oauth.None(),
      params,
      callback,
      verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(metadata, client, response, {
      expectedNonce: 'n',
      requireIdToken: true,
    })
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe('bob')
  })
})

describe('redirect URIs', () => {
  it('matches redirect URIs exactly and never redirects to another [AUTH-091, AUTH-092]', async () => {
    await using server = await start()
    const client = register(server.as, { redirect_uris: ['https://app.example/cb'] })
    for (const uri of [
      'https://app.example/cb/',
      'https://app.example/cb?x=1',
      'https://app.example:444/cb',
      'https://APP.example/cb',
      'https://app.example.evil.example/cb',
      'http://app.example/cb',
      'javascript:alert(1)',
    ]) {
      const { response, redirect } = await authorize({ ...server, client, params: { redirect_uri: uri } })
      expect([uri, response.status, redirect]).toEqual([uri, 400, undefined])
      expect(response.headers.get('content-type')).toMatch('text/html')
    }
    const right = await authorize({ ...server, client, params: { redirect_uri: 'https://app.example/cb' } })
    expect(right.redirect!.host).toBe('app.example')
  })

  it('allows any port, and no other difference, for a loopback redirect URI [AUTH-091]', async () => {
    await using server = await start()
    const fits = async (uri: string) => (await authorize({ ...server, params: { redirect_uri: uri } })).response.status
    expect(await fits('http://127.0.0.1:54321/callback')).toBe(303)
    expect(await fits('http://127.0.0.1/callback')).toBe(303)
    for (const uri of [
      'http://127.0.0.1:54321/other',
      'http://localhost:9/callback',
      'https://127.0.0.1:9/callback',
      'http://127.0.0.1:9@evil.example/callback',
      'http://127.0.0.1:9.evil.example/callback',
      'http://127.0.0.1:9/callback#x',
    ]) {
      expect([uri, await fits(uri)]).toEqual([uri, 400])
    }
  })

  it('requires the exact port for a web application', async () => {
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], application_type: 'web' })
    const params = { redirect_uri: 'http://127.0.0.1:10/callback' }
    expect((await authorize({ ...server, client, params })).response.status).toBe(400)
  })
})

describe('the login page', () => {
  const open = (server: Login, params: Record<string, string> = {}) => authorize({ ...server, params })
  const ticketOf = (html: string) => /name="ticket" value="([^"]+)"/.exec(html)![1]!
  async function answer(server: Login, form: [string, string][]) {
    const body = new URLSearchParams(form)
    const response = await fetch(server.metadata.authorization_endpoint!, { method: 'POST', body, redirect: 'manual' })
    return { status: response.status, location: response.headers.get('location') }
  }

  it('shows the client, the scopes and the redirect target, without scripts or framing [AUTH-054]', async () => {
    await using server = await start({ login: 'page', users: ['alice', 'bob'] })
    const { client_id } = server.as.registerClient({
      client_name: '<script>alert("x")</script>',
      redirect_uris: ['https://app.example/cb'],
    })
    const params = { scope: 'files:read "><b', redirect_uri: 'https://app.example/cb' }
    const { response } = await open({ ...server, client: { client_id } }, params)
    expect(response.status).toBe(200)
    const html = await response.text()
    expect(html).toContain('<strong>app.example</strong>')
    expect(html).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;')
    expect(html).toContain('value="files:read"')
    expect(html).toContain('value="&quot;&gt;&lt;b"')
    expect(html).toContain('value="bob"')
    expect(html).not.toMatch(/<script|<b"/)
    const policy = response.headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  })

  it('lets the user choose the account and the scopes', async () => {
    await using server = await start({ login: 'page', users: ['alice', 'bob'] })
    const { response, verifier } = await open(server, { scope: 'a b' })
    const ticket = ticketOf(await response.text())
    const chosen = await answer(server, [
      ['ticket', ticket],
      ['user', 'bob'],
      ['scope', 'b'],
      ['scope', 'never-asked-for'],
      ['decision', 'allow'],
    ])
    expect(chosen.status).toBe(303)
    const tokens = await redeem(server, new URL(chosen.location!), verifier)
    expect(tokens.scope).toBe('b')
    expect(jose.decodeJwt(tokens.access_token).sub).toBe('bob')
  })

  it('accepts a denial, and only one answer', async () => {
    await using server = await start({ login: 'page' })
    const { response } = await open(server)
    const ticket = ticketOf(await response.text())
    const no = await answer(server, [
      ['ticket', ticket],
      ['user', 'alice'],
      ['decision', 'deny'],
    ])
    expect(new URL(no.location!).searchParams.get('error')).toBe('access_denied')
    const again = await answer(server, [
      ['ticket', ticket],
      ['user', 'alice'],
      ['decision', 'allow'],
    ])
    expect(again).toEqual({ status: 400, location: null })
  })

  it('warns about a metadata document client that redirects to this computer [AUTH-053]', async () => {
    await using server = await start({ login: 'page' })
    const remote = 'https://app.example/cb'
    await using site = await host((origin, path) => ({
      body: JSON.stringify({ client_id: origin + path, client_name: 'Local', redirect_uris: [callback, remote] }),
    }))
    const client = { client_id: `${site.origin}/client.json` }
    const textFor = async (redirect_uri: string) =>
      (await open({ ...server, client }, { redirect_uri })).response.text()
    expect(await textFor(callback)).toContain('Any program on this computer')
    expect(await textFor(remote)).not.toContain('Any program on this computer')
    expect(await (await open(server)).response.text()).not.toContain('Any program on this computer')
  })
})
