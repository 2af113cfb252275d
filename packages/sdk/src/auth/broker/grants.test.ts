import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { MemoryValueStore } from '../../store/memory/values.ts'
import type { ValueStore } from '../../store/ports.ts'
import { sha256 } from '../../util/base64url.ts'
import { Sealer } from '../../util/sealer.ts'
import { EncryptedStore } from './encrypted-store.ts'
import { Grants } from './grants.ts'
import { RefreshTokenRotation } from './rotation.ts'
import { resolveOptions } from './settings.ts'
import { UpstreamEnded, type UpstreamTokens } from './upstream.ts'

const verifier = 'v'.repeat(43)
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A store over the network: every operation takes a while. */
class SlowStore implements ValueStore {
  readonly #memory = new MemoryValueStore()

  async get(key: string) {
    await turn()
    return this.#memory.get(key)
  }

  async set(key: string, value: string, ttlMs: number) {
    await turn()
    this.#memory.set(key, value, ttlMs)
  }

  async take(key: string) {
    await turn()
    return this.#memory.take(key)
  }

  async delete(key: string) {
    await turn()
    this.#memory.delete(key)
  }
}

async function start(tokens: UpstreamTokens = { accessToken: 'up', refreshToken: 'up-r' }, options: object = {}) {
  const errors: unknown[] = []
  const state: { refresh: (tokens: UpstreamTokens) => Promise<UpstreamTokens>; isRenewable: boolean } = {
    refresh: async (old) => ({ ...old, accessToken: `${old.accessToken}+` }),
    isRenewable: tokens.refreshToken !== undefined,
  }
  const calls: string[] = []
  const upstream = {
    provider: { issuer: 'https://id.example', name: 'Example ID' },
    isRenewable: () => state.isRenewable,
    refresh: async (subject: string, old: UpstreamTokens) => {
      calls.push(`${subject} ${old.accessToken}`)
      return state.refresh(old)
    },
  }
  const settings = resolveOptions({
    resource: 'https://mcp.example/mcp',
    upstream: {} as never,
    onError: (error) => errors.push(error.message),
    ...options,
  })
  const store = new EncryptedStore(new SlowStore(), new Sealer())
  const grants = new Grants(store, upstream as never, settings)
  const client = { client_id: 'c', redirect_uris: [] }
  const request = {
    redirectUri: 'https://app.example/back',
    codeChallenge: await sha256(verifier),
    scopes: ['a', 'b'],
    state: undefined,
    resource: undefined,
  }
  const login = { subject: 'ann', profile: { name: 'Ann' }, tokens }
  const code = () => grants.createCode(request, 'c', login)
  const exchange = async (more: object = {}, by: object = client) =>
    grants.exchangeCode(by as never, {
      code: await code(),
      codeVerifier: verifier,
      redirectUri: undefined,
      resource: undefined,
      ...more,
    })
  const refresh = (refreshToken: string, scopes?: string[], by: object = client) =>
    grants.refresh(by as never, { refreshToken, scopes, resource: undefined })
  return { grants, store, client, code, exchange, refresh, state, calls, errors }
}

const invalidGrant = (message: string) => expect.objectContaining({ errorCode: 'invalid_grant', message })
const invalidCode = invalidGrant('The code is not valid, or has already been used.')

describe('a code', () => {
  it('is exchanged for tokens of the user [AUTH-024]', async () => {
    const { exchange, grants } = await start()
    const tokens = await exchange({ redirectUri: 'https://app.example/back' })
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3_600,
      scope: 'a b',
      refresh_token: expect.any(String),
    })
    expect(await grants.verify(tokens.access_token)).toMatchObject({
      issuer: 'https://mcp.example',
      subject: 'ann',
      clientId: 'c',
      scopes: ['a', 'b'],
      resource: 'https://mcp.example/mcp',
      claims: { name: 'Ann', sid: expect.any(String) },
    })
  })

  it.each([
    ['with another verifier', { codeVerifier: 'w'.repeat(43) }],
    ['with another redirect URI', { redirectUri: 'https://app.example/other' }],
  ])('is refused %s, and cannot be used again', async (_, more) => {
    const { exchange, code } = await start()
    const one = await code()
    await expect(exchange({ code: one, ...more })).rejects.toEqual(invalidCode)
    await expect(exchange({ code: one })).rejects.toEqual(invalidCode)
  })

  it('of another client is refused, and stays valid for its own', async () => {
    const { exchange, code } = await start()
    const one = await code()
    await expect(exchange({ code: one }, { client_id: 'd' })).rejects.toEqual(invalidCode)
    expect(await exchange({ code: one })).toHaveProperty('access_token')
    await expect(exchange({ code: 'unknown' })).rejects.toEqual(invalidCode)
  })

  it('that is used twice ends the login', async () => {
    const { exchange, code, grants } = await start()
    const one = await code()
    const { access_token } = await exchange({ code: one })
    await expect(exchange({ code: one })).rejects.toEqual(invalidCode)
    expect(await grants.verify(access_token)).toBeUndefined()
  })

  it('gives no refresh token to a client that did not register for it', async () => {
    const { exchange } = await start()
    expect(await exchange({}, { client_id: 'c', grant_types: ['authorization_code'] })).not.toHaveProperty(
      'refresh_token',
    )
    expect(await exchange({}, { client_id: 'c', grant_types: ['refresh_token'] })).toHaveProperty('refresh_token')
  })

  it('gives a token that ends with that of the provider, if that cannot be refreshed', async () => {
    movableDate()
    const { exchange } = await start({ accessToken: 'up', expiresAt: Date.now() + 5_999 })
    expect(await exchange()).toMatchObject({ expires_in: 5 })
    const ended = await start({ accessToken: 'up', expiresAt: Date.now() + 999 })
    await expect(ended.exchange()).rejects.toEqual(invalidGrant('The login has ended. Sign in again.'))
    const unknown = await start({ accessToken: 'up' })
    expect(await unknown.exchange()).toMatchObject({ expires_in: 3_600 })
  })
})

describe('an access token', () => {
  it('is valid until its last millisecond, and only if it exists', async () => {
    const time = movableDate()
    const { exchange, grants } = await start(undefined, { accessTokenSeconds: 10 })
    const { access_token } = await exchange()
    time.advance(9_999)
    expect(await grants.verify(access_token)).toBeDefined()
    time.advance(1)
    expect(await grants.verify(access_token)).toBeUndefined()
    expect(await grants.verify('unknown')).toBeUndefined()
  })
})

describe('a refresh token', () => {
  it('gives new tokens, with fewer scopes on request, after the provider agreed [AUTH-026, AUTH-096]', async () => {
    const { exchange, refresh, grants, calls } = await start()
    const first = await exchange()
    const second = await refresh(first.refresh_token!, ['b'])
    expect(second).toMatchObject({ scope: 'b', refresh_token: expect.any(String) })
    expect(await grants.verify(second.access_token)).toMatchObject({ scopes: ['b'] })
    expect(await refresh(second.refresh_token!)).toMatchObject({ scope: 'a b' })
    expect(calls).toEqual(['ann up', 'ann up+'])
  })

  it('is refused for more scopes or another client, and stays valid', async () => {
    const { exchange, refresh } = await start()
    const { refresh_token: token } = await exchange()
    await expect(refresh(token!, ['a', 'x'])).rejects.toMatchObject({ errorCode: 'invalid_scope' })
    const unknown = invalidGrant('The refresh token is not valid.')
    await expect(refresh(token!, undefined, { client_id: 'd' })).rejects.toEqual(unknown)
    await expect(refresh('unknown')).rejects.toEqual(unknown)
    expect(await refresh(token!)).toHaveProperty('access_token')
  })

  it('that is used again after its successor was ends the login [AUTH-096]', async () => {
    const { exchange, refresh, grants } = await start()
    const { refresh_token: token } = await exchange()
    const { refresh_token: next } = await refresh(token!)
    const { access_token } = await refresh(next!)
    await expect(refresh(token!)).rejects.toEqual(
      invalidGrant('The refresh token has already been used. All tokens of this login are revoked.'),
    )
    expect(await grants.verify(access_token)).toBeUndefined()
  })

  it('is kept if the provider fails, and ends with the login at the provider', async () => {
    const { exchange, refresh, grants, state, errors } = await start()
    const { refresh_token: token, access_token } = await exchange()
    state.refresh = () => Promise.reject(new Error('no route'))
    await expect(refresh(token!)).rejects.toMatchObject({
      errorCode: 'temporarily_unavailable',
      status: 503,
      message: 'Example ID is not available. Try again later.',
      headers: { 'retry-after': '5' },
    })
    expect(errors).toEqual(['no route'])
    state.refresh = () => Promise.reject(new UpstreamEnded('gone'))
    await expect(refresh(token!)).rejects.toEqual(invalidGrant('The login at Example ID has ended. Sign in again.'))
    expect(await grants.verify(access_token)).toBeUndefined()
    expect(errors).toHaveLength(1)
  })

  it('of a login that the provider cannot refresh is renewed while the provider agrees', async () => {
    const { exchange, refresh, state, calls } = await start({ accessToken: 'up' })
    state.isRenewable = true
    state.refresh = async (tokens) => tokens
    const { refresh_token: token } = await exchange()
    expect(await refresh(token!)).toHaveProperty('refresh_token')
    expect(calls).toEqual(['ann up'])
  })
})

describe('revocation', () => {
  it('ends an access token alone, and the login of a refresh token', async () => {
    const { exchange, refresh, grants, client } = await start()
    const one = await exchange()
    await grants.revoke(client, one.access_token)
    expect(await grants.verify(one.access_token)).toBeUndefined()
    const next = await refresh(one.refresh_token!)
    await grants.revoke(client, next.refresh_token!)
    expect(await grants.verify(next.access_token)).toBeUndefined()
  })

  it('ignores tokens of other clients, and unknown ones', async () => {
    const { exchange, grants, client } = await start()
    const { access_token, refresh_token } = await exchange()
    const other = { ...client, client_id: 'd' }
    for (const token of [access_token, refresh_token!]) await grants.revoke(other, token)
    await grants.revoke(client, `${refresh_token!.split('.')[0]}.made-up`)
    await grants.revoke(client, 'unknown')
    expect(await grants.verify(access_token)).toBeDefined()
  })
})

describe('the token of the provider', () => {
  const sidOf = async ({ grants, exchange }: Awaited<ReturnType<typeof start>>) => {
    const info = await grants.verify((await exchange()).access_token)
    return info!.claims!.sid as string
  }

  it('is returned as it is until a minute before it expires, then refreshed [AUTH-024]', async () => {
    const time = movableDate()
    const place = await start({ accessToken: 'up', refreshToken: 'r', expiresAt: Date.now() + 3_600_000 })
    const sid = await sidOf(place)
    time.advance(3_539_999)
    expect(await place.grants.upstreamToken(sid)).toBe('up')
    time.advance(1)
    expect(await place.grants.upstreamToken(sid)).toBe('up+')
    expect(await place.grants.upstreamToken('unknown')).toBeUndefined()
  })

  it('without an end in time is never refreshed', async () => {
    const place = await start({ accessToken: 'up', refreshToken: 'r' })
    expect(await place.grants.upstreamToken(await sidOf(place))).toBe('up')
    expect(place.calls).toEqual([])
  })

  it('is missing if the login has ended, and an error if the provider fails', async () => {
    const place = await start({ accessToken: 'up', refreshToken: 'r', expiresAt: Date.now() + 1_000 })
    const sid = await sidOf(place)
    place.state.refresh = () => Promise.reject(new Error('no route'))
    await expect(place.grants.upstreamToken(sid)).rejects.toMatchObject({ errorCode: 'temporarily_unavailable' })
    place.state.refresh = () => Promise.reject(new UpstreamEnded('gone'))
    expect(await place.grants.upstreamToken(sid)).toBeUndefined()
    expect(await place.grants.upstreamToken(sid)).toBeUndefined()
  })

  it('is requested once by concurrent calls', async () => {
    const place = await start({ accessToken: 'up', refreshToken: 'r', expiresAt: Date.now() + 1_000 })
    const sid = await sidOf(place)
    const all = await Promise.all([1, 2, 3].map(() => place.grants.upstreamToken(sid)))
    expect(all).toEqual(['up+', 'up+', 'up+'])
    expect(place.calls).toHaveLength(1)
  })
})

describe('the response to a refresh', () => {
  const tokens = { access_token: 't', token_type: 'Bearer' }
  const rotation = () => {
    const store = new EncryptedStore(new SlowStore(), new Sealer())
    return { store, rotation: new RefreshTokenRotation(store) }
  }

  it('is repeated with the lifetime that is left, for ten seconds [AUTH-096]', async () => {
    const time = movableDate()
    const { store, rotation: rotating } = rotation()
    await store.set('refresh', 'hash', true, 60_000)
    expect(await rotating.consume('hash', async () => ({ ...tokens, expires_in: 5 }))).toMatchObject({ expires_in: 5 })
    expect(await rotating.consume('hash', async () => tokens)).toBeUndefined()
    time.advance(1_001)
    expect(await rotating.repeat('hash')).toEqual({ ...tokens, expires_in: 3 })
    time.advance(6_000)
    expect(await rotating.repeat('hash')).toEqual({ ...tokens, expires_in: 0 })
    time.advance(2_999)
    expect(await rotating.repeat('hash')).toBeUndefined()
  })

  it('without a lifetime is repeated as it was', async () => {
    const { store, rotation: rotating } = rotation()
    await store.set('refresh', 'hash', true, 60_000)
    await rotating.consume('hash', async () => tokens)
    expect(await rotating.repeat('hash')).toEqual(tokens)
    expect(await rotating.repeat('another')).toBeUndefined()
  })

  it('is not repeated once its successor was used', async () => {
    const { store, rotation: rotating } = rotation()
    for (const hash of ['hash', await sha256('next')]) await store.set('refresh', hash, true, 60_000)
    await rotating.consume('hash', async () => ({ ...tokens, refresh_token: 'next' }))
    expect(await rotating.repeat('hash')).toMatchObject({ refresh_token: 'next' })
    await store.take('refresh', await sha256('next'))
    expect(await rotating.repeat('hash')).toBeUndefined()
  })
})
