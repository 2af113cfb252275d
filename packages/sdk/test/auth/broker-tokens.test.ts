import { MemoryValueStore } from 'tenon/auth/server'
import { describe, expect, it, vi } from 'vitest'
import { movableDate } from '../kit/time.ts'
import { anyRequest, Browser, Place, secret } from './broker-support.ts'

describe('codes of a broker', () => {
  it('accepts a code only with its redirect URI and code verifier [AUTH-091]', async () => {
    await using place = await Place.start()
    const attempts: ((clientId: string, code: string) => ReturnType<Place['redeem']>)[] = [
      (clientId, code) => place.redeem(clientId, code, { code_verifier: 'w'.repeat(43) }),
      (clientId, code) => place.redeem(clientId, code, { redirect_uri: 'http://127.0.0.1:8/callback' }),
      (clientId, code) => place.redeem(clientId, `${code.split('.')[0]}.x`),
    ]
    for (const attempt of attempts) {
      const { clientId, code } = await place.authorize()
      const { status, body } = await attempt(clientId, code)
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
      // It has been used up, and its login is over.
      expect((await place.redeem(clientId, code)).body.error).toBe('invalid_grant')
    }
    const { clientId, code } = await place.authorize()
    const short = await place.redeem(clientId, code, { code_verifier: 'short' })
    expect(short.body.error).toBe('invalid_request')
    expect((await place.redeem(clientId, code)).status).toBe(200)
  })

  it('accepts a code once and ends its login on reuse', async () => {
    await using place = await Place.start()
    const { clientId, code, access, refresh } = await place.signIn()
    expect(await place.call(access)).toBe(200)
    expect((await place.redeem(clientId, code)).body.error).toBe('invalid_grant')
    expect(await place.call(access)).toBe(401)
    expect((await place.refresh(clientId, refresh)).body.error).toBe('invalid_grant')
  })

  it('leaves no tokens behind when a code is redeemed several times at once', async () => {
    await using place = await Place.start()
    const { clientId, code } = await place.authorize()
    const answers = await Promise.all(Array.from({ length: 5 }, () => place.redeem(clientId, code)))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    for (const { status, body } of answers) if (status === 200) expect(await place.call(body.access_token)).toBe(401)
  })

  it('expires a code after a minute', async () => {
    let now = Date.now()
    const store = new MemoryValueStore({ now: () => now })
    await using place = await Place.start({ broker: { store } })
    const { clientId, code } = await place.authorize()
    now += 60_001
    expect((await place.redeem(clientId, code)).body.error).toBe('invalid_grant')
    expect(store.get('x')).toBe(undefined)
  })
})

describe('access tokens of a broker', () => {
  it.each([0, 1, 500, 999])(
    'accepts a token for all of its expires_in when it is issued %s ms into a second',
    async (ms) => {
      const date = movableDate()
      date.advance(1_000 - (Date.now() % 1_000) + ms)
      await using place = await Place.start({ broker: { accessTokenSeconds: 1 } })
      const { access, body } = await place.signIn()
      expect(body.expires_in).toBe(1)
      date.advance(999)
      expect(await place.call(access)).toBe(200)
      date.advance(1)
      expect(await place.call(access)).toBe(401)
    },
  )

  it('expires access tokens and issues them for one server [AUTH-012, AUTH-013, AUTH-026, AUTH-095]', async () => {
    await using place = await Place.start()
    const { access, body } = await place.signIn()
    expect(body.expires_in).toBeLessThanOrEqual(3_600)
    expect(await place.call(access)).toBe(200)
    expect(await place.call(`${access.slice(0, -1)}${access.endsWith('A') ? 'B' : 'A'}`)).toBe(401)
    const clock = vi.spyOn(Date, 'now')
    const later = Date.now() + 3_601_000
    clock.mockImplementation(() => later)
    expect(await place.call(access)).toBe(401)
    clock.mockRestore()
  })

  it('CVE-2025-69196: refuses a token of another server that shares the store and secrets [AUTH-013]', async () => {
    const store = new MemoryValueStore()
    await using one = await Place.start({ broker: { store, secrets: [secret] } })
    await using two = await Place.start({ broker: { store, secrets: [secret] } })
    const { access, clientId, refresh } = await one.signIn()
    expect(await one.call(access)).toBe(200)
    expect(await two.call(access)).toBe(401)
    expect(await two.auth.verify(access, anyRequest)).toBe(undefined)
    // Its clients are none there, and its logins are not touched.
    expect((await two.refresh(clientId, refresh)).body.error).toBe('invalid_client')
    const { client_id } = await two.register()
    expect((await two.refresh(client_id, refresh)).body.error).toBe('invalid_grant')
    expect((await one.refresh(clientId, refresh)).status).toBe(200)
    const { access: other } = await two.signIn()
    expect(await one.call(other)).toBe(401)
    expect(await two.call(other)).toBe(200)
  })
})

describe('refresh tokens of a broker', () => {
  it('replaces a refresh token at each use [AUTH-026, AUTH-096]', async () => {
    await using place = await Place.start()
    const { clientId, refresh, access } = await place.signIn()
    const { status, body } = await place.refresh(clientId, refresh)
    expect(status).toBe(200)
    expect(body.refresh_token).not.toBe(refresh)
    expect(body.access_token).not.toBe(access)
    expect(await place.call(body.access_token)).toBe(200)
    expect((await place.refresh(clientId, body.refresh_token)).status).toBe(200)
  })

  it('ends the login when a refresh token is reused later', async () => {
    await using place = await Place.start()
    const { clientId, refresh: first } = await place.signIn()
    let current = first
    let access = ''
    for (let round = 0; round < 3; round++) {
      const { body } = await place.refresh(clientId, current)
      current = body.refresh_token
      access = body.access_token
    }
    const { body } = await place.refresh(clientId, first)
    expect(body.error).toBe('invalid_grant')
    expect(await place.call(access)).toBe(401)
    expect((await place.refresh(clientId, current)).body.error).toBe('invalid_grant')
  })

  it('returns the same tokens to concurrent requests with one refresh token [AUTH-096]', async () => {
    await using place = await Place.start()
    const { clientId, refresh } = await place.signIn()
    const answers = await Promise.all(Array.from({ length: 5 }, () => place.refresh(clientId, refresh)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const [{ body }] = answers as [(typeof answers)[0]]
    expect(new Set(answers.map(({ body: { access_token } }) => access_token)).size).toBe(1)
    expect(new Set(answers.map(({ body: { refresh_token } }) => refresh_token)).size).toBe(1)
    expect(await place.call(body.access_token)).toBe(200)
    expect((await place.refresh(clientId, body.refresh_token)).status).toBe(200)
  })

  it('ends the login when a refresh token is reused after ten seconds, though its successor is unused [AUTH-096]', async () => {
    let now = Date.now()
    await using place = await Place.start({ broker: { store: new MemoryValueStore({ now: () => now }) } })
    const { clientId, refresh } = await place.signIn()
    const { body } = await place.refresh(clientId, refresh)
    now += 9_000
    expect((await place.refresh(clientId, refresh)).body.refresh_token).toBe(body.refresh_token)
    now += 1_001
    expect((await place.refresh(clientId, refresh)).body.error).toBe('invalid_grant')
    expect(await place.call(body.access_token)).toBe(401)
  })

  it('ends the login when a stolen refresh token is used beside the original [AUTH-096]', async () => {
    let now = Date.now()
    await using place = await Place.start({ broker: { store: new MemoryValueStore({ now: () => now }) } })
    const { clientId, refresh } = await place.signIn()
    const [client, thief] = await Promise.all([place.refresh(clientId, refresh), place.refresh(clientId, refresh)])
    now += 60_000
    const next = await place.refresh(clientId, thief.body.refresh_token)
    now += 60_000
    expect((await place.refresh(clientId, client.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await place.call(next.body.access_token)).toBe(401)
  })

  it('grants fewer scopes on request, never more', async () => {
    await using place = await Place.start()
    const { clientId, refresh } = await place.signIn({ scope: 'notes:read notes:write' })
    const narrow = await place.refresh(clientId, refresh, { scope: 'notes:read' })
    expect(narrow.body.scope).toBe('notes:read')
    const wide = await place.refresh(clientId, narrow.body.refresh_token, { scope: 'notes:read notes:write' })
    expect(wide.body.scope).toBe('notes:read notes:write')
    const more = await place.refresh(clientId, wide.body.refresh_token, { scope: 'notes:read admin' })
    expect([more.status, more.body.error]).toEqual([400, 'invalid_scope'])
    const { clientId: other, refresh: small } = await place.signIn({ scope: 'notes:read' })
    expect((await place.refresh(other, small, { scope: 'notes:write' })).body.error).toBe('invalid_scope')
    // What was wrong with the request has not used them up.
    expect((await place.refresh(other, small)).status).toBe(200)
  })

  it('refuses a refresh token of another client, and keeps it valid for its own', async () => {
    await using place = await Place.start()
    const { clientId, refresh } = await place.signIn()
    const { client_id: stranger } = await place.register({ client_name: 'Other' })
    expect((await place.refresh(stranger, refresh)).body.error).toBe('invalid_grant')
    expect((await place.refresh(clientId, refresh)).status).toBe(200)
  })

  it('issues no refresh token to clients that did not register for it', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register({ grant_types: ['authorization_code'] })
    const back = await new Browser().agree(place.page(client_id))
    const { body } = await place.redeem(client_id, back.searchParams.get('code')!)
    expect(Object.keys(body)).not.toContain('refresh_token')
  })
})

describe('the login at the provider', () => {
  it('refreshes at the provider whenever a token is refreshed, and ends with its login [AUTH-024, AUTH-025]', async () => {
    await using place = await Place.start()
    const { clientId, refresh, access } = await place.signIn()
    place.as.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
    const { status, body } = await place.refresh(clientId, refresh)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
    expect(await place.call(access)).toBe(401)
    expect((await place.refresh(clientId, refresh)).body.error).toBe('invalid_grant')
  })

  it('keeps the login while the provider is unreachable [AUTH-025]', async () => {
    await using place = await Place.start()
    const { clientId, refresh, access } = await place.signIn()
    for (const fault of [
      'server-error',
      'reset',
      'html',
      { status: 401, body: { error: 'invalid_client' } },
    ] as const) {
      place.as.faults.next('token', fault)
      const answer = await place.refresh(clientId, refresh)
      expect([answer.status, answer.body.error]).toEqual([503, 'temporarily_unavailable'])
      expect(answer.headers.get('retry-after')).toBe('5')
    }
    expect(await place.call(access)).toBe(200)
    expect((await place.refresh(clientId, refresh)).status).toBe(200)
    expect(place.errors.length).toBe(4)
    for (const error of place.errors) expect(error.message).not.toMatch(/the-secret|eyJ/)
  })

  it('renews the upstream token for handlers when due, once for concurrent callers [AUTH-024]', async () => {
    await using place = await Place.start({ upstream: { accessTokenSeconds: 30 } })
    const { access } = await place.signIn()
    const info = await place.auth.verify(access, {
      method: 'POST',
      urls: [],
      header: () => undefined,
      isFor: () => true,
    })
    const tokens = await Promise.all(Array.from({ length: 5 }, () => place.auth.upstreamToken(info)))
    expect(new Set(tokens).size).toBe(1)
    expect(place.tokenRequests('refresh_token').length).toBe(1)
    place.as.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
    await expect(place.auth.upstreamToken(info)).rejects.toThrow(/Not signed in at Example ID/)
    expect(await place.call(access)).toBe(401)
  })

  it('gives no upstream token to a caller of another login', async () => {
    await using place = await Place.start()
    await expect(place.auth.upstreamToken(undefined)).rejects.toThrow(/Not signed in/)
    await expect(place.auth.upstreamToken({ scopes: [], issuer: place.origin, claims: { sid: 'x' } })).rejects.toThrow()
  })
})

describe('revocation at a broker', () => {
  it('revokes an access token, or the whole login with the refresh token', async () => {
    await using place = await Place.start()
    const { clientId, access, refresh } = await place.signIn()
    const { body } = await place.refresh(clientId, refresh)
    const revoke = (token: string, client_id = clientId) =>
      place.post('/revoke', new URLSearchParams({ token, client_id }))
    expect((await revoke(access)).status).toBe(200)
    expect([await place.call(access), await place.call(body.access_token)]).toEqual([401, 200])
    expect((await revoke(body.refresh_token)).status).toBe(200)
    expect(await place.call(body.access_token)).toBe(401)
    expect((await place.refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('answers the same for unknown tokens, and does not revoke those of other clients', async () => {
    await using place = await Place.start()
    const { clientId, access, refresh } = await place.signIn()
    const { client_id: stranger } = await place.register({ client_name: 'Other' })
    for (const token of [access, refresh, 'x', `${refresh.split('.')[0]}.x`]) {
      const { status } = await place.post('/revoke', new URLSearchParams({ token, client_id: stranger }))
      expect(status).toBe(200)
    }
    expect(await place.call(access)).toBe(200)
    expect((await place.refresh(clientId, refresh)).status).toBe(200)
    const unknown = await place.post('/revoke', new URLSearchParams({ token: access, client_id: 'x' }))
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client'])
  })
})

describe('the endpoints of a broker', () => {
  it('allows CORS where no cookie is used, and not elsewhere', async () => {
    await using place = await Place.start()
    const headers = { origin: 'https://app.example' }
    for (const path of ['/token', '/register', '/revoke', '/.well-known/oauth-authorization-server']) {
      const response = await fetch(place.origin + path, { method: 'OPTIONS', headers })
      expect([path, response.status, response.headers.get('access-control-allow-origin')]).toEqual([path, 204, '*'])
    }
    const { client_id } = await place.register()
    const page = await fetch(place.page(client_id), { headers })
    expect(page.headers.get('access-control-allow-origin')).toBe(null)
    for (const path of ['/authorize', '/authorize/consent', '/callback']) {
      expect((await fetch(place.origin + path, { method: 'OPTIONS', headers })).status).toBe(405)
    }
  })

  it('reads parameters only from the body, each once', async () => {
    await using place = await Place.start()
    const { clientId, refresh } = await place.signIn()
    const query = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refresh })
    const inUrl = await place.post(`/token?${query}`, new URLSearchParams())
    expect(inUrl.body.error).toBe('invalid_request')
    const twice = new URLSearchParams(query)
    twice.append('refresh_token', 'x')
    expect((await place.post('/token', twice)).body.error).toBe('invalid_request')
    const other = await place.token({ grant_type: 'client_credentials', client_id: clientId })
    expect(other.body.error).toBe('unsupported_grant_type')
    expect((await fetch(`${place.origin}/token?${query}`)).status).toBe(405)
    expect((await place.post('/token', query)).status).toBe(200)
  })

  it('hides the details of internal errors', async () => {
    const store = new MemoryValueStore()
    await using place = await Place.start({ broker: { store } })
    const { clientId, refresh, access } = await place.signIn()
    vi.spyOn(store, 'get').mockImplementation(() => {
      throw new Error('redis://user:password@10.0.0.1 is down')
    })
    const { status, body } = await place.refresh(clientId, refresh)
    expect([status, body]).toEqual([500, { error: 'server_error', error_description: 'Internal server error.' }])
    // The token may be good, so the client is not told otherwise.
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await place.call(access)).toBe(503)
    expect(log).toHaveBeenCalled()
    vi.restoreAllMocks()
    expect(await place.call(access)).toBe(200)
  })
})
