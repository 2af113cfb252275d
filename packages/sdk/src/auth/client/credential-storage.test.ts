import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { MemoryTokenStore } from '../token-store.ts'
import { AuthContext, Trace } from './context.ts'
import { checkIssuer, clientFor, loadClient, loadDpopKey, saveTokens } from './credential-storage.ts'
import { isStale, toTokens } from './credentials.ts'
import { findLogin, forgetLogin } from './stored-login.ts'

const server = { issuer: 'https://as.example', client_id_metadata_document_supported: true }
const url = new URL('https://mcp.example/mcp')
const context = () => new AuthContext(url, new Trace(), () => Promise.reject(new Error('offline')))
const stored = (client: object) => {
  const store = new MemoryTokenStore()
  store.set('client https://as.example', JSON.stringify(client))
  return store
}

describe('a stored client', () => {
  it('is used until the second in which its secret expires; 0 means never', async () => {
    const time = movableDate()
    const end = Math.floor(Date.now() / 1_000) + 60
    const store = stored({ client_id: 'c', client_secret_expires_at: end })
    time.advance(end * 1_000 - Date.now() - 1)
    expect(await loadClient(store, server, undefined)).toMatchObject({ client_id: 'c' })
    time.advance(1)
    expect(await loadClient(store, server, undefined)).toBeUndefined()
    for (const never of [0, undefined, 'soon']) {
      const lasting = stored({ client_id: 'c', client_secret_expires_at: never })
      expect(await loadClient(lasting, server, 'c')).toMatchObject({ client_id: 'c' })
    }
  })

  it('is ignored if another one is given, or if it cannot be parsed', async () => {
    expect(await loadClient(stored({ client_id: 'c' }), server, 'd')).toBeUndefined()
    const store = new MemoryTokenStore()
    expect(await loadClient(store, server, undefined)).toBeUndefined()
    store.set('client https://as.example', '{')
    expect(await loadClient(store, server, undefined)).toBeUndefined()
  })

  const document = 'https://app.example/c'
  const redirectUrl = 'https://app.example/back'
  const identity = { clientName: 'App', clientMetadataUrl: document }
  const used = async (client: object, more: object = {}) => {
    const store = stored({ client_id: 'old', ...client })
    const found = await clientFor(context(), store, server, { ...identity, ...more }, redirectUrl, [])
    expect(JSON.parse(store.get('client https://as.example')!).client_id).toBe(found.client_id)
    return found.client_id
  }

  it('is used again for its redirect URL only [AUTH-060]', async () => {
    expect(await used({})).toBe('old')
    expect(await used({ redirectUrl })).toBe('old')
    expect(await used({ redirectUrl: 'https://app.example/other' })).toBe(document)
  })

  it('of a document is used again while it authenticates in the same way', async () => {
    expect(await used({ origin: 'document', token_endpoint_auth_method: 'none' })).toBe('old')
    expect(await used({ origin: 'document', token_endpoint_auth_method: 'private_key_jwt' })).toBe(document)
    expect(await used({ origin: 'registered', token_endpoint_auth_method: 'private_key_jwt' })).toBe('old')
  })

  it('is not used if a client is given [AUTH-055]', async () => {
    expect(await used({}, { clientId: 'given' })).toBe('given')
  })
})

it('remembers the first issuer of a client id, and refuses another [AUTH-062]', async () => {
  const store = new MemoryTokenStore()
  await checkIssuer(context(), store, server, {})
  await checkIssuer(context(), store, server, { clientId: 'c' })
  await checkIssuer(context(), store, server, { clientId: 'c' })
  expect(store.get('issuer of c')).toBe(server.issuer)
  const other = { issuer: 'https://other.example' }
  await expect(checkIssuer(context(), store, other, { clientId: 'c' })).rejects.toThrow(
    'The client id belongs to https://as.example, but the server requires tokens of https://other.example',
  )
  await checkIssuer(context(), store, other, { clientId: 'c', issuer: other.issuer })
  await expect(checkIssuer(context(), store, server, { clientId: 'd', issuer: other.issuer })).rejects.toThrow(
    'belongs',
  )
  expect(store.get('issuer of d')).toBeUndefined()
})

it('creates a key once', async () => {
  const store = new MemoryTokenStore()
  await loadDpopKey(store, url)
  const saved = store.get('dpop https://mcp.example/mcp')
  expect(await (await loadDpopKey(store, url)).save()).toBe(saved)
  expect(store.get('dpop https://mcp.example/mcp')).toBe(saved)
})

describe('tokens', () => {
  const grant = { server, clientId: 'c', resource: undefined, scopes: ['a'], refreshToken: 'old' }
  const response = { access_token: 't', token_type: 'bearer' as const }

  it('become stale thirty seconds before they expire, or after nine tenths of their lifetime', () => {
    const time = movableDate()
    const now = Date.now()
    expect(toTokens({ ...response, expires_in: 3_600 }, grant)).toMatchObject({
      expiresAt: now + 3_600_000,
      staleAt: now + 3_570_000,
    })
    const short = toTokens({ ...response, expires_in: 10 }, grant)
    expect(short).toMatchObject({ expiresAt: now + 10_000, staleAt: now + 9_000 })
    expect([isStale(short, now + 8_999), isStale(short, now + 9_000)]).toEqual([false, true])
    const lasting = toTokens(response, grant)
    expect([lasting.expiresAt, isStale(lasting, now + 1e12)]).toEqual([undefined, false])
    time.advance(0)
  })

  it('keep the requested scopes, the type, and the refresh token until there is a new one', () => {
    expect(toTokens({ ...response, scope: 'a b' }, grant)).toMatchObject({
      issuer: server.issuer,
      clientId: 'c',
      scopes: ['a', 'b'],
      tokenType: 'bearer',
      refreshToken: 'old',
    })
    expect(toTokens({ ...response, token_type: 'dpop', refresh_token: 'new' }, grant)).toMatchObject({
      tokenType: 'dpop',
      refreshToken: 'new',
    })
  })

  it('are found and forgotten together with their key, inside the lock of the server', async () => {
    const locks: string[] = []
    class Store extends MemoryTokenStore {
      override lock<T>(key: string, work: () => Promise<T>): Promise<T> {
        locks.push(key)
        return super.lock(key, work)
      }
    }
    const store = new Store()
    expect(await findLogin(url, store)).toBeUndefined()
    expect(await forgetLogin(url, store)).toBe(false)
    await saveTokens(store, url, toTokens({ ...response, expires_in: 60 }, { ...grant, refreshToken: undefined }))
    await loadDpopKey(store, url)
    expect(await findLogin(`${url}?x=1`, store)).toMatchObject({
      issuer: server.issuer,
      clientId: 'c',
      isRefreshable: false,
    })
    await saveTokens(store, url, toTokens(response, grant))
    expect(await findLogin(url, store)).toMatchObject({ isRefreshable: true, expiresAt: undefined })
    expect(await forgetLogin(`${url}?x=1`, store)).toBe(true)
    for (const key of ['tokens', 'dpop']) expect(store.get(`${key} ${url}`)).toBeUndefined()
    expect(new Set(locks)).toEqual(new Set([`renew ${url}`]))
    expect(locks).toHaveLength(4)
  })
})
