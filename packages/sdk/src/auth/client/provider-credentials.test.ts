import { describe, expect, it } from 'vitest'
import { AuthError } from '../../errors.ts'
import { AuthContext, type AuthFetch, Trace } from './context.ts'
import type { Discovery } from './metadata.ts'
import { ProviderCredentials } from './provider-credentials.ts'
import type { OAuthClientProvider, ProviderTokens } from './provider-port.ts'

const serverUrl = new URL('https://mcp.example/mcp')
const redirectUrl = 'https://app.example/back'
const server = {
  issuer: 'https://as.example',
  authorization_endpoint: 'https://as.example/authorize',
  token_endpoint: 'https://as.example/token',
  code_challenge_methods_supported: ['S256'],
}
const discovery: Discovery = { server, resource: serverUrl.href, scopesSupported: [] }
const { issuer } = server
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A provider whose every method takes a while, as with a database, and notes when it is done. */
function start(more: Partial<OAuthClientProvider> = {}, fetch: AuthFetch = () => Promise.reject(new Error('offline'))) {
  const log: unknown[][] = []
  const state: { tokens?: ProviderTokens; verifier: string } = { verifier: '' }
  const note =
    (name: string) =>
    async (...given: unknown[]) => {
      await turn()
      log.push([name, ...given])
    }
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl] },
    clientInformation: async () => ({ client_id: 'c', client_secret: 's' }),
    tokens: async () => state.tokens,
    saveTokens: note('saveTokens'),
    redirectToAuthorization: note('redirect'),
    saveCodeVerifier: async (verifier) => {
      await turn()
      state.verifier = verifier
      log.push(['saveCodeVerifier'])
    },
    codeVerifier: async () => state.verifier,
    saveDiscoveryState: note('saveDiscoveryState'),
    saveAuthorizationServerUrl: note('saveAuthorizationServerUrl'),
    saveResourceUrl: note('saveResourceUrl'),
    invalidateCredentials: note('invalidateCredentials'),
    ...more,
  }
  const context = new AuthContext(serverUrl, new Trace(), fetch)
  return { provider, credentials: new ProviderCredentials(serverUrl, provider), context, log, state }
}

const challengeFor = (scope: string) => ({ scheme: 'bearer', params: { scope } }) as never

/** A token endpoint, with the requests that it got. */
function tokenEndpoint(answer: object = {}, status = 200) {
  const requests: { headers: Headers; params: Record<string, string> }[] = []
  const fetch: AuthFetch = async (url, { headers, body }) => {
    expect(url).toBe(server.token_endpoint)
    requests.push({ headers: new Headers(headers), params: Object.fromEntries(new URLSearchParams(String(body))) })
    return Response.json({ access_token: 't', token_type: 'Bearer', ...answer }, { status })
  }
  return { requests, fetch }
}

describe('the tokens of a provider', () => {
  it('are read without an issuer first, and for the discovered issuer then [AUTH-042]', async () => {
    const asked: unknown[] = []
    const { credentials } = start({
      tokens: async (context) => {
        asked.push(context)
        return { access_token: 't', token_type: 'Bearer', scope: 'a b', refresh_token: 'r' }
      },
    })
    const expected = { clientId: '', accessToken: 't', tokenType: 'bearer', refreshToken: 'r', scopes: ['a', 'b'] }
    expect(await credentials.tokens()).toEqual({ ...expected, issuer: '', resource: undefined })
    await credentials.onDiscovery(discovery)
    expect(await credentials.tokens()).toEqual({ ...expected, issuer, resource: undefined })
    expect(await credentials.reload(discovery)).toEqual({ ...expected, issuer, resource: serverUrl.href })
    expect(asked).toEqual([undefined, { issuer }, { issuer }])
  })

  it('are not used if there are none, or if they are of another issuer [AUTH-042]', async () => {
    const { credentials, state } = start()
    expect([await credentials.tokens(), await credentials.reload(discovery)]).toEqual([undefined, undefined])
    state.tokens = { access_token: 't', token_type: 'Bearer', issuer: 'https://other.example' }
    expect(await credentials.reload(discovery)).toBeUndefined()
    state.tokens = { ...state.tokens, issuer }
    expect(await credentials.reload(discovery)).toMatchObject({ issuer, accessToken: 't' })
  })

  it('that cannot be read are a failure of the provider, without its details', async () => {
    const failure = Object.assign(new Error('no database'), { token: 'secret' })
    const { credentials } = start({ tokens: () => Promise.reject(failure) })
    const error = await credentials.tokens().catch((reason) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(error.message).toBe('The provider failed: no database')
    expect(error.cause).not.toHaveProperty('token')
  })

  it('are saved for their issuer, with the requested scopes and the previous refresh token if there is no news', async () => {
    const { credentials, log } = start()
    const grant = { server, clientId: 'c', resource: 'https://r', scopes: ['a', 'b'], refreshToken: 'old' }
    const response = { access_token: 't', token_type: 'bearer' as const }
    expect(await credentials.save(response, grant)).toEqual({
      issuer,
      clientId: '',
      resource: 'https://r',
      accessToken: 't',
      tokenType: 'bearer',
      refreshToken: 'old',
      scopes: ['a', 'b'],
    })
    const full = { ...response, scope: 'a', refresh_token: 'new', expires_in: 5, id_token: 'i' }
    await credentials.save(full, grant)
    const { refreshToken: _, ...bare } = { ...grant, scopes: [] }
    await credentials.save(response, bare)
    expect(log).toEqual([
      ['saveTokens', { ...response, scope: 'a b', refresh_token: 'old', issuer }, { issuer }],
      ['saveTokens', { ...full, issuer }, { issuer }],
      ['saveTokens', { ...response, issuer }, { issuer }],
    ])
  })

  it('are deleted alone, or with the client', async () => {
    const { credentials, log } = start()
    await credentials.forget('tokens')
    await credentials.forget('client')
    expect(log).toEqual([
      ['invalidateCredentials', 'tokens'],
      ['invalidateCredentials', 'all'],
    ])
  })
})

describe('discovery with a provider', () => {
  it('saves the issuer and the resource', async () => {
    const { credentials, log } = start()
    expect(await credentials.onDiscovery(discovery)).toEqual(discovery)
    expect(log).toEqual([
      ['saveAuthorizationServerUrl', issuer],
      ['saveResourceUrl', serverUrl.href],
    ])
  })

  it('lets the provider choose the resource, or none', async () => {
    const seen: unknown[] = []
    const chosen = start({
      validateResourceURL: async (...given) => {
        seen.push(given)
        return new URL('https://chosen.example/')
      },
    })
    expect((await chosen.credentials.onDiscovery(discovery)).resource).toBe('https://chosen.example/')
    expect(seen).toEqual([[serverUrl, serverUrl.href]])
    const none = start({ validateResourceURL: async () => undefined })
    expect((await none.credentials.onDiscovery(discovery)).resource).toBeUndefined()
    expect(none.log).toEqual([['saveAuthorizationServerUrl', issuer]])
  })
})

describe('a user of a provider', () => {
  const request = (context: AuthContext, more: object = {}) => ({
    context,
    discovery,
    challenge: undefined,
    held: undefined,
    isStepUp: false,
    ...more,
  })

  it('leaves after everything that the return needs was saved [AUTH-082]', async () => {
    const { credentials, context, log, state } = start({ state: async () => 'own state' })
    expect([credentials.isUnattended, credentials.isPending]).toEqual([false, false])
    await expect(credentials.obtain(request(context))).rejects.toThrow(
      'The user was sent to https://as.example/authorize to log in. Call finishAuth with what they come back with, then connect again',
    )
    expect(credentials.isPending).toBe(true)
    expect(log.map(([name]) => name)).toEqual(['saveCodeVerifier', 'saveDiscoveryState', 'redirect'])
    expect(log[1]![1]).toEqual({
      authorizationServerUrl: issuer,
      authorizationServerMetadata: server,
      resourceMetadata: { resource: serverUrl.href },
    })
    const page = log[2]![1] as URL
    expect(Object.fromEntries(page.searchParams)).toMatchObject({
      state: 'own state',
      client_id: 'c',
      redirect_uri: redirectUrl,
      resource: serverUrl.href,
    })
    expect(state.verifier).toMatch(/^[\w-]{43}$/)
    expect(page.searchParams.has('scope')).toBe(false)
  })

  it('without a resource leaves without one', async () => {
    const { credentials, context, log } = start()
    await credentials.obtain(request(context, { discovery: { ...discovery, resource: undefined } })).catch(() => {})
    expect(log[1]![1]).not.toHaveProperty('resourceMetadata')
  })

  it.each([
    ['none if nothing is named', {}, {}, null],
    ['those of the client metadata if the server names none', { own: 'a b' }, {}, 'a b'],
    ['those of the challenge', { own: 'a' }, { challenge: challengeFor('x y') }, 'x y'],
    ['those of the resource', { own: 'a' }, { discovery: { ...discovery, scopesSupported: ['r'] } }, 'r'],
    [
      'those that it has and those that are missing',
      {},
      { challenge: challengeFor('x'), held: { scopes: ['h'] }, isStepUp: true },
      'x h',
    ],
    ['not those that it has, if none are missing', {}, { challenge: challengeFor('x'), held: { scopes: ['h'] } }, 'x'],
    [
      'a refresh token if the server offers it',
      {},
      {
        challenge: challengeFor('x'),
        discovery: { ...discovery, server: { ...server, scopes_supported: ['offline_access'] } },
      },
      'x offline_access',
    ],
    [
      'no refresh token if the client cannot use it',
      { grants: ['authorization_code'] },
      {
        challenge: challengeFor('x'),
        discovery: { ...discovery, server: { ...server, scopes_supported: ['offline_access'] } },
      },
      'x',
    ],
  ])(
    'is asked for scopes: %s [AUTH-073, AUTH-074, AUTH-080]',
    async (_, { own, grants }: { own?: string; grants?: string[] }, more, scope) => {
      const clientMetadata = { redirect_uris: [redirectUrl], scope: own, grant_types: grants }
      const { credentials, context, log } = start({ clientMetadata })
      await credentials.obtain(request(context, more)).catch(() => {})
      expect((log.at(-1)![1] as URL).searchParams.get('scope')).toBe(scope)
    },
  )

  it('comes back with a code, which is exchanged for tokens that are saved as the server spelled them', async () => {
    const { requests, fetch } = tokenEndpoint({ token_type: 'BeAReR', refresh_token: 'r' })
    const { credentials, context, log, state } = start({}, fetch)
    const more = { challenge: challengeFor('w'), isStepUp: true }
    await credentials.obtain(request(context, more)).catch(() => {})
    const page = log.at(-1)![1] as URL
    const back = new URL(`${redirectUrl}?code=k&state=${page.searchParams.get('state')}`)
    expect(await credentials.finish(context, back, undefined)).toEqual({ accessToken: 't', missing: 'w' })
    expect(credentials.isPending).toBe(false)
    expect(requests).toHaveLength(1)
    expect(requests[0]!.params).toMatchObject({
      code: 'k',
      code_verifier: state.verifier,
      resource: serverUrl.href,
      redirect_uri: redirectUrl,
    })
    expect(requests[0]!.headers.get('authorization')).toBe(`Basic ${btoa('c:s')}`)
    expect(log.at(-1)![1]).toEqual({
      access_token: 't',
      token_type: 'BeAReR',
      scope: 'w',
      refresh_token: 'r',
      issuer,
    })
  })

  it('who comes back with another state or issuer gets no tokens [AUTH-084, AUTH-088]', async () => {
    const { requests, fetch } = tokenEndpoint()
    const { credentials, context, log } = start({}, fetch)
    await credentials.obtain(request(context)).catch(() => {})
    const state = (log.at(-1)![1] as URL).searchParams.get('state')!
    const answers: [URLSearchParams | string, string | undefined][] = [
      [new URLSearchParams({ code: 'k', state: 'other' }), undefined],
      [new URLSearchParams({ code: 'k', state, iss: 'https://evil.example' }), undefined],
      ['k', 'https://evil.example'],
    ]
    for (const [answer, iss] of answers) {
      await expect(credentials.finish(context, answer, iss)).rejects.toThrow('came back without authorization')
    }
    expect(requests).toEqual([])
    expect(await credentials.finish(context, 'k', issuer)).toEqual({ accessToken: 't', missing: undefined })
  })

  it('comes back to another process, which knows the server from the provider [AUTH-082]', async () => {
    const { requests, fetch } = tokenEndpoint()
    const known = {
      authorizationServerUrl: issuer,
      authorizationServerMetadata: server,
      resourceMetadata: { resource: 'https://r' },
    }
    const clientMetadata = { redirect_uris: [redirectUrl], scope: 'a' }
    const { credentials, context, log, state } = start({ clientMetadata, discoveryState: async () => known }, fetch)
    state.verifier = 'v'.repeat(43)
    await credentials.finish(context, new URLSearchParams({ code: 'k', state: 'x' }), undefined)
    await credentials.finish(context, new URLSearchParams({ code: 'k' }), undefined)
    expect(requests.map(({ params }) => params.resource)).toEqual(['https://r', 'https://r'])
    expect(log.at(-1)).toEqual(['saveTokens', expect.objectContaining({ scope: 'a', issuer }), { issuer }])
  })

  it.each([
    ['client', { clientInformation: async () => undefined }],
    ['redirectUrl', { redirectUrl: undefined }],
  ])('is not expected in a process whose provider has no %s', async (_, more) => {
    const known = { authorizationServerUrl: issuer, authorizationServerMetadata: server }
    const { credentials, context } = start({ discoveryState: async () => known, ...more })
    await expect(credentials.finish(context, 'k', undefined)).rejects.toThrow(
      'No login is pending: the provider has no client, or no redirectUrl',
    )
  })

  it('is not expected where the stored state names no server, and nothing can be discovered', async () => {
    for (const metadata of [undefined, {}, { issuer: 7 }]) {
      const known = { authorizationServerUrl: issuer, ...(metadata && { authorizationServerMetadata: metadata }) }
      const { credentials, context } = start({ discoveryState: async () => known })
      await expect(credentials.finish(context, 'k', undefined)).rejects.toThrow('could not be fetched')
    }
  })
})

describe('a provider without a user', () => {
  const request = (context: AuthContext, more: object = {}) => ({
    context,
    discovery,
    challenge: challengeFor('a b'),
    held: undefined,
    isStepUp: false,
    ...more,
  })

  it('gets a token with client credentials by default [AUTH-104]', async () => {
    const { requests, fetch } = tokenEndpoint({ scope: 'a' })
    const { credentials, context, log } = start({ redirectUrl: undefined }, fetch)
    expect(credentials.isUnattended).toBe(true)
    expect(await credentials.obtain(request(context))).toMatchObject({ accessToken: 't', issuer, scopes: ['a'] })
    expect(requests.map(({ params }) => params)).toEqual([
      { grant_type: 'client_credentials', scope: 'a b', resource: serverUrl.href },
    ])
    expect(log.map(([name]) => name)).toEqual(['saveTokens'])
    expect(String(context.trace)).toContain('+ token: from https://as.example/token')
  })

  it('requests neither a scope nor a resource where there is none', async () => {
    const { requests, fetch } = tokenEndpoint()
    const asked: unknown[] = []
    const prepareTokenRequest = async (scope?: string) => {
      asked.push(scope)
      return undefined
    }
    const { credentials, context } = start({ redirectUrl: undefined, prepareTokenRequest }, fetch)
    const more = { challenge: undefined, discovery: { ...discovery, resource: undefined } }
    await credentials.obtain(request(context, more))
    expect(requests.map(({ params }) => params)).toEqual([{ grant_type: 'client_credentials' }])
    expect(asked).toEqual([undefined])
  })

  it('prepares its own request', async () => {
    const { requests, fetch } = tokenEndpoint()
    const prepareTokenRequest = async (scope?: string) =>
      new URLSearchParams({ grant_type: 'own', assertion: 'x', scope: `${scope}!` })
    const { credentials, context } = start({ redirectUrl: undefined, prepareTokenRequest }, fetch)
    await credentials.obtain(request(context))
    expect(requests.map(({ params }) => params)).toEqual([
      { grant_type: 'own', assertion: 'x', scope: 'a b!', resource: serverUrl.href },
    ])
  })

  it('authenticates in its own way', async () => {
    const { requests, fetch } = tokenEndpoint()
    const addClientAuthentication = async (headers: Headers) => {
      await turn()
      headers.set('authorization', 'Own x')
    }
    const { credentials, context } = start({ redirectUrl: undefined, addClientAuthentication }, fetch)
    await credentials.obtain(request(context))
    expect(requests[0]!.headers.get('authorization')).toBe('Own x')
  })

  it('needs a client', async () => {
    const { credentials, context } = start({ redirectUrl: undefined, clientInformation: () => undefined })
    await expect(credentials.obtain(request(context))).rejects.toThrow(
      'The provider has neither a redirectUrl nor a client',
    )
  })

  it('learns why no token was issued', async () => {
    const { fetch } = tokenEndpoint({ error: 'invalid_scope', error_description: 'no' }, 400)
    const { credentials, context } = start({ redirectUrl: undefined }, fetch)
    const error = await credentials.obtain(request(context)).catch((reason) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(error.message).toMatch(/^https:\/\/as\.example did not issue a token: .*\(invalid_scope: no\)$/)
    expect(error.cause).toMatchObject({ error: 'invalid_scope' })
    expect(String(context.trace)).toContain('! token: ')
  })
})
