import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import {
  type AuthorizationServerOptions,
  type ClientMetadata,
  startAuthorizationServer,
  type TestAuthorizationServer,
} from 'tenon/testing'
import { describe, expect, it } from 'vitest'

const callback = 'http://127.0.0.1:9/callback'
const resource = 'https://mcp.example.com/mcp'
const insecure = { [oauth.allowInsecureRequests]: true }
const idTokenType = 'urn:ietf:params:oauth:token-type:id_token'
const idJagType = 'urn:ietf:params:oauth:token-type:id-jag'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const bearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** A server with a public client, as `oauth4webapi` sees them. */
async function start(options: AuthorizationServerOptions = {}) {
  const as = await startAuthorizationServer(options)
  const client = register(as, { redirect_uris: [callback] })
  return { as, client, metadata: await discover(as), [Symbol.asyncDispose]: () => as.close() }
}

/** A client as it sees itself. */
function register(as: TestAuthorizationServer, metadata?: ClientMetadata): oauth.Client {
  return { client_id: as.registerClient(metadata).client_id }
}

/** JSON that the test knows the shape of. */
async function jsonOf(response: Response): Promise<Record<string, string>> {
  return (await response.json()) as Record<string, string>
}

async function discover(as: TestAuthorizationServer, algorithm: 'oauth2' | 'oidc' = 'oauth2') {
  const issuer = new URL(as.issuer)
  const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure })
  return oauth.processDiscoveryResponse(issuer, response)
}

interface Login {
  as: TestAuthorizationServer
  client: oauth.Client
  metadata: oauth.AuthorizationServer
  auth?: oauth.ClientAuth
  params?: Record<string, string>
  dpop?: oauth.DPoPHandle
}

/** The first half: what comes back in the redirect. */
async function authorize({ client, metadata, params }: Login) {
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(metadata.authorization_endpoint!)
  const query = {
    client_id: client.client_id,
    redirect_uri: callback,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'the state',
    resource,
    ...params,
  }
  for (const [name, value] of Object.entries(query)) if (value !== '') url.searchParams.set(name, value)
  const response = await fetch(url, { redirect: 'manual' })
  const location = response.headers.get('location')
  return { response, verifier, redirect: location === null ? undefined : new URL(location) }
}

async function redeem(login: Login, redirect: URL, verifier: string) {
  const { client, metadata, auth = oauth.None(), dpop } = login
  const params = oauth.validateAuthResponse(metadata, client, redirect, 'the state')
  const options = { additionalParameters: { resource }, ...(dpop && { DPoP: dpop }), ...insecure }
  const response = await oauth.authorizationCodeGrantRequest(
    metadata,
    client,
    auth,
    params,
    callback,
    verifier,
    options,
  )
  return oauth.processAuthorizationCodeResponse(metadata, client, response)
}

async function login(login: Login) {
  const { redirect, verifier } = await authorize(login)
  return redeem(login, redirect!, verifier)
}

async function refresh({ metadata, client, auth = oauth.None(), dpop }: Login, token: string, extra = {}) {
  const options = { additionalParameters: { resource, ...extra }, ...(dpop && { DPoP: dpop }), ...insecure }
  const response = await oauth.refreshTokenGrantRequest(metadata, client, auth, token, options)
  return oauth.processRefreshTokenResponse(metadata, client, response)
}

/** Any form to any endpoint. */
async function post(address: string, form: Record<string, string> | [string, string][], headers = {}) {
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams(form), headers })
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || '{}') }
}

function errorOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: { error?: string }) => error.error ?? String(error),
  )
}

/** Serves what the handler answers, for documents about clients. */
async function host(handler: (origin: string, path: string) => { body: string; headers?: Record<string, string> }) {
  const asked: string[] = []
  const http: Server = createServer((request, response) => {
    asked.push(request.url!)
    const { body, headers } = handler(origin, request.url!)
    response.writeHead(headers?.location ? 302 : 200, { 'content-type': 'application/json', ...headers }).end(body)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const close = async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  }
  return { origin, asked, [Symbol.asyncDispose]: close }
}

describe('metadata', () => {
  it('is there for OAuth and for OpenID, with PKCE in both [AUTH-017, AUTH-036, AUTH-037, AUTH-066]', async () => {
    await using server = await start()
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      const metadata = await discover(server.as, algorithm)
      expect(metadata.issuer).toBe(server.as.issuer)
      expect(metadata.code_challenge_methods_supported).toEqual(['S256'])
    }
  })

  it('lists how clients may authenticate, and the signing algorithms of assertions [AUTH-106]', async () => {
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
    it(`of an issuer with a path is where '${form}' says`, async () => {
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

  it('leaves out what is switched off', async () => {
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

  it('does not matter for the default paths of 2025-03-26 [AUTH-018]', async () => {
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
  it('ends with a short-lived token for one server, signed and typed as RFC 9068 says [AUTH-008, AUTH-023, AUTH-026, AUTH-095]', async () => {
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

  it('is understood by oauth4webapi as a resource server', async () => {
    await using server = await start()
    const { access_token } = await login(server)
    const request = new Request(resource, { headers: { authorization: `Bearer ${access_token}` } })
    const claims = await oauth.validateJwtAccessToken(server.metadata, request, resource, insecure)
    expect(claims.sub).toBe('alice')
    expect(await errorOf(oauth.validateJwtAccessToken(server.metadata, request, 'https://other/', insecure))).toMatch(
      /aud/,
    )
  })

  it('carries the issuer in every redirect, errors too [AUTH-087]', async () => {
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

  it('redeems a code once; the second time ends the tokens of the first', async () => {
    await using server = await start()
    const { redirect, verifier } = await authorize(server)
    const tokens = await redeem(server, redirect!, verifier)
    expect(await errorOf(redeem(server, redirect!, verifier))).toBe('invalid_grant')
    expect(await errorOf(refresh(server, tokens.refresh_token!))).toBe('invalid_grant')
  })

  it('wants the verifier of the challenge, the same client and the same redirect URI', async () => {
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

  it('forgets a code after a minute', async () => {
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
    it(`sends ${what} back with ${error}`, async () => {
      await using server = await start({ resources: [resource] })
      const { response, redirect } = await authorize({ ...server, params })
      expect(response.status).toBe(303)
      expect(redirect!.searchParams.get('error')).toBe(error)
      expect(redirect!.searchParams.has('code')).toBe(false)
    })
  }

  it('takes a token request for the resource that was authorized only', async () => {
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

  it('refuses a parameter that comes twice', async () => {
    await using server = await start()
    const url = new URL(server.metadata.authorization_endpoint!)
    url.search = `client_id=${server.client.client_id}&redirect_uri=${callback}&state=a&state=b`
    const response = await fetch(url, { redirect: 'manual' })
    expect(new URL(response.headers.get('location')!).searchParams.get('error')).toBe('invalid_request')
  })

  it('gives an ID token with the nonce where the scope has openid', async () => {
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
  it('are matched as they are, and nobody is sent to another [AUTH-091, AUTH-092]', async () => {
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

  it('on the own machine may have any port, and nothing else that differs [AUTH-091]', async () => {
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

  it('of a web application keep their port', async () => {
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], application_type: 'web' })
    const params = { redirect_uri: 'http://127.0.0.1:10/callback' }
    expect((await authorize({ ...server, client, params })).response.status).toBe(400)
  })
})

describe('refresh tokens', () => {
  it('are rotated at each use [AUTH-026, AUTH-096]', async () => {
    await using server = await start()
    const first = await login({ ...server, params: { scope: 'a b' } })
    const second = await refresh(server, first.refresh_token!)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(second.scope).toBe('a b')
    const third = await refresh(server, second.refresh_token!, { scope: 'a' })
    expect([third.scope, jose.decodeJwt(third.access_token).scope]).toEqual(['a', 'a'])
    // Fewer scopes once are no fewer scopes for ever.
    expect((await refresh(server, third.refresh_token!)).scope).toBe('a b')
  })

  it('that come a second time end the whole login', async () => {
    await using server = await start()
    const asker = register(server.as, { client_secret: 'secret' })
    const first = await login(server)
    const second = await refresh(server, first.refresh_token!)
    expect(await errorOf(refresh(server, first.refresh_token!))).toBe('invalid_grant')
    expect(await errorOf(refresh(server, second.refresh_token!))).toBe('invalid_grant')
    const basic = oauth.ClientSecretBasic('secret')
    const response = await oauth.introspectionRequest(server.metadata, asker, basic, second.access_token, insecure)
    expect(await oauth.processIntrospectionResponse(server.metadata, asker, response)).toEqual({ active: false })
  })

  it('of many requests at once work for one of them', async () => {
    await using server = await start()
    const { refresh_token } = await login(server)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => errorOf(refresh(server, refresh_token!))))
    expect(outcomes.filter((error) => error === undefined)).toHaveLength(1)
  })

  it('stay as they are without rotation', async () => {
    await using server = await start({ rotateRefreshTokens: false })
    const { refresh_token } = await login(server)
    for (let time = 0; time < 2; time++) {
      expect((await refresh(server, refresh_token!)).refresh_token).toBeUndefined()
    }
  })

  it('are not used up by a request that asks for too much', async () => {
    await using server = await start()
    const { refresh_token } = await login({ ...server, params: { scope: 'a' } })
    expect(await errorOf(refresh(server, refresh_token!, { scope: 'a b' }))).toBe('invalid_scope')
    expect(await errorOf(refresh(server, refresh_token!, { resource: 'https://x.example' }))).toBe('invalid_target')
    expect(await errorOf(refresh(server, refresh_token!))).toBeUndefined()
  })

  it('are of no use to another client, nor after their time', async () => {
    let now = Date.now()
    await using server = await start({ now: () => now, refreshTokenSeconds: 1_000 })
    const { refresh_token } = await login(server)
    const other = { ...server, client: register(server.as) }
    expect(await errorOf(refresh(other, refresh_token!))).toBe('invalid_grant')
    now += 1_001_000
    expect(await errorOf(refresh(server, refresh_token!))).toBe('invalid_grant')
  })

  it('are given to clients that registered for them only', async () => {
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], grant_types: ['authorization_code'] })
    expect((await login({ ...server, client })).refresh_token).toBeUndefined()
  })

  it('need offline_access where the server says so, and are not there where it has none', async () => {
    await using offline = await start({ refreshTokens: 'offline_access' })
    expect((await login({ ...offline, params: { scope: 'a' } })).refresh_token).toBeUndefined()
    expect((await login({ ...offline, params: { scope: 'a offline_access' } })).refresh_token).toBeDefined()
    await using never = await start({ refreshTokens: 'never' })
    expect((await login({ ...never, params: { scope: 'offline_access' } })).refresh_token).toBeUndefined()
  })
})

describe('clients', () => {
  it('register themselves [AUTH-022, AUTH-043, AUTH-044]', async () => {
    await using server = await start()
    const wanted = { client_name: 'Inspector', redirect_uris: [callback], application_type: 'native' }
    const response = await oauth.dynamicClientRegistrationRequest(server.metadata, wanted as object, insecure)
    const client = await oauth.processDynamicClientRegistrationResponse(response)
    expect(client).toMatchObject({ ...wanted, token_endpoint_auth_method: 'client_secret_basic' })
    expect(client.client_secret_expires_at).toBe(0)
    const auth = oauth.ClientSecretBasic(client.client_secret as string)
    expect((await login({ ...server, client, auth })).token_type).toBe('bearer')
  })

  for (const [what, metadata, error] of [
    ['without redirect URIs', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['with a redirect to plain http', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    ['with a redirect to a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with a fragment', { redirect_uris: ['https://app.example/cb#'] }, 'invalid_redirect_uri'],
    ['that are web and local', { redirect_uris: [callback], application_type: 'web' }, 'invalid_redirect_uri'],
    [
      'with a method that is not there',
      { redirect_uris: [callback], token_endpoint_auth_method: 'tls_client_auth' },
      'invalid_client_metadata',
    ],
    ['with a scope that is no text', { redirect_uris: [callback], scope: ['a'] }, 'invalid_client_metadata'],
    ['that are a list', [], 'invalid_client_metadata'],
  ] as const) {
    it(`${what} are not registered: ${error}`, async () => {
      await using server = await start()
      const response = await fetch(server.metadata.registration_endpoint!, {
        method: 'POST',
        body: JSON.stringify(metadata),
      })
      expect([response.status, (await jsonOf(response)).error]).toEqual([400, error])
    })
  }

  const keyPair = () => jose.generateKeyPair('ES256', { extractable: true })

  it('authenticate in the way that they registered for, and in no other [AUTH-008]', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await keyPair()
    const jwks = { keys: [{ ...(await jose.exportJWK(publicKey)), alg: 'ES256' }] }
    const methods = {
      none: oauth.None(),
      client_secret_basic: oauth.ClientSecretBasic('a secret: with+signs%'),
      client_secret_post: oauth.ClientSecretPost('a secret: with+signs%'),
      private_key_jwt: oauth.PrivateKeyJwt(privateKey),
    }
    for (const method of Object.keys(methods) as (keyof typeof methods)[]) {
      const client = register(server.as, {
        redirect_uris: [callback],
        token_endpoint_auth_method: method,
        client_secret: 'a secret: with+signs%',
        jwks,
      })
      for (const [used, auth] of Object.entries(methods)) {
        const outcome = await errorOf(login({ ...server, client, auth }))
        expect([method, used, outcome === undefined]).toEqual([method, used, method === used])
      }
    }
  })

  it('with a wrong secret are told so, with a challenge if they used the header', async () => {
    await using server = await start()
    const token = server.metadata.token_endpoint!
    server.as.registerClient({ client_id: 'basic', client_secret: 'right' })
    server.as.registerClient({
      client_id: 'post',
      client_secret: 'right',
      token_endpoint_auth_method: 'client_secret_post',
    })
    const form = { grant_type: 'client_credentials', resource }
    const header = { authorization: `Basic ${btoa('basic:wrong')}` }
    const basic = await post(token, form, header)
    expect([basic.status, basic.body.error]).toEqual([401, 'invalid_client'])
    expect(basic.headers.get('www-authenticate')).toMatch(/^Basic /)
    const secret = await post(token, { ...form, client_id: 'post', client_secret: 'wrong' })
    expect([secret.status, secret.headers.get('www-authenticate')]).toEqual([401, null])
    const both = await post(token, { ...form, client_secret: 'right' }, header)
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request'])
    const unknown = await post(token, { ...form, client_id: 'nobody' })
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client'])
  })

  it('cannot use an assertion twice, nor one for somebody else, of somebody else, or past its time', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await keyPair()
    const stranger = await keyPair()
    server.as.registerClient({ client_id: 'c', jwks: { keys: [await jose.exportJWK(publicKey)] } })
    const assertion = (claims: jose.JWTPayload = {}, key = privateKey) =>
      new jose.SignJWT({ iss: 'c', sub: 'c', aud: server.as.issuer, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime((claims.exp as number | undefined) ?? '1 minute')
        .sign(key)
    const send = async (client_assertion: string) => {
      const form = { grant_type: 'client_credentials', resource, client_assertion }
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      return (await post(server.metadata.token_endpoint!, { ...form, client_assertion_type })).status
    }
    const good = await assertion()
    expect([await send(good), await send(good)]).toEqual([200, 401])
    expect(await send(await assertion({ aud: 'https://other.example' }))).toBe(401)
    expect(await send(await assertion({ aud: [server.as.issuer, 'https://other.example'] }))).toBe(401)
    expect(await send(await assertion({ iss: 'd' }))).toBe(401)
    expect(await send(await assertion({ exp: 1 }))).toBe(401)
    expect(await send(await assertion({}, stranger.privateKey))).toBe(401)
    expect(await send('nonsense')).toBe(401)
  })

  it('that are removed have to register again', async () => {
    await using server = await start()
    const tokens = await login(server)
    server.as.removeClient(server.client.client_id)
    expect(await errorOf(refresh(server, tokens.refresh_token!))).toBe('invalid_client')
    expect((await authorize(server)).response.status).toBe(400)
  })

  it('get tokens of their own with client credentials, unless they are public or not registered for it [AUTH-023]', async () => {
    await using server = await start()
    const client = register(server.as, { client_secret: 's', scope: 'jobs' })
    const response = await oauth.clientCredentialsGrantRequest(
      server.metadata,
      client,
      oauth.ClientSecretBasic('s'),
      { resource },
      insecure,
    )
    const tokens = await oauth.processClientCredentialsResponse(server.metadata, client, response)
    expect(tokens.refresh_token).toBeUndefined()
    expect(jose.decodeJwt(tokens.access_token)).toMatchObject({ sub: client.client_id, aud: resource, scope: 'jobs' })
    const form = { grant_type: 'client_credentials', resource }
    const open = await post(server.metadata.token_endpoint!, { ...form, client_id: server.client.client_id })
    expect(open.body.error).toBe('unauthorized_client')
    server.as.registerClient({ client_id: 'c', client_secret: 's', grant_types: ['authorization_code'] })
    const headers = { authorization: `Basic ${btoa('c:s')}` }
    expect((await post(server.metadata.token_endpoint!, form, headers)).body.error).toBe('unauthorized_client')
  })
})

describe('client id metadata documents', () => {
  const about = (id: string, more = {}) =>
    JSON.stringify({ client_id: id, client_name: 'Documented', redirect_uris: [callback], ...more })

  it('are fetched, and kept as long as HTTP allows [AUTH-045, AUTH-051]', async () => {
    let now = Date.now()
    await using server = await start({ now: () => now })
    await using site = await host((origin, path) => ({
      body: about(origin + path),
      headers: path === '/kept.json' ? { 'cache-control': 'max-age=60' } : { 'cache-control': 'no-store' },
    }))
    expect(server.metadata.client_id_metadata_document_supported).toBe(true)
    expect((await login({ ...server, client: { client_id: `${site.origin}/kept.json` } })).token_type).toBe('bearer')
    expect(site.asked).toEqual(['/kept.json'])
    now += 61_000
    await authorize({ ...server, client: { client_id: `${site.origin}/kept.json` } })
    expect(site.asked).toEqual(['/kept.json', '/kept.json'])
    await login({ ...server, client: { client_id: `${site.origin}/fresh.json` } })
    expect(site.asked.slice(2)).toEqual(['/fresh.json', '/fresh.json'])
  })

  it('may name keys that the client authenticates with', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256', { extractable: true })
    const keys = { keys: [await jose.exportJWK(publicKey)] }
    await using site = await host((origin, path) =>
      path === '/keys'
        ? { body: JSON.stringify(keys) }
        : { body: about(origin + path, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/keys` }) },
    )
    const client = { client_id: `${site.origin}/client.json` }
    expect((await login({ ...server, client, auth: oauth.PrivateKeyJwt(privateKey) })).token_type).toBe('bearer')
    expect(await errorOf(login({ ...server, client }))).toBe('invalid_client')
  })

  it('that are not in order are refused, and nobody is redirected [AUTH-052, AUTH-053]', async () => {
    await using server = await start()
    await using site = await host((origin, path) => {
      const id = origin + path
      const documents: Record<string, string> = {
        '/other-id': about(`${id}/x`),
        '/no-name': about(id, { client_name: undefined }),
        '/odd-name': about(id, { client_name: {} }),
        '/no-redirects': about(id, { redirect_uris: undefined }),
        '/other-redirect': about(id, { redirect_uris: ['https://app.example/cb'] }),
        '/script': about(id, { redirect_uris: ['javascript:alert(1)'] }),
        '/secret': about(id, { client_secret: 's' }),
        '/secret-method': about(id, { token_endpoint_auth_method: 'client_secret_basic' }),
        '/not-json': '<!doctype html>',
        '/list': '[]',
        '/huge': about(id, { padding: 'x'.repeat(100_000) }),
        '/page': about(id),
        '/elsewhere': '',
        '/target': about(`${origin}/elsewhere`),
      }
      const special: Record<string, Record<string, string>> = {
        '/elsewhere': { location: '/target' },
        '/page': { 'content-type': 'text/html' },
      }
      return { body: documents[path]!, headers: special[path] ?? {} }
    })
    for (const path of [
      '/other-id',
      '/no-name',
      '/odd-name',
      '/no-redirects',
      '/other-redirect',
      '/script',
      '/secret',
      '/secret-method',
      '/not-json',
      '/list',
      '/huge',
      '/page',
      '/elsewhere',
    ]) {
      const { response, redirect } = await authorize({ ...server, client: { client_id: site.origin + path } })
      expect([path, response.status, redirect]).toEqual([path, 400, undefined])
    }
  })

  it('are not fetched from addresses that a server should not be sent to [AUTH-053]', async () => {
    const fetched: string[] = []
    const fetch: typeof globalThis.fetch = async (input) => {
      fetched.push(String(input))
      return new Response('{}')
    }
    await using server = await start({ fetch })
    for (const client_id of [
      'http://app.example/client.json',
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/client.json',
      'https://[fd00::1]/client.json',
      'https://user:password@app.example/client.json',
      'https://app.example/',
      'https://app.example/a/../client.json',
      'file:///etc/passwd',
    ]) {
      expect((await authorize({ ...server, client: { client_id } })).response.status).toBe(400)
    }
    expect(fetched).toEqual([])
    await authorize({ ...server, client: { client_id: 'https://app.example/client.json' } })
    expect(fetched).toEqual(['https://app.example/client.json'])
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

  it('names the client, the scopes and where the answer goes; has no script and no frame around it [AUTH-054]', async () => {
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

  it('lets a person choose who, and what', async () => {
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

  it('takes a no, and one answer only', async () => {
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

  it('warns of a client by document whose redirect URI in use is on this computer [AUTH-053]', async () => {
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

describe('DPoP', () => {
  const handle = async () => oauth.DPoP({}, await oauth.generateKeyPair('ES256', { extractable: true }))

  it('binds tokens to the key of the client, and the refresh token of a public one', async () => {
    await using server = await start()
    const dpop = await handle()
    const tokens = await login({ ...server, dpop })
    expect(tokens.token_type).toBe('dpop')
    const jkt = await dpop.calculateThumbprint()
    expect(jose.decodeJwt(tokens.access_token).cnf).toEqual({ jkt })
    expect(await errorOf(refresh({ ...server, dpop: await handle() }, tokens.refresh_token!))).toBe('invalid_grant')
    expect(await errorOf(refresh(server, tokens.refresh_token!))).toBe('invalid_grant')
    const next = await refresh({ ...server, dpop }, tokens.refresh_token!)
    expect(jose.decodeJwt(next.access_token).cnf).toEqual({ jkt })
  })

  it('sends proofs without the nonce back for it, and takes them until it changes', async () => {
    await using server = await start({ dpopNonce: true })
    const dpop = await handle()
    const first = await authorize(server)
    const error = await redeem({ ...server, dpop }, first.redirect!, first.verifier).catch((error) => error)
    expect([error.error, oauth.isDPoPNonceError(error)]).toEqual(['use_dpop_nonce', true])
    // The code is not used up by that.
    const tokens = await redeem({ ...server, dpop }, first.redirect!, first.verifier)
    const next = await refresh({ ...server, dpop }, tokens.refresh_token!)
    server.as.rotateDpopNonce()
    expect(await errorOf(refresh({ ...server, dpop }, next.refresh_token!))).toBe('use_dpop_nonce')
    expect(await errorOf(refresh({ ...server, dpop }, next.refresh_token!))).toBeUndefined()
  })

  it('can be a must, for all clients or for one', async () => {
    await using strict = await start({ dpop: 'required' })
    expect(await errorOf(login(strict))).toBe('invalid_dpop_proof')
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], dpop_bound_access_tokens: true })
    expect(await errorOf(login({ ...server, client }))).toBe('invalid_dpop_proof')
  })

  it('holds a code to the key that the authorization request named', async () => {
    await using server = await start()
    const dpop = await handle()
    const params = { dpop_jkt: await dpop.calculateThumbprint() }
    const { redirect, verifier } = await authorize({ ...server, params })
    expect(await errorOf(redeem({ ...server, dpop: await handle() }, redirect!, verifier))).toBe('invalid_grant')
    const again = await authorize({ ...server, params })
    expect(await errorOf(redeem({ ...server, dpop }, again.redirect!, again.verifier))).toBeUndefined()
  })

  it('refuses every proof that is not in order', async () => {
    await using server = await start()
    const token = server.metadata.token_endpoint!
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256', { extractable: true })
    const jwk = await jose.exportJWK(publicKey)
    const proof = (claims: jose.JWTPayload = {}, header: object = {}, key: jose.CryptoKey | Uint8Array = privateKey) =>
      new jose.SignJWT({
        htm: 'POST',
        htu: token,
        iat: Math.floor(Date.now() / 1_000),
        jti: crypto.randomUUID(),
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
        .sign(key)
    server.as.registerClient({ client_id: 'c', client_secret: 's' })
    const send = async (dpop: string | string[]) => {
      const headers = new Headers({ authorization: `Basic ${btoa('c:s')}` })
      for (const value of [dpop].flat()) headers.append('dpop', value)
      const { body } = await post(token, { grant_type: 'client_credentials', resource }, headers)
      return body.error ?? body.token_type
    }
    const good = await proof()
    expect([await send(good), await send(good)]).toEqual(['DPoP', 'invalid_dpop_proof'])
    const now = Math.floor(Date.now() / 1_000)
    const other = await jose.generateKeyPair('ES256', { extractable: true })
    for (const bad of [
      await proof({ htm: 'GET' }),
      await proof({ htu: `${server.as.issuer}/other` }),
      await proof({ iat: now - 120 }),
      await proof({ iat: now + 120 }),
      await proof({ jti: undefined } as unknown as jose.JWTPayload),
      await proof({}, { typ: 'JWT' }),
      await proof({}, { jwk: undefined }),
      await proof({}, { jwk: await jose.exportJWK(privateKey) }),
      await proof({}, {}, other.privateKey),
      await proof({}, { alg: 'HS256', jwk: { kty: 'oct', k: 'c2VjcmV0' } }, Buffer.alloc(32, 1)),
      'nonsense',
    ]) {
      expect([bad, await send(bad)]).toEqual([bad, 'invalid_dpop_proof'])
    }
    expect(await send(await proof({ htu: `${token}?query=1` }))).toBe('DPoP')
  })
})

describe('assertions of others', () => {
  const idp = () => startAuthorizationServer({ clientIdAt: (_audience, id) => id.replace('-at-idp', '') })

  async function redeemAssertion(server: Login, assertion: string, form: Record<string, string> = {}) {
    const { body } = await post(server.metadata.token_endpoint!, { grant_type: bearerGrant, assertion, ...form })
    return body as { error?: string; access_token: string; scope?: string; refresh_token?: string }
  }

  it('carry a user from the identity provider to here, without another login [AUTH-109]', async () => {
    await using provider = await idp()
    await using server = await start({ trustedIssuers: [{ issuer: provider.issuer, jwks: provider.jwks }] })
    provider.registerClient({ client_id: 'app-at-idp', client_secret: 'idp', redirect_uris: [callback] })
    server.as.registerClient({ client_id: 'app', client_secret: 'mcp' })

    const there = { as: provider, client: { client_id: 'app-at-idp' }, metadata: await discover(provider) }
    const auth = oauth.ClientSecretBasic('idp')
    const { id_token } = await login({ ...there, auth, params: { scope: 'openid' } })
    const exchange = await oauth.genericTokenEndpointRequest(
      there.metadata,
      there.client,
      auth,
      exchangeGrant,
      {
        requested_token_type: idJagType,
        subject_token: id_token!,
        subject_token_type: idTokenType,
        audience: server.as.issuer,
        resource,
        scope: 'files:read',
      },
      insecure,
    )
    const exchanged = await jsonOf(exchange)
    expect(exchanged).toMatchObject({ issued_token_type: idJagType, token_type: 'N_A', scope: 'files:read' })
    const idJag = exchanged.access_token!
    expect(jose.decodeProtectedHeader(idJag).typ).toBe('oauth-id-jag+jwt')

    const client = { client_id: 'app' }
    const response = await oauth.genericTokenEndpointRequest(
      server.metadata,
      client,
      oauth.ClientSecretBasic('mcp'),
      bearerGrant,
      { assertion: idJag },
      insecure,
    )
    const tokens = await oauth.processGenericTokenEndpointResponse(server.metadata, client, response)
    expect(tokens.refresh_token).toBeUndefined()
    expect(jose.decodeJwt(tokens.access_token)).toMatchObject({
      iss: server.as.issuer,
      sub: 'alice',
      aud: resource,
      client_id: 'app',
      scope: 'files:read',
    })
    expect(server.as.requests.map(({ endpoint }) => endpoint)).not.toContain('authorize')
  })

  it('are refused when they are for another server or client, past their time, of a stranger, or no ID-JAG [AUTH-109]', async () => {
    await using provider = await idp()
    await using stranger = await idp()
    const trusted = { issuer: provider.issuer, jwks: `${provider.issuer}/jwks`, accepts: ['id-jag'] as const }
    await using server = await start({ trustedIssuers: [trusted] })
    server.as.registerClient({ client_id: 'app' })
    const header = { typ: 'oauth-id-jag+jwt' }
    const right = { sub: 'alice', aud: server.as.issuer, client_id: 'app', resource, scope: 'a b' }
    const form = { client_id: 'app' }
    expect((await redeemAssertion(server, await provider.signJwt(right, header), form)).scope).toBe('a b')
    const fewer = await redeemAssertion(server, await provider.signJwt(right, header), { ...form, scope: 'a' })
    expect(fewer.scope).toBe('a')
    for (const [error, assertion, more] of [
      ['invalid_grant', await provider.signJwt({ ...right, aud: 'https://other.example' }, header), form],
      ['invalid_grant', await provider.signJwt({ ...right, client_id: 'another' }, header), form],
      ['invalid_grant', await provider.signJwt({ ...right, exp: 1 }, header), form],
      ['invalid_grant', await provider.signJwt(right, { typ: 'JWT' }), form],
      ['invalid_grant', await stranger.signJwt(right, header), form],
      ['invalid_grant', await stranger.signJwt({ ...right, iss: provider.issuer }, header), form],
      ['invalid_client', await provider.signJwt(right, header), {}],
      ['invalid_scope', await provider.signJwt(right, header), { ...form, scope: 'c' }],
      ['invalid_target', await provider.signJwt(right, header), { ...form, resource: 'https://other.example' }],
    ] as const) {
      expect((await redeemAssertion(server, assertion, more)).error).toBe(error)
    }
  })

  it('let a workload in without registration, for what its platform vouches', async () => {
    await using platform = await idp()
    const trusted = { issuer: platform.issuer, jwks: platform.jwks, accepts: ['workload'] as const }
    await using server = await start({ trustedIssuers: [trusted], scopesSupported: ['jobs'] })
    const right = { sub: 'system:job', aud: server.as.issuer }
    const { access_token } = await redeemAssertion(server, await platform.signJwt(right), { resource, scope: 'jobs' })
    expect(jose.decodeJwt(access_token)).toMatchObject({ sub: 'system:job', client_id: 'system:job', aud: resource })
    const failing = async (claims: object, form: Record<string, string>) =>
      (await redeemAssertion(server, await platform.signJwt({ ...right, ...claims }), form)).error
    expect(await failing({ aud: 'https://other.example' }, { resource })).toBe('invalid_grant')
    expect(await failing({ exp: 1 }, { resource })).toBe('invalid_grant')
    expect(await failing({}, { resource, scope: 'more' })).toBe('invalid_scope')
    expect(await failing({}, {})).toBe('invalid_target')
  })

  it('are made for ID tokens of the same client only', async () => {
    await using provider = await idp()
    provider.registerClient({ client_id: 'c' })
    const send = async (subject_token: string, more = {}) => {
      const form = {
        grant_type: exchangeGrant,
        client_id: 'c',
        audience: 'https://as.example',
        subject_token,
        resource,
      }
      const types = { requested_token_type: idJagType, subject_token_type: idTokenType }
      return (await post(`${provider.issuer}/token`, { ...form, ...types, ...more })).body.error
    }
    const good = await provider.signJwt({ sub: 'alice', aud: 'c' })
    expect(await send(good)).toBeUndefined()
    expect(await send(await provider.signJwt({ sub: 'alice', aud: 'd' }))).toBe('invalid_grant')
    expect(await send('nonsense')).toBe('invalid_grant')
    expect(await send(good, { actor_token: good })).toBe('invalid_request')
    expect(await send(good, { requested_token_type: idTokenType })).toBe('invalid_request')
    expect(await send(good, { audience: '' })).toBe('invalid_request')
  })
})

describe('introspection and revocation', () => {
  const asker = { client_id: 'resource-server' }
  const auth = oauth.ClientSecretBasic('secret')

  async function startWithAsker(options?: AuthorizationServerOptions) {
    const server = await start(options)
    server.as.registerClient({ ...asker, client_secret: 'secret' })
    const introspect = async (token: string) => {
      const response = await oauth.introspectionRequest(server.metadata, asker, auth, token, insecure)
      return oauth.processIntrospectionResponse(server.metadata, asker, response)
    }
    const revoke = async (token: string, client = server.client) => {
      const response = await oauth.revocationRequest(server.metadata, client, oauth.None(), token, insecure)
      await oauth.processRevocationResponse(response)
    }
    return { ...server, introspect, revoke }
  }

  it('tell what a token is good for, as long as it is', async () => {
    let now = Date.now()
    await using server = await startWithAsker({ now: () => now })
    const token = await server.as.issueToken({ sub: 'bob', scope: 'a', resource, clientId: 'x', expiresIn: 10 })
    expect(await server.introspect(token)).toMatchObject({
      active: true,
      sub: 'bob',
      scope: 'a',
      aud: resource,
      client_id: 'x',
      token_type: 'Bearer',
    })
    now += 11_000
    expect(await server.introspect(token)).toEqual({ active: false })
    expect(await server.introspect('nonsense')).toEqual({ active: false })
    expect(await server.introspect(await server.as.issueToken({ expiresIn: -1 }))).toEqual({ active: false })
  })

  it('are not for everybody', async () => {
    await using server = await startWithAsker()
    const token = await server.as.issueToken()
    const address = server.metadata.introspection_endpoint!
    expect((await post(address, { token })).status).toBe(401)
    expect((await post(address, { token, client_id: server.client.client_id })).status).toBe(401)
  })

  it('end one access token, or with the refresh token everything', async () => {
    await using server = await startWithAsker()
    const first = await login(server)
    await server.revoke(first.access_token)
    expect(await server.introspect(first.access_token)).toEqual({ active: false })
    const second = await refresh(server, first.refresh_token!)
    await server.revoke(second.refresh_token!)
    expect(await server.introspect(second.access_token)).toEqual({ active: false })
    expect(await errorOf(refresh(server, second.refresh_token!))).toBe('invalid_grant')
    await server.revoke('nonsense')
  })

  it("leave another client's tokens alone", async () => {
    await using server = await startWithAsker()
    const { access_token, refresh_token } = await login(server)
    const other = register(server.as)
    await server.revoke(access_token, other)
    await server.revoke(refresh_token!, other)
    expect(await server.introspect(access_token)).toMatchObject({ active: true })
    expect(await server.introspect(refresh_token!)).toMatchObject({ active: true })
  })
})

describe('what a test can see and do', () => {
  it('is told every request, with its parameters and how it was answered', async () => {
    await using server = await start()
    await login(server)
    await fetch(`${server.as.issuer}/.well-known/nothing`)
    const seen = server.as.requests.map(({ method, endpoint, status }) => [method, endpoint, status])
    expect(seen).toEqual([
      ['GET', 'metadata', 200],
      ['GET', 'authorize', 303],
      ['POST', 'token', 200],
      ['GET', undefined, 404],
    ])
    expect(server.as.requests[1]!.params).toMatchObject({ resource, code_challenge_method: 'S256' })
    expect(server.as.requests[2]!.params.grant_type).toBe('authorization_code')
  })

  it('makes tokens without a login, right or wrong, with any of the algorithms', async () => {
    for (const algorithm of ['ES256', 'RS256', 'EdDSA'] as const) {
      await using as = await startAuthorizationServer({ algorithm })
      const token = await as.issueToken({
        resource: [resource, 'https://b.example'],
        claims: { iss: 'https://x', n: 1 },
      })
      const { payload } = await jose.jwtVerify(token, jose.createLocalJWKSet(as.jwks), { algorithms: [algorithm] })
      expect(payload).toMatchObject({ iss: 'https://x', n: 1, aud: [resource, 'https://b.example'], sub: 'alice' })
    }
  })

  it('signs with a new key, and still publishes the old one', async () => {
    await using as = await startAuthorizationServer()
    const old = await as.issueToken({ resource })
    await as.rotateKeys()
    const young = await as.issueToken({ resource })
    const keys = jose.createRemoteJWKSet(new URL(`${as.issuer}/jwks`))
    for (const token of [old, young]) expect((await jose.jwtVerify(token, keys)).payload.sub).toBe('alice')
    expect(jose.decodeProtectedHeader(old).kid).not.toBe(jose.decodeProtectedHeader(young).kid)
  })

  it('lets browsers in, but not into the login', async () => {
    await using server = await start()
    const preflight = await fetch(server.metadata.token_endpoint!, { method: 'OPTIONS' })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect((await authorize(server)).response.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('says what it cannot do', async () => {
    await using as = await startAuthorizationServer()
    const port = Number(new URL(as.issuer).port)
    await expect(startAuthorizationServer({ port })).rejects.toMatchObject({ code: 'listen-failed' })
    await expect(startAuthorizationServer({ issuerPath: 'tenant' })).rejects.toThrow(/issuerPath/)
    await expect(startAuthorizationServer({ users: [] })).rejects.toThrow(/users/)
    expect((await fetch(`${as.issuer}/token`)).status).toBe(405)
    const large = await fetch(`${as.issuer}/register`, { method: 'POST', body: 'x'.repeat(1_100_000) }).catch(
      () => null,
    )
    expect(large?.status ?? 413).toBe(413)
    expect((await post(`${as.issuer}/token`, { grant_type: 'password' })).body.error).toBe('unsupported_grant_type')
  })
})

describe('faults', () => {
  const metadataOf = (as: TestAuthorizationServer, init?: RequestInit) =>
    fetch(`${as.issuer}/.well-known/oauth-authorization-server`, init)

  it('happen to the next request, in order, then all is well', async () => {
    await using as = await startAuthorizationServer()
    as.faults.next('metadata', 'server-error')
    as.faults.next('metadata', { status: 404, body: { error: 'gone' }, headers: { 'x-test': 'yes' } })
    expect((await metadataOf(as)).status).toBe(500)
    const second = await metadataOf(as)
    expect([second.status, second.headers.get('x-test'), await second.json()]).toEqual([404, 'yes', { error: 'gone' }])
    expect((await metadataOf(as)).status).toBe(200)
  })

  it('happen until they are cleared', async () => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', 'html')
    for (let time = 0; time < 2; time++) expect((await metadataOf(as)).headers.get('content-type')).toBe('text/html')
    as.faults.clear()
    expect((await metadataOf(as)).headers.get('content-type')).toBe('application/json')
  })

  it('put another issuer into the metadata, or take members away', async () => {
    await using as = await startAuthorizationServer()
    const patch = { issuer: 'https://attacker.example', code_challenge_methods_supported: undefined }
    as.faults.always('metadata', { patch })
    const document = await jsonOf(await metadataOf(as))
    expect(document.issuer).toBe('https://attacker.example')
    expect(document).not.toHaveProperty('code_challenge_methods_supported')
    expect(document.token_endpoint).toBe(`${as.issuer}/token`)
    as.faults.always('metadata', undefined)
    expect((await discover(as)).issuer).toBe(as.issuer)
  })

  it('hang until the server closes, or break the connection', async () => {
    const as = await startAuthorizationServer()
    as.faults.next('metadata', 'reset')
    await expect(metadataOf(as)).rejects.toThrow()
    as.faults.next('metadata', 'hang')
    const hanging = metadataOf(as).then(
      () => 'answered',
      () => 'broken',
    )
    while (as.requests.length < 2) await new Promise((resolve) => setImmediate(resolve))
    await as.close()
    expect(await hanging).toBe('broken')
  })

  it('lose the answer after the refresh token was used', async () => {
    await using server = await start()
    const { refresh_token } = await login(server)
    server.as.faults.next('token', 'reset')
    await expect(refresh(server, refresh_token!)).rejects.toThrow()
    server.as.faults.next('token', 'lose-reply')
    await expect(refresh(server, refresh_token!)).rejects.toThrow()
    expect(await errorOf(refresh(server, refresh_token!))).toBe('invalid_grant')
  })

  it('make answers wait', async () => {
    await using as = await startAuthorizationServer()
    const order: string[] = []
    let open!: () => void
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    as.faults.next('metadata', { until: gate })
    const slow = metadataOf(as).then(() => order.push('slow'))
    while (as.requests.length < 1) await new Promise((resolve) => setImmediate(resolve))
    await metadataOf(as).then(() => order.push('quick'))
    open()
    await slow
    expect(order).toEqual(['quick', 'slow'])
    as.faults.next('metadata', { delayMs: 1 })
    expect((await metadataOf(as)).status).toBe(200)
  })

  it('make answers huge, or very slow, and right all the same', async () => {
    await using as = await startAuthorizationServer()
    as.faults.next('metadata', 'huge')
    let length = 0
    for await (const chunk of (await metadataOf(as)).body!) length += chunk.length
    expect(length).toBeGreaterThan(100_000_000)
    as.faults.next('jwks', 'trickle')
    const ended = new AbortController()
    const response = await fetch(`${as.issuer}/jwks`, { signal: ended.signal })
    const first = await response.body!.getReader().read()
    expect(Buffer.from(first.value!).toString()).toBe('{')
    ended.abort()
  })

  it('change the redirect: another issuer, none, another state', async () => {
    await using server = await start()
    const { faults } = server.as
    faults.redirect = { iss: 'https://attacker.example' }
    const mixedUp = (await authorize(server)).redirect!
    expect(mixedUp.searchParams.get('iss')).toBe('https://attacker.example')
    expect(() => oauth.validateAuthResponse(server.metadata, server.client, mixedUp, 'the state')).toThrow(/iss/)
    faults.redirect = { iss: null, state: 'another' }
    const { searchParams } = (await authorize(server)).redirect!
    expect([searchParams.has('iss'), searchParams.get('state')]).toEqual([false, 'another'])
    faults.clear()
    faults.authorizationError = 'access_denied'
    expect((await authorize(server)).redirect!.searchParams.get('error')).toBe('access_denied')
  })

  it('give tokens that are past their time, that cannot be refreshed, or that may do less', async () => {
    await using server = await start()
    const { faults } = server.as
    faults.expiredTokens = true
    const expired = await login(server)
    expect(expired.expires_in).toBe(300)
    expect(jose.decodeJwt(expired.access_token).exp).toBeLessThan(Date.now() / 1_000)
    faults.clear()
    faults.noRefreshToken = true
    expect((await login(server)).refresh_token).toBeUndefined()
    faults.clear()
    faults.grantedScope = 'a'
    expect((await login({ ...server, params: { scope: 'a b' } })).scope).toBe('a')
  })
})
