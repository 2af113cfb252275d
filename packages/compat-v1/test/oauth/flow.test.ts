import { auth, extractWWWAuthenticateParams } from '@tenon/compat-v1/client/auth.js'
import { ClientCredentialsProvider, PrivateKeyJwtProvider } from '@tenon/compat-v1/client/auth-extensions.js'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryProvider, startProtectedServer } from './support.ts'

afterEach(() => vi.restoreAllMocks())

/** Sends an initialize request with the token of the provider. */
function callServer(url: string | URL, token?: string): Promise<Response> {
  const clientInfo = { name: 'program', version: '1.0.0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
}

describe('auth', () => {
  it('leads from the challenge of a server to a token that it accepts', async () => {
    await using vault = await startProtectedServer()
    const provider = new MemoryProvider()
    const refused = await callServer(vault.url)
    expect(refused.status).toBe(401)
    const challenge = extractWWWAuthenticateParams(refused)
    await refused.body?.cancel()

    expect(await auth(provider, { serverUrl: vault.url, ...challenge })).toBe('REDIRECT')
    expect(provider.pages[0]!.searchParams.get('state')).toBe('the state')
    const authorizationCode = await provider.logIn()
    expect(await auth(provider, { serverUrl: vault.url, authorizationCode })).toBe('AUTHORIZED')

    const accepted = await callServer(vault.url, provider.stored!.access_token)
    expect(accepted.status).toBe(200)
    await accepted.body?.cancel()
  })

  it('refreshes tokens without the user, and keeps what it discovered', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    const before = provider.stored!
    vault.as.requests.length = 0
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    expect(provider.stored!.access_token).not.toBe(before.access_token)
    expect(vault.as.requests.map(({ endpoint }) => endpoint)).toEqual(['token'])
  })

  it('registers again when the authorization server has forgotten the client', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    const { client_id } = provider.client!
    vault.as.removeClient(client_id)
    expect(await auth(provider, { serverUrl: vault.url })).toBe('REDIRECT')
    expect(provider.invalidated).toEqual(['all'])
    expect(provider.client!.client_id).not.toBe(client_id)
  })

  it('sends the user to log in again when the refresh token was revoked', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    provider.stored = { ...provider.stored!, refresh_token: 'revoked' }
    expect(await auth(provider, { serverUrl: vault.url })).toBe('REDIRECT')
    expect(provider.invalidated).toEqual(['tokens'])
  })

  it('passes on the error of a provider that cannot store refreshed tokens', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    vi.spyOn(provider, 'saveTokens').mockRejectedValue(new Error('disk full'))
    await expect(auth(provider, { serverUrl: vault.url })).rejects.toThrow('disk full')
  })
})

describe('credentials that belong to another authorization server', () => {
  it('are not presented when the server changes its authorization server', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    const { client_id } = provider.client!
    await using other = await startProtectedServer()
    provider.discovered = undefined
    expect(await auth(provider, { serverUrl: other.url })).toBe('REDIRECT')
    expect(provider.client!.client_id).not.toBe(client_id)
    expect(other.as.requests.some(({ endpoint }) => endpoint === 'token')).toBe(false)
  })

  it('cause an error when they were configured with expectedIssuer', async () => {
    await using vault = await startProtectedServer()
    const expectedIssuer = 'https://auth.example.com'
    const provider = new ClientCredentialsProvider({ clientId: 'job', clientSecret: 'secret', expectedIssuer })
    await expect(auth(provider, { serverUrl: vault.url })).rejects.toThrow(
      `bound to authorization server ${expectedIssuer}`,
    )
    expect(vault.as.requests.some(({ endpoint }) => endpoint === 'token')).toBe(false)
  })

  it('are bound on first use when an older version stored them', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    provider.client = { ...provider.client!, issuer: undefined }
    provider.stored = { ...provider.stored!, issuer: undefined }
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    expect(warn).toHaveBeenCalledOnce()
    expect([provider.client.issuer, provider.stored.issuer]).toEqual([vault.as.issuer, vault.as.issuer])
  })
})

describe('grants without a user', () => {
  it('get a token with a client secret', async () => {
    const client = { client_id: 'job', client_secret: 'a secret of a few words' }
    await using vault = await startProtectedServer({ clients: [client] })
    const provider = new ClientCredentialsProvider({
      clientId: client.client_id,
      clientSecret: client.client_secret,
      expectedIssuer: vault.as.issuer,
    })
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    const accepted = await callServer(vault.url, provider.tokens()!.access_token)
    expect(accepted.status).toBe(200)
    await accepted.body?.cancel()
  })

  it('get a token with a private key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    await using vault = await startProtectedServer()
    vault.as.registerClient({
      client_id: 'job',
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      jwks: { keys: [await exportJWK(publicKey)] },
    })
    const provider = new PrivateKeyJwtProvider({
      clientId: 'job',
      privateKey: await exportPKCS8(privateKey),
      algorithm: 'ES256',
      expectedIssuer: vault.as.issuer,
    })
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    expect(provider.tokens()).toMatchObject({ issuer: vault.as.issuer })
  })

  it('warn if the authorization server of the credentials is not named', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    new ClientCredentialsProvider({ clientId: 'job', clientSecret: 'secret' })
    expect(warn.mock.calls[0]![0]).toContain('expectedIssuer')
  })
})

async function loggedIn(serverUrl: string | URL): Promise<MemoryProvider> {
  const provider = new MemoryProvider()
  await auth(provider, { serverUrl })
  await auth(provider, { serverUrl, authorizationCode: await provider.logIn() })
  return provider
}
