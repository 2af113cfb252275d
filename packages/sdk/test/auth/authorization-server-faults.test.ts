import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import { startAuthorizationServer, type TestAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import {
  authorize,
  discover,
  errorOf,
  jsonOf,
  login,
  post,
  refresh,
  resource,
  start,
} from './authorization-server-support.ts'

describe('inspecting and controlling the development authorization server', () => {
  it('records every request with its parameters and its outcome', async () => {
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

  it('creates tokens without a login, valid or invalid, with every algorithm', async () => {
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

  it('rotates the signing key and still publishes the old one', async () => {
    await using as = await startAuthorizationServer()
    const old = await as.issueToken({ resource })
    await as.rotateKeys()
    const young = await as.issueToken({ resource })
    const keys = jose.createRemoteJWKSet(new URL(`${as.issuer}/jwks`))
    for (const token of [old, young]) expect((await jose.jwtVerify(token, keys)).payload.sub).toBe('alice')
    expect(jose.decodeProtectedHeader(old).kid).not.toBe(jose.decodeProtectedHeader(young).kid)
  })

  it('allows CORS requests everywhere but on the login page', async () => {
    await using server = await start()
    const preflight = await fetch(server.metadata.token_endpoint!, { method: 'OPTIONS' })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect((await authorize(server)).response.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('names the options that it does not support', async () => {
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

describe('injected faults', () => {
  const metadataOf = (as: TestAuthorizationServer, init?: RequestInit) =>
    fetch(`${as.issuer}/.well-known/oauth-authorization-server`, init)

  it('applies faults to the next requests in order, then behaves normally', async () => {
    await using as = await startAuthorizationServer()
    as.faults.next('metadata', 'server-error')
    as.faults.next('metadata', { status: 404, body: { error: 'gone' }, headers: { 'x-test': 'yes' } })
    expect((await metadataOf(as)).status).toBe(500)
    const second = await metadataOf(as)
    expect([second.status, second.headers.get('x-test'), await second.json()]).toEqual([404, 'yes', { error: 'gone' }])
    expect((await metadataOf(as)).status).toBe(200)
  })

  it('applies a permanent fault until it is cleared', async () => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', 'html')
    for (let time = 0; time < 2; time++) expect((await metadataOf(as)).headers.get('content-type')).toBe('text/html')
    as.faults.clear()
    expect((await metadataOf(as)).headers.get('content-type')).toBe('application/json')
  })

  it('replaces the issuer in the metadata, or removes members', async () => {
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

  it('hangs until the server closes, or breaks the connection', async () => {
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

  it('loses the response after the refresh token was used', async () => {
    await using server = await start()
    const { refresh_token } = await login(server)
    server.as.faults.next('token', 'reset')
    await expect(refresh(server, refresh_token!)).rejects.toThrow()
    server.as.faults.next('token', 'lose-reply')
    await expect(refresh(server, refresh_token!)).rejects.toThrow()
    expect(await errorOf(refresh(server, refresh_token!))).toBe('invalid_grant')
  })

  it('delays responses', async () => {
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

  it('makes responses huge or very slow, but still correct', async () => {
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

  it('changes the redirect: wrong issuer, no issuer, wrong state', async () => {
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

  it('issues tokens that are expired, not refreshable, or of reduced scope', async () => {
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
