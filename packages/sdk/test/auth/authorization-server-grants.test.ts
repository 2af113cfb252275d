import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import { type AuthorizationServerOptions, startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import {
  authorize,
  callback,
  discover,
  errorOf,
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

const idTokenType = 'urn:ietf:params:oauth:token-type:id_token'
const idJagType = 'urn:ietf:params:oauth:token-type:id-jag'
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const bearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

describe('refresh tokens of the development authorization server', () => {
  it('rotates a refresh token at each use [AUTH-026, AUTH-096]', async () => {
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

  it('ends the login when a refresh token is reused', async () => {
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

  it('lets one of several concurrent refresh requests succeed', async () => {
    await using server = await start()
    const { refresh_token } = await login(server)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => errorOf(refresh(server, refresh_token!))))
    expect(outcomes.filter((error) => error === undefined)).toHaveLength(1)
  })

  it('keeps the refresh token when rotation is off', async () => {
    await using server = await start({ rotateRefreshTokens: false })
    const { refresh_token } = await login(server)
    for (let time = 0; time < 2; time++) {
      expect((await refresh(server, refresh_token!)).refresh_token).toBeUndefined()
    }
  })

  it('does not consume a refresh token when the request asks for too much scope', async () => {
    await using server = await start()
    const { refresh_token } = await login({ ...server, params: { scope: 'a' } })
    expect(await errorOf(refresh(server, refresh_token!, { scope: 'a b' }))).toBe('invalid_scope')
    expect(await errorOf(refresh(server, refresh_token!, { resource: 'https://x.example' }))).toBe('invalid_target')
    expect(await errorOf(refresh(server, refresh_token!))).toBeUndefined()
  })

  it('refuses a refresh token of another client, or an expired one', async () => {
    let now = Date.now()
    await using server = await start({ now: () => now, refreshTokenSeconds: 1_000 })
    const { refresh_token } = await login(server)
    const other = { ...server, client: register(server.as) }
    expect(await errorOf(refresh(other, refresh_token!))).toBe('invalid_grant')
    now += 1_001_000
    expect(await errorOf(refresh(server, refresh_token!))).toBe('invalid_grant')
  })

  it('issues refresh tokens only to clients that registered for them', async () => {
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], grant_types: ['authorization_code'] })
    expect((await login({ ...server, client })).refresh_token).toBeUndefined()
  })

  it('requires offline_access where configured, and issues no refresh token where disabled', async () => {
    await using offline = await start({ refreshTokens: 'offline_access' })
    expect((await login({ ...offline, params: { scope: 'a' } })).refresh_token).toBeUndefined()
    expect((await login({ ...offline, params: { scope: 'a offline_access' } })).refresh_token).toBeDefined()
    await using never = await start({ refreshTokens: 'never' })
    expect((await login({ ...never, params: { scope: 'offline_access' } })).refresh_token).toBeUndefined()
  })
})

describe('DPoP at the development authorization server', () => {
  const handle = async () => oauth.DPoP({}, await oauth.generateKeyPair('ES256', { extractable: true }))

  it('binds access tokens, and refresh tokens of public clients, to the DPoP key', async () => {
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

  it('asks for a DPoP nonce and accepts it until it changes', async () => {
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

  it('requires DPoP for all clients or for one', async () => {
    await using strict = await start({ dpop: 'required' })
    expect(await errorOf(login(strict))).toBe('invalid_dpop_proof')
    await using server = await start()
    const client = register(server.as, { redirect_uris: [callback], dpop_bound_access_tokens: true })
    expect(await errorOf(login({ ...server, client }))).toBe('invalid_dpop_proof')
  })

  it('binds a code to the key named in the authorization request', async () => {
    await using server = await start()
    const dpop = await handle()
    const params = { dpop_jkt: await dpop.calculateThumbprint() }
    const { redirect, verifier } = await authorize({ ...server, params })
    expect(await errorOf(redeem({ ...server, dpop: await handle() }, redirect!, verifier))).toBe('invalid_grant')
    const again = await authorize({ ...server, params })
    expect(await errorOf(redeem({ ...server, dpop }, again.redirect!, again.verifier))).toBeUndefined()
  })

  it('refuses every invalid DPoP proof', async () => {
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

describe('assertions of other issuers', () => {
  const idp = () => startAuthorizationServer({ clientIdAt: (_audience, id) => id.replace('-at-idp', '') })

  async function redeemAssertion(server: Login, assertion: string, form: Record<string, string> = {}) {
    const { body } = await post(server.metadata.token_endpoint!, { grant_type: bearerGrant, assertion, ...form })
    return body as { error?: string; access_token: string; scope?: string; refresh_token?: string }
  }

  it('exchanges an identity provider assertion for a token without another login [AUTH-109]', async () => {
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

  it('refuses an assertion that is expired, not an ID-JAG, or for another server or client [AUTH-109]', async () => {
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

  it('accepts a workload assertion of a trusted platform without registration', async () => {
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

  it('issues ID-JAGs only for ID tokens of the same client', async () => {
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

  it('introspects a token as active until it expires', async () => {
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

  it('refuses introspection to clients that may not introspect', async () => {
    await using server = await startWithAsker()
    const token = await server.as.issueToken()
    const address = server.metadata.introspection_endpoint!
    expect((await post(address, { token })).status).toBe(401)
    expect((await post(address, { token, client_id: server.client.client_id })).status).toBe(401)
  })

  it('revokes one access token, or the whole login with the refresh token', async () => {
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

  it('does not revoke tokens of another client', async () => {
    await using server = await startWithAsker()
    const { access_token, refresh_token } = await login(server)
    const other = register(server.as)
    await server.revoke(access_token, other)
    await server.revoke(refresh_token!, other)
    expect(await server.introspect(access_token)).toMatchObject({ active: true })
    expect(await server.introspect(refresh_token!)).toMatchObject({ active: true })
  })
})
