import { CompactSign, exportJWK, exportSPKI, generateKeyPair } from 'jose'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { introspectionVerifier } from '../../src/auth/resource/introspection-verifier.ts'
import { type JwtVerifierOptions, jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { AuthInfo, AuthOptions, TokenRequest } from '../../src/auth/resource/options.ts'
import { checkScopes, hasScopes, InsufficientScopeError } from '../../src/protocol/scopes.ts'
import { Peer } from '../kit/http-peer.ts'
import { modern } from '../kit/revisions.ts'

import {
  guarded,
  Issuer,
  now,
  protectedServer,
  type TokenClaims,
  type TokenHeader,
  withToken,
} from './resource-support.ts'

const resource = 'https://mcp.example.com/mcp'

/** As the server makes it for a request. */
const request: TokenRequest = {
  method: 'POST',
  urls: [resource],
  header: () => undefined,
  isFor: (audience) => [audience].flat().includes(resource),
}

let issuer: Issuer
beforeEach(async () => {
  issuer = await Issuer.start()
})
afterEach(() => issuer[Symbol.asyncDispose]())

describe('jwtVerifier', () => {
  const verify = async (claims: TokenClaims, header: TokenHeader = {}, options: Partial<JwtVerifierOptions> = {}) =>
    jwtVerifier({ issuer: issuer.url, ...options })(await issuer.token({ aud: resource, ...claims }, header), request)

  it('returns the claims under the names that issuers use', async () => {
    const exp = now() + 100
    expect(await verify({ scope: 'a b', exp })).toEqual({
      issuer: issuer.url,
      subject: 'ann',
      clientId: 'app',
      scopes: ['a', 'b'],
      expiresAt: exp + 5,
      claims: expect.objectContaining({ sub: 'ann', aud: resource }),
    })
    const others = { client_id: undefined, azp: 'web', scp: ['c', 'd'] }
    expect(await verify(others)).toMatchObject({ clientId: 'web', scopes: ['c', 'd'] })
  })

  it('finds the keys through issuer metadata and caches them', async () => {
    const check = jwtVerifier({ issuer: issuer.url })
    const token = await issuer.token({ aud: resource })
    for (let count = 0; count < 5; count++) expect(await check(token, request)).toBeDefined()
    expect(issuer.requests.map(({ path }) => path)).toEqual(['/.well-known/oauth-authorization-server', '/jwks'])
  })

  it('does not use metadata of another issuer', async () => {
    issuer.metadata = { ...issuer.metadata, issuer: 'https://other.example' }
    await expect(verify({})).rejects.toThrow('The keys of')
  })

  it.each(['RS256', 'ES256'])('accepts %s', async (alg) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    issuer.keys = [{ ...(await exportJWK(publicKey)), kid: 'x', alg }]
    const token = await issuer.token({ aud: resource }, { alg, kid: 'x' }, privateKey)
    expect(await jwtVerifier({ issuer: issuer.url })(token, request)).toBeDefined()
  })

  it.each<[string, TokenClaims, TokenHeader]>([
    ['for another audience', { aud: 'https://other.example' }, {}],
    ['without an audience', { aud: undefined }, {}],
    ['for a longer path of this server', { aud: `${resource}/x` }, {}],
    ['for a longer host', { aud: 'https://mcp.example.com.evil.example/mcp' }, {}],
    ['of another issuer', { iss: 'https://other.example' }, {}],
    ['without an issuer', { iss: undefined }, {}],
    ['that has expired', { exp: now() - 10 }, {}],
    ['that never expires', { exp: undefined }, {}],
    ['that is not valid yet', { nbf: now() + 60 }, {}],
    ['that is a proof', {}, { typ: 'dpop+jwt' }],
    ['that is an assertion', {}, { typ: 'oauth-id-jag+jwt' }],
    ['that is a logout token', {}, { typ: 'logout+jwt' }],
  ])('refuses a token %s [AUTH-012] [AUTH-013]', async (_, claims, header) => {
    expect(await verify(claims, header)).toBeUndefined()
  })

  it.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'JWT', undefined])('accepts the type %s', async (typ) => {
    expect(await verify({}, { typ })).toBeDefined()
  })

  it('tolerates a small clock skew only', async () => {
    expect(await verify({ exp: now() - 3 })).toBeDefined()
    expect(await verify({ exp: now() - 3 }, {}, { clockToleranceSec: 0 })).toBeUndefined()
    expect(await verify({ nbf: now() + 3 })).toBeDefined()
  })

  it('accepts an audience that the operator configures instead of the URL [AUTH-013]', async () => {
    const options = { audience: ['api://files', 'api://more'] }
    expect(await verify({ aud: 'api://more' }, {}, options)).toBeDefined()
    expect(await verify({ aud: ['x', 'api://files'] }, {}, options)).toBeDefined()
    expect(await verify({ aud: resource }, {}, options)).toBeUndefined()
  })

  it('refuses signatures that others could make [AUTH-012]', async () => {
    const check = jwtVerifier({ issuer: issuer.url })
    const body = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: issuer.url, aud: resource, sub: 'ann', exp: now() + 60 }
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const forged = [
      `${body({ alg: 'none' })}.${body(claims)}.`,
      `${body({ alg: 'None', typ: 'at+jwt' })}.${body(claims)}.x`,
      await issuer.token({ aud: resource }, { alg: 'HS256' }, new TextEncoder().encode(await exportSPKI(publicKey))),
      await issuer.token({ aud: resource }, {}, privateKey),
      (await issuer.token({ aud: resource })).replace(/\.[^.]*\./, `.${body(claims)}.`),
      'opaque',
      'a.b.c',
    ]
    for (const token of forged) expect(await check(token, request)).toBeUndefined()
  })

  it('refuses a token with a header or claims that it does not understand, without an error [AUTH-012]', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    issuer.keys = [{ ...(await exportJWK(publicKey)), kid: 'own', alg: 'ES256', use: 'sig' }]
    const header = { alg: 'ES256', kid: 'own', typ: 'at+jwt' }
    const sign = (payload: string) =>
      new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader(header).sign(privateKey)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const valid = await issuer.token({ aud: resource }, header, privateKey)
    const check = jwtVerifier({ issuer: issuer.url })
    expect(await check(valid, request)).toBeDefined()
    const tokens = [
      valid.replace(/^[^.]+/, part({ ...header, crit: ['x'], x: true })),
      valid.replace(/^[^.]+/, part({ ...header, crit: 'x' })),
      await sign('not JSON'),
      await sign('["a list"]'),
      valid.replace(/[^.]+$/, ''),
    ]
    for (const token of tokens) expect(await check(token, request)).toBeUndefined()
  })

  it('says why the keys could not be loaded', async () => {
    issuer.metadata = { issuer: issuer.url }
    const checking = jwtVerifier({ issuer: issuer.url })(await issuer.token({ aud: resource }), request)
    await expect(checking).rejects.toThrow(/could not be loaded: the metadata has no jwks_uri; /)
  })

  it.each(['HS256', 'none', 'A256KW'])('refuses the option %s', (algorithm) => {
    expect(() => jwtVerifier({ issuer: issuer.url, algorithms: [algorithm] })).toThrow(algorithm)
  })

  it('accepts only the configured algorithms', async () => {
    expect(await verify({}, {}, { algorithms: ['RS256'] })).toBeUndefined()
  })

  it('looks for a new key once, not for every token that names one', async () => {
    const check = jwtVerifier({ issuer: issuer.url, jwksUri: `${issuer.url}/jwks` })
    expect(await check(await issuer.token({ aud: resource }), request)).toBeDefined()
    for (const kid of ['x', 'y', 'z']) {
      expect(await check(await issuer.token({ aud: resource }, { kid }), request)).toBeUndefined()
    }
    expect(issuer.requests).toHaveLength(1)
  })

  it('tries every matching key when the token names none', async () => {
    const old = issuer.keys[0]!
    const token = await issuer.token({ aud: resource }, { kid: undefined })
    await issuer.rotate('k2')
    issuer.keys = [...issuer.keys, old]
    expect(await jwtVerifier({ issuer: issuer.url })(token, request)).toMatchObject({ subject: 'ann' })
    await issuer.rotate('k3')
    issuer.keys = [...issuer.keys, { ...issuer.keys[0]!, kid: 'k4' }]
    expect(await jwtVerifier({ issuer: issuer.url })(token, request)).toBeUndefined()
  })

  it('rejects without keys, and does not ask the issuer for every token', async () => {
    for (const options of [{}, { jwksUri: `${issuer.url}/jwks` }]) {
      issuer.requests.length = 0
      issuer.broken = 500
      const check = jwtVerifier({ issuer: issuer.url, ...options })
      const token = await issuer.token({ aud: resource })
      for (let count = 0; count < 5; count++) await expect(check(token, request)).rejects.toThrow()
      expect(issuer.requests.length).toBeLessThanOrEqual(2)
      issuer.broken = undefined
    }
  })

  it('leads to 503 without keys and recovers with the issuer', async () => {
    await using place = await protectedServer({ server: guarded({ onError: () => {} }) })
    place.issuer.broken = 500
    await using peer = new Peer(place.url, modern, withToken(await place.token()))
    expect((await peer.call('echo')).status).toBe(503)
    place.issuer.broken = undefined
    await expect.poll(async () => (await peer.call('echo')).status, { interval: 100 }).toBe(200)
  })

  it('limits the size of issuer responses', async () => {
    const fetch = async () => new Response(new Uint8Array(2_000_000), { status: 200 })
    const check = jwtVerifier({ issuer: issuer.url, jwksUri: `${issuer.url}/jwks`, fetch })
    await expect(check(await issuer.token({ aud: resource }), request)).rejects.toThrow('longer than')
  })

  it('fetches keys over https only, except from loopback [AUTH-089]', () => {
    expect(() => jwtVerifier({ issuer: 'http://as.example' })).toThrow('https:')
    expect(() => jwtVerifier({ issuer: 'https://as.example', jwksUri: 'http://as.example/jwks' })).toThrow('https:')
    expect(() => jwtVerifier({ issuer: 'http://localhost:9000' })).not.toThrow()
  })

  it('does not fetch keys from an http URL in the metadata [AUTH-089]', async () => {
    issuer.metadata = { ...issuer.metadata, jwks_uri: 'http://as.example/jwks' }
    await expect(verify({})).rejects.toThrow('https:')
  })
})

describe('introspectionVerifier', () => {
  const options = () => ({ endpoint: `${issuer.url}/introspect`, clientId: 'mcp server', clientSecret: 's3cr&t' })
  const active = { active: true, sub: 'ann', client_id: 'app', scope: 'a b', aud: resource }

  it('authenticates itself to the authorization server', async () => {
    issuer.known.set('t', { ...active, exp: now() + 100 })
    const info = await introspectionVerifier(options())('t', request)
    expect(info).toMatchObject({ issuer: issuer.url, subject: 'ann', clientId: 'app', scopes: ['a', 'b'] })
    const [asked] = issuer.requests
    expect(asked?.authorization).toBe(`Basic ${Buffer.from('mcp+server:s3cr%26t').toString('base64')}`)
    expect(Object.fromEntries(new URLSearchParams(asked?.body))).toEqual({
      token: 't',
      token_type_hint: 'access_token',
    })
    await introspectionVerifier({ ...options(), clientAuth: 'post' })('t', request)
    expect(new URLSearchParams(issuer.requests[1]?.body).get('client_secret')).toBe('s3cr&t')
  })

  it.each<[string, object]>([
    ['that is not active', { active: false }],
    ['for another audience', { ...active, aud: 'https://other.example' }],
    ['whose audience nobody tells', { ...active, aud: undefined }],
    ['that has expired', { ...active, exp: now() - 10 }],
    ['that is not valid yet', { ...active, nbf: now() + 60 }],
    ['of another issuer', { ...active, iss: 'https://other.example' }],
    ['that is for getting others', { ...active, token_type: 'refresh_token' }],
  ])('refuses a token %s [AUTH-012] [AUTH-013]', async (_, answer) => {
    issuer.known.set('t', answer)
    expect(await introspectionVerifier({ ...options(), issuer: issuer.url })('t', request)).toBeUndefined()
  })

  it('introspects a token once for concurrent requests', async () => {
    issuer.known.set('t', active)
    const check = introspectionVerifier(options())
    await Promise.all([check('t', request), check('t', request), check('t', request)])
    expect(await check('t', request)).toBeDefined()
    expect(await check('bad', request)).toBeUndefined()
    expect(await check('bad', request)).toBeUndefined()
    expect(issuer.requests).toHaveLength(2)
  })

  it('caches the response, not what a handler made of it', async () => {
    issuer.known.set('t', { ...active, roles: ['reader'] })
    const check = introspectionVerifier(options())
    const roles = (info: AuthInfo | undefined) => info?.claims?.roles as string[]
    roles(await check('t', request)).push('admin')
    expect(roles(await check('t', request))).toEqual(['reader'])
  })

  it('notices a revoked token immediately without a cache', async () => {
    const check = introspectionVerifier({ ...options(), cacheMs: 0 })
    issuer.known.set('t', active)
    expect(await check('t', request)).toBeDefined()
    issuer.known.delete('t')
    expect(await check('t', request)).toBeUndefined()
  })

  it('rejects without a response, retries later, and shows neither token nor secret', async () => {
    const check = introspectionVerifier(options())
    issuer.broken = 500
    issuer.known.set('t0k3n', active)
    const failure = await Promise.resolve(check('t0k3n', request)).then(
      () => undefined,
      (error: Error) => error,
    )
    expect(failure).toBeInstanceOf(Error)
    expect(String(failure?.message)).not.toMatch(/t0k3n|s3cr/)
    issuer.broken = undefined
    expect(await check('t0k3n', request)).toBeDefined()
  })

  it('authorizes callers over HTTP [AUTH-012]', async () => {
    const verify = introspectionVerifier(options())
    await using place = await protectedServer({ auth: { verify } })
    issuer.known.set('opaque', { ...active, aud: place.url })
    await using peer = new Peer(place.url, modern, withToken('opaque'))
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ subject: 'ann' })
    await using other = new Peer(place.url, modern, withToken('unknown'))
    expect((await other.call('who')).status).toBe(401)
  })

  it('sends tokens over https only, except to loopback [AUTH-089]', () => {
    expect(() => introspectionVerifier({ ...options(), endpoint: 'http://as.example/i' })).toThrow('https:')
  })
})

describe('checkScopes', () => {
  it('passes callers with all scopes, and names all scopes otherwise [AUTH-076]', () => {
    expect(() => checkScopes({ scopes: ['a', 'b', 'c'] }, ['a', 'b'])).not.toThrow()
    expect(() => checkScopes(undefined, [])).not.toThrow()
    for (const auth of [undefined, { scopes: [] }, { scopes: ['a'] }]) {
      expect(hasScopes(auth, ['a', 'b'])).toBe(false)
      let thrown: unknown
      try {
        checkScopes(auth, ['a', 'b'])
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(InsufficientScopeError)
      expect((thrown as InsufficientScopeError).scopes).toEqual(['a', 'b'])
    }
  })
})

it('agrees with servers on the meaning of verifier options and results', () => {
  expectTypeOf<ReturnType<typeof jwtVerifier>>().toEqualTypeOf<AuthOptions['verify']>()
  expectTypeOf<ReturnType<typeof introspectionVerifier>>().toEqualTypeOf<AuthOptions['verify']>()
})
