import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AuthError, bearer, clientCredentials, fileTokenStore, MemoryTokenStore, oauth } from 'tenon/auth/client'
import { dpop } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { movableDate, movableTimers } from '../kit/time.ts'
import { followRedirect, protectedServer, tokenRequests } from './protected-server.ts'

const redirectUrl = 'http://127.0.0.1:7/callback'

const browserless = { redirectUrl, authorize: followRedirect }

describe('oauth()', () => {
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const) {
    it(`registers, prompts the user and connects (${revision}) [SDK-015]`, async () => {
      await using vault = await protectedServer({}, { requiredScopes: ['read'] })
      await using client = await connect(vault.url, { revision, auth: oauth(browserless) })
      expect((await client.callTool('whoami')).text).toMatch(/ read/)
      const [authorization] = vault.as.requests.filter(({ endpoint }) => endpoint === 'authorize')
      expect(authorization!.params).toMatchObject({
        code_challenge_method: 'S256',
        scope: 'read',
        resource: `${vault.url}`,
      })
    })
  }

  for (const revision of ['2025-11-25', '2026-07-28', undefined] as const) {
    it(`suspends connectTimeoutMs while the user logs in (${revision ?? 'any'})`, async () => {
      await using vault = await protectedServer()
      using time = movableTimers()
      const authorize = async (page: URL) => {
        await time.advance(60_000)
        return followRedirect(page)
      }
      const options = { connectTimeoutMs: 30_000, probeTimeoutMs: 20_000, auth: oauth({ redirectUrl, authorize }) }
      await using client = await connect(vault.url, { ...options, revision })
      expect((await client.callTool('whoami')).text).toMatch(/alice/)
    })
  }

  it('suggests oauth() when auth is missing, and names the missing scopes of a fixed token', async () => {
    await using vault = await protectedServer({}, { requiredScopes: ['read'] })
    await expect(connect(vault.url)).rejects.toThrow(/HTTP 401: authentication required\. Pass `auth`/)
    const token = await vault.as.issueToken({ resource: `${vault.url}`, scope: 'other' })
    await expect(connect(vault.url, { auth: bearer(token) })).rejects.toThrow(/needs the scope "read"/)
  })

  it('prompts once, however many calls are refused at the same time', async () => {
    const date = movableDate()
    await using vault = await protectedServer({ accessTokenSeconds: 1, refreshTokens: 'never' })
    await using client = await connect(vault.url, { revision: '2025-11-25', auth: oauth(browserless) })
    // Longer than the token lives and clocks may be apart, so that the server refuses it.
    date.advance(6_500)
    await Promise.all(Array.from({ length: 20 }, () => client.callTool('whoami')))
    expect(tokenRequests(vault.as, 'authorization_code').length).toBe(2)
  })

  it('refreshes once for fifty calls with an expired token', async () => {
    const date = movableDate()
    await using vault = await protectedServer({
      accessTokenSeconds: 1,
      rotateRefreshTokens: true,
      refreshTokens: 'always',
    })
    const store = new MemoryTokenStore()
    await using client = await connect(vault.url, { revision: '2025-11-25', auth: oauth({ ...browserless, store }) })
    date.advance(2_100)
    const before = tokenRequests(vault.as, 'refresh_token').length
    const results = await Promise.all(Array.from({ length: 50 }, () => client.callTool('whoami')))
    expect(results.every(({ isError }) => !isError)).toBe(true)
    expect(tokenRequests(vault.as, 'refresh_token').length - before).toBe(1)
    expect(tokenRequests(vault.as, 'authorization_code').length).toBe(1)
  })

  it('keeps its token when the authorization server fails temporarily', async () => {
    const date = movableDate()
    await using vault = await protectedServer({ accessTokenSeconds: 1, refreshTokens: 'always' })
    const store = new MemoryTokenStore()
    await using client = await connect(vault.url, { revision: '2025-11-25', auth: oauth({ ...browserless, store }) })
    date.advance(1_500)
    vault.as.faults.next('token', 'server-error')
    await expect(client.callTool('whoami')).rejects.toThrow(/could not be refreshed/)
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    expect(tokenRequests(vault.as, 'authorization_code').length).toBe(1)
  })

  it('does not use metadata of another issuer, and says what it tried', async () => {
    await using vault = await protectedServer()
    vault.as.faults.always('metadata', { patch: { issuer: 'https://attacker.example' } })
    const error = await connect(vault.url, { auth: oauth(browserless) }).catch((reason) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(error.message).toContain('attacker.example')
    expect(String(error.trace)).toContain('resource metadata')
    expect(vault.as.requests.filter(({ endpoint }) => endpoint === 'authorize')).toEqual([])
  })

  it.each([
    ['missing', { iss: null }],
    ['wrong', { iss: 'https://attacker.example' }],
  ])('redeems no code when iss is %s', async (_, redirect) => {
    await using vault = await protectedServer({ issParameter: true })
    vault.as.faults.redirect = redirect
    await expect(connect(vault.url, { auth: oauth(browserless) })).rejects.toThrow(/came back without authorization/)
    expect(tokenRequests(vault.as, 'authorization_code').length).toBe(0)
  })

  it('redeems no code with a wrong state', async () => {
    await using vault = await protectedServer()
    const authorize = async (page: URL) => {
      const back = await followRedirect(page)
      back.searchParams.set('state', 'another')
      return back
    }
    await expect(connect(vault.url, { auth: oauth({ redirectUrl, authorize }) })).rejects.toThrow(
      /without authorization/,
    )
    expect(tokenRequests(vault.as, 'authorization_code').length).toBe(0)
  })

  it('uses DPoP where the server requires it', async () => {
    await using vault = await protectedServer(
      { dpop: 'required', dpopNonce: true },
      { dpop: dpop({ nonce: true } as object) },
    )
    await using client = await connect(vault.url, { auth: oauth({ ...browserless, dpop: true }) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
  })
})

describe('client credentials', () => {
  it('gets a token with a client secret, and a new one when it expires', async () => {
    const date = movableDate()
    await using vault = await protectedServer({
      accessTokenSeconds: 1,
      clients: [{ client_id: 'machine', client_secret: 'a secret', grant_types: ['client_credentials'] }] as never,
    })
    const auth = clientCredentials({ clientId: 'machine', clientSecret: 'a secret' })
    await using client = await connect(vault.url, { auth })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    date.advance(1_500)
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    expect(tokenRequests(vault.as, 'client_credentials').length).toBeGreaterThan(1)
  })

  it('accepts a fixed bearer token', async () => {
    await using vault = await protectedServer()
    const token = await vault.as.issueToken({
      sub: 'me',
      scope: 'read',
      resource: `${vault.url}`,
      clientId: 'c',
    } as never)
    await using client = await connect(vault.url, { auth: bearer(token as unknown as string) })
    expect((await client.callTool('whoami')).text).toBe('me read')
  })
})

describe('processes that share a token file', () => {
  it('refreshes once across processes when refresh tokens rotate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokens-'))
    const path = join(folder, 'tokens.json')
    try {
      await using vault = await protectedServer({
        accessTokenSeconds: 600,
        rotateRefreshTokens: true,
        refreshTokens: 'always',
      })
      const store = fileTokenStore(path)
      const first = await connect(vault.url, { revision: '2025-11-25', auth: oauth({ ...browserless, store }) })
      await first.close()
      const key = `tokens ${vault.url}`
      const tokens = JSON.parse((await store.get(key))!)
      await store.set(key, JSON.stringify({ ...tokens, expiresAt: 1, staleAt: 1 }))
      const fixture = new URL('./fixtures/caller.js', import.meta.url).pathname
      const run = () => promisify(execFile)(process.execPath, [fixture, `${vault.url}`, path], { timeout: 15_000 })
      const outputs = await Promise.all(Array.from({ length: 5 }, run))
      for (const { stdout } of outputs) expect(stdout).toMatch(/^ok/)
      expect(tokenRequests(vault.as, 'authorization_code').length).toBe(1)
      expect(tokenRequests(vault.as, 'refresh_token').length).toBe(1)
      expect(vault.as.requests.filter(({ endpoint, status }) => endpoint === 'token' && status !== 200)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
