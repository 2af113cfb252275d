import { MemoryTokenStore, oauth } from 'tenon/auth/client'
import { dpop } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { beginAuthorization, completeAuthorization } from '../../src/auth/client/redirect-flow.ts'
import { authErrorIn, followRedirect, protectedServer, tokenRequests, visits } from './protected-server.ts'

const redirectUrl = 'https://app.example/back'

/** Nobody may be asked again: what is in the store has to do. */
const nobody = {
  redirectUrl,
  authorize: () => {
    throw new Error('the user was asked')
  },
}

describe('beginAuthorization() and completeAuthorization()', () => {
  it('store a token that oauth({ store }) connects with', async () => {
    await using vault = await protectedServer({}, { requiredScopes: ['read'] })
    const store = new MemoryTokenStore()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl, store, scopes: ['read'] })
    const tokens = await completeAuthorization(await followRedirect(url), flow, { store })
    expect(tokens).toMatchObject({ issuer: vault.as.issuer, scopes: ['read'], accessToken: expect.any(String) })
    expect(tokens.expiresAt).toBeGreaterThan(Date.now())
    await using client = await connect(vault.url, { auth: oauth({ ...nobody, store }) })
    expect((await client.callTool('whoami')).text).toBe('alice read')
  })

  it('work in two processes, with text between them [AUTH-082]', async () => {
    await using vault = await protectedServer()
    const begun = await beginAuthorization(`${vault.url}?key=secret`, { redirectUrl })
    const back = await followRedirect(new URL(begun.url.href))
    const flow = JSON.parse(JSON.stringify(begun.flow))
    expect(flow).toBeTypeOf('string')
    expect(flow).not.toContain('key=secret')
    const store = new MemoryTokenStore()
    await completeAuthorization(back.searchParams, flow, { store })
    await using client = await connect(vault.url, { auth: oauth({ ...nobody, store }) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
  })

  it('store what a refresh needs', async () => {
    await using vault = await protectedServer({ refreshTokens: 'always' })
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    const store = new MemoryTokenStore()
    await completeAuthorization(await followRedirect(url), flow, { store })
    const key = `tokens ${vault.url}`
    store.set(key, JSON.stringify({ ...JSON.parse(store.get(key)!), expiresAt: 1, staleAt: 1 }))
    await using client = await connect(vault.url, { auth: oauth({ ...nobody, store }) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    expect(tokenRequests(vault.as, 'refresh_token')).toHaveLength(1)
  })

  it('register once and reuse the stored client', async () => {
    await using vault = await protectedServer()
    const store = new MemoryTokenStore()
    await beginAuthorization(vault.url, { redirectUrl, store })
    await beginAuthorization(vault.url, { redirectUrl, store })
    const registrations = vault.as.requests.filter(({ endpoint }) => endpoint === 'register')
    expect(registrations).toHaveLength(1)
  })

  it('use the given client with its secret [AUTH-055]', async () => {
    const client = { client_id: 'shop', client_secret: 'a secret', redirect_uris: [redirectUrl] }
    await using vault = await protectedServer({ clients: [client] as never, registration: false })
    const identity = { clientId: 'shop', clientSecret: 'a secret' }
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl, ...identity })
    expect(url.searchParams.get('client_id')).toBe('shop')
    expect((await completeAuthorization(await followRedirect(url), flow)).issuer).toBe(vault.as.issuer)
  })

  it('prefer the given client over the stored one [AUTH-055]', async () => {
    const client = { client_id: 'shop', client_secret: 'the new secret', redirect_uris: [redirectUrl] }
    await using vault = await protectedServer({ clients: [client] as never, registration: false })
    const store = new MemoryTokenStore()
    const options = { redirectUrl, store, clientId: 'shop' }
    await beginAuthorization(vault.url, { ...options, clientSecret: 'the old secret' })
    const { url, flow } = await beginAuthorization(vault.url, { ...options, clientSecret: 'the new secret' })
    expect((await completeAuthorization(await followRedirect(url), flow, { store })).issuer).toBe(vault.as.issuer)
  })

  it('register again when the registered secret has expired', async () => {
    await using vault = await protectedServer()
    const store = new MemoryTokenStore()
    const first = await beginAuthorization(vault.url, { redirectUrl, store })
    const key = `client ${vault.as.issuer}`
    store.set(key, JSON.stringify({ ...JSON.parse(store.get(key)!), client_secret_expires_at: 1 }))
    const second = await beginAuthorization(vault.url, { redirectUrl, store })
    expect(second.url.searchParams.get('client_id')).not.toBe(first.url.searchParams.get('client_id'))
  })

  it('send the client only to its own issuer [AUTH-062]', async () => {
    await using vault = await protectedServer()
    const identity = { clientId: 'shop', clientSecret: 'a secret', issuer: 'https://other.example' }
    await expect(beginAuthorization(vault.url, { redirectUrl, ...identity })).rejects.toMatchObject({ code: 'auth' })
  })

  it('request the scopes of the challenge [AUTH-073]', async () => {
    await using vault = await protectedServer({}, { requiredScopes: ['read'] })
    const refusal = await fetch(vault.url, { method: 'POST' })
    const challenge = refusal.headers.get('www-authenticate')!
    const { url } = await beginAuthorization(vault.url, { redirectUrl, challenge, scopes: ['more'] })
    expect(url.searchParams.get('scope')).toBe('read more')
    expect(url.searchParams.get('resource')).toBe(`${vault.url}`)
  })

  it('accept no flow of another version or shape, and show nothing of it', async () => {
    await using vault = await protectedServer()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    const back = await followRedirect(url)
    const known = JSON.parse(flow) as Record<string, unknown>
    const others = [
      { ...known, version: 2 },
      { ...known, flow: 'x' },
      { ...known, flow: { ...(known.flow as object), server: null } },
      { ...known, flow: { ...(known.flow as object), client: undefined } },
      [known],
    ]
    for (const other of [...others.map((each) => JSON.stringify(each)), 's3cret', '']) {
      const error = await completeAuthorization(back, other).catch((problem: Error) => problem)
      expect(error).toMatchObject({ code: 'invalid-argument', message: expect.not.stringContaining('s3cret') })
    }
    expect((await completeAuthorization(back, flow)).issuer).toBe(vault.as.issuer)
  })

  it('redeem no code with a wrong or missing state [AUTH-088]', async () => {
    await using vault = await protectedServer()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    const back = await followRedirect(url)
    const params = new URLSearchParams(back.searchParams)
    params.set('state', 'another')
    await expect(completeAuthorization(params, flow)).rejects.toMatchObject({ code: 'auth' })
    params.delete('state')
    await expect(completeAuthorization(params, flow)).rejects.toMatchObject({ code: 'auth' })
    expect(tokenRequests(vault.as, 'authorization_code')).toEqual([])
    expect((await completeAuthorization(back, flow)).accessToken).not.toBe('')
  })

  it.each([
    ['missing [AUTH-083]', { iss: null }],
    ['wrong [AUTH-084]', { iss: 'https://attacker.example' }],
  ])('redeem no code when iss is %s', async (_, redirect) => {
    await using vault = await protectedServer({ issParameter: true })
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    vault.as.faults.redirect = redirect
    await expect(completeAuthorization(await followRedirect(url), flow)).rejects.toMatchObject({ code: 'auth' })
    expect(tokenRequests(vault.as, 'authorization_code')).toEqual([])
  })

  it('show no error text of another issuer [AUTH-086]', async () => {
    await using vault = await protectedServer({ issParameter: true })
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    const state = url.searchParams.get('state')!
    const params = new URLSearchParams({ error: 'call_this_number', state, iss: 'https://attacker.example' })
    const error = await completeAuthorization(params, flow).catch((reason) => reason)
    const { message, trace } = authErrorIn(error)!
    expect(`${message} ${trace}`).not.toContain('call_this_number')
  })

  it('report why the user returned without permission', async () => {
    await using vault = await protectedServer()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl })
    vault.as.faults.authorizationError = 'access_denied'
    await expect(completeAuthorization(await followRedirect(url), flow)).rejects.toThrow(/access_denied/)
  })

  it('forget a client that the authorization server has forgotten', async () => {
    await using vault = await protectedServer()
    const store = new MemoryTokenStore()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl, store })
    vault.as.faults.next('token', { status: 401, body: { error: 'invalid_client' } })
    await expect(completeAuthorization(await followRedirect(url), flow, { store })).rejects.toThrow(
      /did not issue a token/,
    )
    const again = await beginAuthorization(vault.url, { redirectUrl, store })
    expect(again.url.searchParams.get('client_id')).not.toBe(url.searchParams.get('client_id'))
  })

  it('bind the token to a DPoP key kept in the store', async () => {
    await using vault = await protectedServer({ dpop: 'required', dpopNonce: true }, { dpop: dpop() })
    const store = new MemoryTokenStore()
    const { url, flow } = await beginAuthorization(vault.url, { redirectUrl, store, dpop: true })
    await completeAuthorization(await followRedirect(url), flow, { store })
    await using client = await connect(vault.url, { auth: oauth({ ...nobody, store }) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
  })

  it('refuse a plain http redirect to another machine', async () => {
    await using vault = await protectedServer()
    const plain = { redirectUrl: 'http://app.example/back' }
    await expect(beginAuthorization(vault.url, plain)).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(visits(vault.as)).toEqual([])
  })

  it('show no secret when a stored flow cannot be read', async () => {
    const error = await completeAuthorization(new URLSearchParams(), '{"codeVerifier":"hush"').catch((reason) => reason)
    expect(error).toMatchObject({ code: 'invalid-argument' })
    expect(`${error.message} ${error.cause}`).not.toContain('hush')
  })
})
