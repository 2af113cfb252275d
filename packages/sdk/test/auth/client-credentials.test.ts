import { generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, exportJWK, jwtVerify } from 'jose'
import { clientCredentials, enterpriseManaged, workloadIdentity } from 'tenon/auth/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { at, failureOf, Gate, join, redirectUrl, tokenOf, User } from './client-support.ts'

describe('client credentials', () => {
  const grant_types = ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer']

  it('authenticates with a client secret and registers nowhere [AUTH-104, AUTH-105]', async () => {
    const machine = { client_id: 'machine', client_secret: 'a secret: ü', grant_types }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge += ', scope="read"'
    await using client = await join(gate, clientCredentials({ clientId: 'machine', clientSecret: 'a secret: ü' }))
    expect((await client.callTool('ping')).text).toBe('pong')
    const [{ params }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params).toMatchObject({ grant_type: 'client_credentials', resource: gate.url.href, scope: 'read' })
    expect([...at(as, 'register'), ...at(as, 'authorize')]).toEqual([])
  })

  it('signs an assertion for the authorization server [AUTH-104, AUTH-105]', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }
    const machine = { client_id: 'machine', token_endpoint_auth_method: 'private_key_jwt' as const, jwks, grant_types }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await using client = await join(gate, clientCredentials({ clientId: 'machine', privateKey: pem }))
    expect((await client.callTool('ping')).text).toBe('pong')
    const [{ params }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params).toMatchObject({
      grant_type: 'client_credentials',
      resource: gate.url.href,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    const { payload } = await jwtVerify(params.client_assertion!, createLocalJWKSet(jwks), { audience: as.issuer })
    expect(payload).toMatchObject({ iss: 'machine', sub: 'machine' })
    expect(params.client_secret).toBeUndefined()
    expect(at(as, 'register')).toEqual([])
  })

  it('exchanges a workload assertion for a token [AUTH-113]', async () => {
    await using platform = await startAuthorizationServer()
    const trustedIssuers = [{ issuer: platform.issuer, jwks: platform.jwks }]
    const workload = { client_id: 'workload', grant_types }
    await using as = await startAuthorizationServer({ trustedIssuers, clients: [workload] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const assertion = await platform.signJwt({ sub: 'workload', aud: as.issuer })
    await using client = await join(gate, workloadIdentity({ clientId: 'workload', assertion }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'token')[0]!.params).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion,
      resource: gate.url.href,
    })
  })

  it('neither repeats nor replaces a refused assertion [AUTH-114]', async () => {
    await using as = await startAuthorizationServer({ clients: [{ client_id: 'workload', grant_types }] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    as.faults.always('token', { status: 400, body: { error: 'invalid_grant', error_description: 'Unknown workload' } })
    const auth = workloadIdentity({ clientId: 'workload', assertion: 'a.b.c' })
    const error = await failureOf(join(gate, auth))
    expect(error.message).toMatch(/invalid_grant|Unknown workload/)
    expect(at(as, 'token')).toHaveLength(1)
    expect([...at(as, 'register'), ...at(as, 'authorize')]).toEqual([])
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('a.b.c')
  })

  it('uses an enterprise identity provider (ID-JAG) [AUTH-107, AUTH-108, AUTH-110]', async () => {
    const atProvider = { client_id: 'app-there', client_secret: 'there' }
    const atServer = { client_id: 'app-here', client_secret: 'here' }
    await using provider = await startAuthorizationServer({ clients: [atProvider], clientIdAt: () => 'app-here' })
    const trustedIssuers = [{ issuer: provider.issuer, jwks: provider.jwks }]
    await using as = await startAuthorizationServer({ trustedIssuers, clients: [atServer] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const idToken = await provider.signJwt({ sub: 'alice', aud: 'app-there' })
    const auth = enterpriseManaged({
      clientId: 'app-here',
      clientSecret: 'here',
      identityProvider: {
        tokenEndpoint: `${provider.issuer}/token`,
        issuer: provider.issuer,
        clientId: 'app-there',
        clientSecret: 'there',
        idToken,
      },
    })
    await using client = await join(gate, auth)
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(provider, 'token')[0]!.params).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: as.issuer,
      resource: gate.url.href,
      subject_token: idToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    })
    const [{ params, headers }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params.grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    expect(decodeProtectedHeader(params.assertion!).typ).toBe('oauth-id-jag+jwt')
    expect(headers.authorization).toBe(`Basic ${btoa('app-here:here')}`)
    expect([...at(as, 'authorize'), ...at(as, 'register')]).toEqual([])
  })
})

describe('DPoP-bound tokens', () => {
  it('sends a fresh DPoP proof with every request [AUTH-111]', async () => {
    await using as = await startAuthorizationServer({ dpop: 'required' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const client = await join(gate, new User().auth({ dpop: true }), '2026-07-28')
    await client.callTool('ping')
    await client.close()
    const posts = gate.calls.filter((visit) => visit.method === 'POST' && tokenOf(visit) !== undefined)
    expect(posts.length).toBeGreaterThan(1)
    for (const { headers } of posts) {
      expect(headers.authorization).toMatch(/^DPoP /)
      expect(decodeJwt(headers.dpop as string)).toMatchObject({ htm: 'POST', htu: gate.url.href })
    }
    expect(new Set(posts.map(({ headers }) => decodeJwt(headers.dpop as string).jti)).size).toBe(posts.length)
    expect(decodeJwt(at(as, 'token')[0]!.headers.dpop as string)).toMatchObject({
      htm: 'POST',
      htu: `${as.issuer}/token`,
    })
  })

  it('sends the nonce that the token endpoint or the server requires, after one retry [AUTH-112]', async () => {
    await using as = await startAuthorizationServer({ dpop: 'required', dpopNonce: true })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.judge = (token, { headers }) => {
      if (token === undefined) return gate.refusal
      if (decodeJwt(headers.dpop as string).nonce === 'n0nce') return undefined
      return { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n0nce' } }
    }
    await using client = await join(gate, new User().auth({ dpop: true }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'token')).toHaveLength(2)
    const without = gate.calls.filter(({ headers }) => headers.dpop && !decodeJwt(headers.dpop as string).nonce)
    expect(without).toHaveLength(1)
  })

  it('stops when nonces are requested endlessly [AUTH-112]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.judge = (token) => {
      if (token === undefined) return gate.refusal
      const nonce = crypto.randomUUID()
      return { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce } }
    }
    const user = new User()
    await expect(join(gate, user.auth({ dpop: true, redirectUrl }))).rejects.toThrow(/401/)
    expect(gate.calls.length).toBeLessThan(6)
    expect(user.pages).toHaveLength(1)
  })
})
