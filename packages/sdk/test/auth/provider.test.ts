import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { withProvider } from '../../src/auth/client/provider.ts'
import { authenticatingFetch } from '../../src/auth/client/provider-client.ts'
import type { ProviderDiscovery } from '../../src/auth/client/provider-port.ts'
import { authErrorIn, followRedirect, protectedServer, tokenRequests, visits } from './protected-server.ts'
import { Keeper } from './provider-support.ts'

async function comeBack(provider: Keeper): Promise<URLSearchParams> {
  return (await followRedirect(provider.pages.at(-1)!)).searchParams
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

async function letIn(url: URL | string, provider: Keeper) {
  const auth = withProvider(provider)
  await connect(url, { auth }).catch(() => {})
  await auth.finishAuth(await comeBack(provider))
  return auth
}

describe('withProvider()', () => {
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const) {
    it(`reports the redirect and connects once the user is back (${revision})`, async () => {
      await using vault = await protectedServer({}, { requiredScopes: ['read'] })
      const provider = new Keeper()
      const auth = withProvider(provider)
      const error = await connect(vault.url, { revision, auth }).catch((reason) => reason)
      expect(authErrorIn(error)?.message).toMatch(/user was sent to .* finishAuth/)
      expect(auth.waiting).toBe(true)
      expect(provider.pages).toHaveLength(1)
      await auth.finishAuth(await comeBack(provider))
      expect(auth.waiting).toBe(false)
      await using client = await connect(vault.url, { revision, auth })
      expect((await client.callTool('whoami')).text).toBe('alice read')
      expect(provider.held).toMatchObject({ issuer: vault.as.issuer, scope: 'read' })
      expect(provider.client).toMatchObject({ issuer: vault.as.issuer, client_id: expect.any(String) })
    })
  }

  it('registers with the scopes that it requests', async () => {
    await using vault = await protectedServer({}, { requiredScopes: ['read'] })
    const provider = new Keeper()
    await connect(vault.url, { auth: withProvider(provider) }).catch(() => {})
    const registration = vault.as.requests.find(({ endpoint }) => endpoint === 'register')
    expect(JSON.parse(registration!.body)).toMatchObject({ scope: 'read', client_name: 'Keeper' })
    expect(provider.pages[0]!.searchParams.get('scope')).toBe('read')
  })

  it('saves every member of a token response that the provider knows, and no others', async () => {
    await using vault = await protectedServer({ refreshTokens: 'always' }, { requiredScopes: ['read'] })
    const provider = new Keeper()
    let id_token = ''
    const auth = withProvider(provider, {
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        if (!String(url).endsWith('/token')) return response
        const claims = {
          iss: vault.as.issuer,
          aud: provider.client!.client_id,
          sub: 'alice',
          iat: 0,
          exp: 9_999_999_999,
        }
        id_token = `${encode({ alg: 'ES256' })}.${encode(claims)}.${'A'.repeat(86)}`
        return Response.json({ ...((await response.json()) as object), id_token, expires_in: 60, made_up: 'x' })
      },
    })
    await connect(vault.url, { auth }).catch(() => {})
    await auth.finishAuth(await comeBack(provider))
    expect(provider.held).toEqual({
      access_token: expect.any(String),
      token_type: expect.stringMatching(/^bearer$/i),
      id_token,
      expires_in: 60,
      scope: 'read',
      refresh_token: expect.any(String),
      issuer: vault.as.issuer,
    })
  })

  it('redirects the user once when no revision is requested', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await connect(vault.url, { auth: withProvider(provider) }).catch(() => {})
    expect(provider.pages).toHaveLength(1)
  })

  it('connects with tokens that the provider already has', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await letIn(vault.url, provider)
    await using client = await connect(vault.url, { auth: withProvider(provider) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    expect(provider.pages).toHaveLength(1)
  })

  it('continues when the provider returns from the redirect by itself', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    const auth = withProvider(provider)
    provider.redirectToAuthorization = async (page) => auth.finishAuth(await followRedirect(page))
    await using client = await connect(vault.url, { auth })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
  })

  it('refreshes a refused token once for many calls and keeps the client', async () => {
    await using vault = await protectedServer({ refreshTokens: 'always' })
    const provider = new Keeper()
    await letIn(vault.url, provider)
    const auth = withProvider(provider)
    await using client = await connect(vault.url, { revision: '2025-11-25', auth })
    provider.held = { ...provider.held!, access_token: 'expired' }
    await Promise.all(Array.from({ length: 20 }, () => client.callTool('whoami')))
    expect(tokenRequests(vault.as, 'refresh_token')).toHaveLength(1)
    expect(provider.pages).toHaveLength(1)
  })

  it('prompts the user again when the refresh token is no longer valid', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await letIn(vault.url, provider)
    provider.held = { ...provider.held!, access_token: 'expired', refresh_token: 'used up' }
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/was sent to/)
    expect(provider.invalidated).toEqual(['tokens'])
    expect(provider.pages).toHaveLength(2)
  })

  it('keeps tokens when the authorization server fails', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await letIn(vault.url, provider)
    provider.held = { ...provider.held!, access_token: 'expired' }
    vault.as.faults.next('token', 'server-error')
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/could not be refreshed/)
    expect(provider.invalidated).toEqual([])
    expect(provider.pages).toHaveLength(1)
  })

  it('sends a refresh token only to its own issuer [AUTH-042]', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await letIn(vault.url, provider)
    provider.held = { ...provider.held!, access_token: 'expired', issuer: 'https://other.example' }
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/was sent to/)
    expect(tokenRequests(vault.as, 'refresh_token')).toEqual([])
  })

  it('registers again where the stored client belongs to another issuer [AUTH-061]', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    provider.client = { client_id: 'elsewhere', client_secret: 'hush', issuer: 'https://other.example' }
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/was sent to/)
    expect(provider.pages[0]!.searchParams.get('client_id')).not.toBe('elsewhere')
    expect(provider.client).toMatchObject({ issuer: vault.as.issuer })
  })

  it('refuses a manually registered client of another issuer [AUTH-062]', async () => {
    await using vault = await protectedServer()
    const provider = Object.assign(new Keeper(), { saveClientInformation: undefined }) as unknown as Keeper
    provider.client = { client_id: 'elsewhere', issuer: 'https://other.example' }
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/belongs to/)
    expect(visits(vault.as)).toEqual([])
  })

  it('requests missing scopes in addition to the granted ones, once each [AUTH-080]', async () => {
    const provider = new Keeper()
    const auth = withProvider(provider)
    await using vault = await protectedServer({}, { requiredScopes: ['read'] })
    await connect(vault.url, { auth }).catch(() => {})
    await auth.finishAuth(await comeBack(provider))
    const session = auth(new URL(vault.url))
    const challenge = `Bearer error="insufficient_scope", scope="write"`
    const request = { method: 'POST', url: new URL(vault.url), revision: '2026-07-28' }
    const refusal = async () => ({
      ...request,
      status: 403,
      header: (name: string) => (name === 'www-authenticate' ? challenge : undefined),
      sent: await session.headers(request),
      count: 1,
    })
    await expect(session.onUnauthorized(await refusal())).rejects.toMatchObject({ code: 'auth' })
    expect(provider.pages.at(-1)!.searchParams.get('scope')?.split(' ').sort()).toEqual(['read', 'write'])
    await auth.finishAuth(await comeBack(provider))
    expect(provider.held?.scope?.split(' ').sort()).toEqual(['read', 'write'])
    expect(await session.onUnauthorized(await refusal())).toBe(false)
  })

  it('serves one server only [AUTH-014]', async () => {
    await using vault = await protectedServer()
    await using other = await protectedServer()
    const auth = await letIn(vault.url, new Keeper())
    await expect((async () => connect(other.url, { auth }))()).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})

describe('finishAuth()', () => {
  it.each([
    ['another state [AUTH-088]', { state: 'another' }],
    ['no state [AUTH-088]', { state: null }],
    ['another issuer [AUTH-084]', { iss: 'https://attacker.example' }],
    ['no issuer where one is promised [AUTH-083]', { iss: null }],
  ])('redeems no code that comes with %s', async (_, redirect) => {
    await using vault = await protectedServer({ issParameter: true })
    const provider = new Keeper()
    const auth = withProvider(provider)
    await connect(vault.url, { auth }).catch(() => {})
    vault.as.faults.redirect = redirect
    await expect(auth.finishAuth(await comeBack(provider))).rejects.toMatchObject({ code: 'auth' })
    expect(tokenRequests(vault.as, 'authorization_code')).toEqual([])
  })

  it('compares the state with the provider’s, where it has one', async () => {
    await using vault = await protectedServer()
    const provider = Object.assign(new Keeper(), { state: () => 'of the provider' })
    const auth = withProvider(provider)
    await connect(vault.url, { auth }).catch(() => {})
    const params = await comeBack(provider)
    expect(params.get('state')).toBe('of the provider')
    await auth.finishAuth(params)
    expect(provider.held).toBeDefined()
  })

  it('accepts a bare code, with the issuer where the authorization server sends it [AUTH-083]', async () => {
    await using vault = await protectedServer({ issParameter: true })
    const provider = new Keeper()
    const auth = withProvider(provider)
    await connect(vault.url, { auth }).catch(() => {})
    const params = await comeBack(provider)
    await expect(auth.finishAuth(params.get('code')!)).rejects.toMatchObject({ code: 'auth' })
    await auth.finishAuth(params.get('code')!, params.get('iss')!)
    expect(provider.held).toBeDefined()
  })

  it('works in another process with the recorded issuer [AUTH-082]', async () => {
    await using vault = await protectedServer()
    let noted: ProviderDiscovery | undefined
    const provider = Object.assign(new Keeper(), {
      saveDiscoveryState: (state: ProviderDiscovery) => {
        noted = JSON.parse(JSON.stringify(state))
      },
      // Applications read it from a session or a database.
      discoveryState: async () => noted,
    })
    await connect(vault.url, { auth: withProvider(provider) }).catch(() => {})
    expect(noted?.authorizationServerUrl).toBe(vault.as.issuer)
    const elsewhere = withProvider(provider, { serverUrl: vault.url })
    const params = await comeBack(provider)
    const forged = new URLSearchParams(params)
    forged.set('iss', 'https://attacker.example')
    await expect(elsewhere.finishAuth(forged)).rejects.toMatchObject({ code: 'auth' })
    const before = vault.as.requests.length
    await elsewhere.finishAuth(params)
    expect(vault.as.requests.slice(before).map(({ endpoint }) => endpoint)).toEqual(['token'])
    await using client = await connect(vault.url, { auth: elsewhere })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
  })

  it('discovers again where the provider records nothing', async () => {
    await using vault = await protectedServer()
    const provider = new Keeper()
    await connect(vault.url, { auth: withProvider(provider) }).catch(() => {})
    await withProvider(provider, { serverUrl: vault.url }).finishAuth(await comeBack(provider))
    expect(provider.held).toBeDefined()
  })

  it('reports when it cannot know the server', async () => {
    await expect(withProvider(new Keeper()).finishAuth('code')).rejects.toMatchObject({ code: 'invalid-argument' })
  })
})

describe('providers without a user', () => {
  const machine = { client_id: 'machine', client_secret: 'a secret', grant_types: ['client_credentials'] }

  it('gets a token by the provider’s own grant', async () => {
    await using vault = await protectedServer({ clients: [machine] as never }, { requiredScopes: ['read'] })
    const provider = Object.assign(new Keeper(), {
      redirectUrl: undefined,
      prepareTokenRequest: (scope?: string) =>
        new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }),
    })
    provider.client = { client_id: 'machine', client_secret: 'a secret' }
    await using client = await connect(vault.url, { auth: withProvider(provider) })
    expect((await client.callTool('whoami')).text).toMatch(/ read$/)
    expect(provider.pages).toEqual([])
  })

  it('sends a client secret only to its own issuer [AUTH-062]', async () => {
    await using vault = await protectedServer({ clients: [machine] as never })
    const provider = Object.assign(new Keeper(), { redirectUrl: undefined })
    provider.client = { client_id: 'machine', client_secret: 'a secret', issuer: 'https://other.example' }
    await expect(connect(vault.url, { auth: withProvider(provider) })).rejects.toThrow(/belongs to/)
    expect(tokenRequests(vault.as, 'client_credentials')).toEqual([])
  })

  it('authenticates at the token endpoint only', async () => {
    const sent: [string, unknown][] = []
    const send = async (url: string, init: { headers?: object }) => {
      sent.push([url, init.headers])
      return new Response()
    }
    const addClientAuthentication = (headers: Headers) => headers.set('authorization', 'Basic secret')
    const provider = Object.assign(new Keeper(), { addClientAuthentication })
    const server = { issuer: 'https://as.example', token_endpoint: 'https://as.example/token' }
    const authenticating = authenticatingFetch(send as never, provider, server)
    for (const path of ['token', 'revoke', 'token/other']) {
      await authenticating(`https://as.example/${path}`, { headers: {}, body: '' } as never)
    }
    expect(sent).toEqual([
      ['https://as.example/token', expect.objectContaining({ authorization: 'Basic secret' })],
      ['https://as.example/revoke', {}],
      ['https://as.example/token/other', {}],
    ])
  })

  it('authenticates with the provider’s own method', async () => {
    await using vault = await protectedServer({ clients: [machine] as never })
    const seen: string[] = []
    const provider = Object.assign(new Keeper(), {
      redirectUrl: undefined,
      addClientAuthentication(headers: Headers, params: URLSearchParams) {
        seen.push(`${headers.has('authorization')} ${params.has('client_id')}`)
        headers.set('authorization', `Basic ${btoa('machine:a+secret')}`)
      },
    })
    provider.client = { client_id: 'machine', client_secret: 'not the secret' }
    await using client = await connect(vault.url, { auth: withProvider(provider) })
    expect((await client.callTool('whoami')).isError).toBeFalsy()
    expect(seen).toEqual(['false false'])
  })
})
