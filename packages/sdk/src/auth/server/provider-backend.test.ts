import { describe, expect, it } from 'vitest'
import { sha256 } from '../../util/base64url.ts'
import type { EndpointRequest } from '../http.ts'
import { OAuthError } from './oauth-error.ts'
import { providerBackend, type RegistrationOptions } from './provider-backend.ts'
import type { OAuthServerProvider } from './provider-port.ts'
import { ProxyOAuthServerProvider, type ProxyOptions } from './proxy-provider.ts'

const client = { client_id: 'c', redirect_uris: ['https://app.example/back'] }
const tokens = { access_token: 't', token_type: 'Bearer' }
const verifier = 'v'.repeat(43)

function start(
  more: Partial<OAuthServerProvider<never>> = {},
  registration?: RegistrationOptions,
  options: object = {},
) {
  const calls: unknown[][] = []
  const note =
    <T>(name: string, result: T) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      return result
    }
  const provider = {
    clientsStore: { getClient: note('getClient', client), registerClient: async (full: object) => full },
    authorize: note('authorize', undefined),
    challengeForAuthorizationCode: async () => sha256(verifier),
    exchangeAuthorizationCode: note('code', tokens),
    exchangeRefreshToken: note('refresh', tokens),
    verifyAccessToken: note('verify', {}),
    revokeToken: note('revoke', undefined),
    ...more,
  } as unknown as OAuthServerProvider
  const base = {
    issuer: 'https://as.example',
    baseUrl: 'https://as.example',
    metadata: { x: 1 },
    reportError: () => {},
  }
  return { calls, backend: providerBackend({ provider, ...base, registration, ...options }) }
}

const codeRequest = { code: 'k', codeVerifier: verifier, redirectUri: 'https://r', resource: undefined }

describe('the backend of a provider', () => {
  it('offers what the provider has', () => {
    const { backend } = start()
    expect([backend.register, backend.revoke]).toEqual([expect.any(Function), expect.any(Function)])
    expect([backend.hasIssParameter, backend.metadata]).toEqual([false, { x: 1 }])
    const least = start({ revokeToken: undefined as never, clientsStore: { getClient: () => undefined } }).backend
    expect([least.register, least.revoke]).toEqual([undefined, undefined])
    expect(start({}, undefined, { scopesSupported: ['a'] }).backend.metadata).toEqual({ x: 1, scopes_supported: ['a'] })
    expect(() => start({}, { redirectSchemes: ['http'] })).toThrow('mcpAuthRouter: redirectSchemes')
  })

  it('passes an authorization request on, with the response to write to', async () => {
    const { backend, calls } = start()
    const request = {
      client,
      redirectUri: 'https://r',
      state: undefined,
      scopes: ['a'],
      codeChallenge: 'x',
      resource: undefined,
    }
    const http = { response: 'the response' } as unknown as EndpointRequest
    expect(await backend.authorize(request, http)).toBeUndefined()
    await backend.authorize({ ...request, state: 's', resource: 'https://mcp.example/mcp' }, http)
    const params = { redirectUri: 'https://r', codeChallenge: 'x', scopes: ['a'] }
    expect(calls).toEqual([
      ['authorize', client, params, 'the response'],
      ['authorize', client, { ...params, state: 's', resource: new URL('https://mcp.example/mcp') }, 'the response'],
    ])
  })

  it('checks the verifier of a code, unless the provider does', async () => {
    const { backend, calls } = start()
    expect(await backend.exchangeCode(client, codeRequest)).toBe(tokens)
    const wrong = { ...codeRequest, codeVerifier: 'w'.repeat(43) }
    await expect(backend.exchangeCode(client, wrong)).rejects.toMatchObject({
      errorCode: 'invalid_grant',
      message: 'The code_verifier does not match.',
    })
    expect(calls).toEqual([['code', client, 'k', undefined, 'https://r', undefined]])
    const skipping = start({ skipLocalPkceValidation: true })
    await skipping.backend.exchangeCode(client, { ...wrong, resource: 'https://mcp.example/' })
    expect(skipping.calls).toEqual([
      ['code', client, 'k', wrong.codeVerifier, 'https://r', new URL('https://mcp.example/')],
    ])
  })

  it('passes refreshes and revocations on', async () => {
    const { backend, calls } = start()
    await backend.refresh(client, { refreshToken: 'r', scopes: ['a'], resource: 'https://mcp.example/' })
    await backend.refresh(client, { refreshToken: 'r', scopes: undefined, resource: undefined })
    await backend.revoke!(client, 't', 'access_token')
    await backend.revoke!(client, 't', undefined)
    expect(calls).toEqual([
      ['refresh', client, 'r', ['a'], new URL('https://mcp.example/')],
      ['refresh', client, 'r', undefined, undefined],
      ['revoke', client, { token: 't', token_type_hint: 'access_token' }],
      ['revoke', client, { token: 't' }],
    ])
  })

  it.each([
    ['server_error', 500],
    ['temporarily_unavailable', 503],
    ['invalid_client', 401],
    ['invalid_grant', 400],
  ])('converts the error %s of other libraries to status %i', async (errorCode, status) => {
    const fail = () => Promise.reject(Object.assign(new Error('m'), { errorCode }))
    const { backend } = start({
      exchangeRefreshToken: fail,
      revokeToken: fail,
      exchangeAuthorizationCode: fail,
      authorize: fail,
    })
    const expected = { name: 'OAuthError', errorCode, status, message: 'm' }
    const request = { refreshToken: 'r', scopes: undefined, resource: undefined }
    await expect(backend.refresh(client, request)).rejects.toMatchObject(expected)
    await expect(backend.revoke!(client, 't', undefined)).rejects.toMatchObject(expected)
    await expect(backend.exchangeCode(client, codeRequest)).rejects.toMatchObject(expected)
  })

  it.each([
    ['its own errors', new OAuthError('x', 'm', 418)],
    ['errors without a code', new Error('m')],
    ['errors with another code', Object.assign(new Error('m'), { errorCode: 'E-42' })],
    ['text', 'm'],
  ])('leaves %s as they are', async (_, error) => {
    const { backend } = start({ exchangeRefreshToken: () => Promise.reject(error) })
    const request = { refreshToken: 'r', scopes: undefined, resource: undefined }
    expect(await backend.refresh(client, request).catch((reason) => reason)).toBe(error)
  })
})

describe('a client that registers with a provider', () => {
  const metadata = { redirect_uris: [] }

  it('gets an id, and a secret that never expires, unless it is public', async () => {
    const confidential = await start().backend.register!(metadata)
    expect(confidential).toMatchObject({ client_id: expect.any(String), client_id_issued_at: expect.any(Number) })
    expect(confidential).toMatchObject({ client_secret: expect.any(String), client_secret_expires_at: 0 })
    const open = await start().backend.register!({ ...metadata, token_endpoint_auth_method: 'none' })
    expect(open).not.toHaveProperty('client_secret')
  })

  it('gets what the options say', async () => {
    const options = { clientSecretExpirySeconds: 60, clientIdGeneration: false }
    const registered = await start({}, options).backend.register!(metadata)
    expect(registered).not.toHaveProperty('client_id')
    expect(registered.client_secret_expires_at! - Math.floor(Date.now() / 1_000)).toBeGreaterThan(50)
  })
})

describe('a proxy', () => {
  const endpoints = { authorizationUrl: 'https://up.example/authorize?tenant=1', tokenUrl: 'https://up.example/token' }

  function proxy(answer: () => Response | Promise<Response>, options: Partial<ProxyOptions> = {}) {
    const sent: { url: string; init: RequestInit }[] = []
    const provider = new ProxyOAuthServerProvider({
      endpoints: {
        ...endpoints,
        revocationUrl: 'https://up.example/revoke',
        registrationUrl: 'https://up.example/register',
      },
      verifyAccessToken: async (token) => ({ clientId: token, scopes: [] }),
      getClient: async () => client,
      fetch: async (url, init) => {
        sent.push({ url, init: init! })
        return answer()
      },
      ...options,
    })
    const formOf = (index: number) => Object.fromEntries(new URLSearchParams(String(sent[index]!.init.body)))
    return { provider, sent, formOf }
  }

  it('redirects to the authorization server with everything that was sent', async () => {
    const { provider } = proxy(() => Response.json({}))
    const pages: string[] = []
    const response = { redirect: (page: string) => void pages.push(page) }
    const params = { redirectUri: 'https://r', codeChallenge: 'x' }
    await provider.authorize(client, params, response as never)
    const all = { ...params, state: 's', scopes: ['a', 'b'], resource: new URL('https://mcp.example/mcp') }
    await provider.authorize(client, all, response as never)
    const query = {
      tenant: '1',
      response_type: 'code',
      client_id: 'c',
      redirect_uri: 'https://r',
      code_challenge: 'x',
      code_challenge_method: 'S256',
    }
    expect(pages.map((page) => Object.fromEntries(new URL(page).searchParams))).toEqual([
      query,
      { ...query, state: 's', scope: 'a b', resource: 'https://mcp.example/mcp' },
    ])
    expect(await provider.verifyAccessToken('x')).toMatchObject({ clientId: 'x' })
    expect(await provider.challengeForAuthorizationCode()).toBe('')
  })

  it('sends what was sent, and nothing that was not', async () => {
    const { provider, sent, formOf } = proxy(() => Response.json(tokens))
    expect(await provider.exchangeAuthorizationCode(client, 'k')).toEqual(tokens)
    await provider.exchangeAuthorizationCode(client, 'k', verifier, 'https://r', new URL('https://mcp.example/mcp'))
    await provider.exchangeRefreshToken({ ...client, client_secret: 's' }, 'r', ['a', 'b'])
    await provider.revokeToken!(client, { token: 't' })
    expect([0, 1, 2, 3].map(formOf)).toEqual([
      { grant_type: 'authorization_code', code: 'k', client_id: 'c' },
      {
        grant_type: 'authorization_code',
        code: 'k',
        client_id: 'c',
        code_verifier: verifier,
        redirect_uri: 'https://r',
        resource: 'https://mcp.example/mcp',
      },
      { grant_type: 'refresh_token', refresh_token: 'r', scope: 'a b', client_id: 'c', client_secret: 's' },
      { token: 't', client_id: 'c' },
    ])
    expect(sent.map(({ url, init }) => [url.slice(19), init.method, init.redirect])).toEqual([
      ['token', 'POST', 'error'],
      ['token', 'POST', 'error'],
      ['token', 'POST', 'error'],
      ['revoke', 'POST', 'error'],
    ])
  })

  it('sends a secret in the header if so configured, and the id of a client without one in the form', async () => {
    const { provider, sent, formOf } = proxy(() => Response.json(tokens), {
      tokenEndpointAuthMethod: 'client_secret_basic',
    })
    await provider.exchangeRefreshToken({ ...client, client_secret: 's' }, 'r')
    await provider.exchangeRefreshToken(client, 'r')
    const headers = sent.map(({ init }) => new Headers(init.headers).get('authorization'))
    expect(headers).toEqual([`Basic ${btoa('c:s')}`, null])
    expect([formOf(0), formOf(1)]).toEqual([
      { grant_type: 'refresh_token', refresh_token: 'r' },
      { grant_type: 'refresh_token', refresh_token: 'r', client_id: 'c' },
    ])
  })

  it('registers clients, if the authorization server does', async () => {
    const { provider, sent } = proxy(() => Response.json({ ...client, x: 1 }))
    expect(await provider.clientsStore.registerClient!(client)).toEqual({ ...client, x: 1 })
    expect(JSON.parse(String(sent[0]!.init.body))).toEqual(client)
    expect(await provider.clientsStore.getClient('c')).toBe(client)
    const least = proxy(() => Response.json({}), { endpoints }).provider
    expect([least.clientsStore.registerClient, least.revokeToken]).toEqual([undefined, undefined])
  })

  it.each([
    ['no token', {}, 'The authorization server did not return a token'],
    ['a list', [tokens], 'The authorization server did not return a token'],
    ['a number as token', { access_token: 7 }, 'The authorization server did not return a token'],
  ])('fails if the answer has %s', async (_, body, message) => {
    await expect(proxy(() => Response.json(body)).provider.exchangeRefreshToken(client, 'r')).rejects.toThrow(message)
  })

  it.each([{}, { client_id: 'c' }, { client_id: 7, redirect_uris: [] }])(
    'fails if the answer is not a client: %o',
    async (body) => {
      const { provider } = proxy(() => Response.json(body))
      await expect(provider.clientsStore.registerClient!(client)).rejects.toThrow('did not return a client')
    },
  )

  it.each([
    [400, { error: 'invalid_grant' }, { errorCode: 'invalid_grant', status: 400 }],
    [401, { error: 'invalid_client' }, { errorCode: 'invalid_client', status: 401 }],
    [403, { error: 'access_denied' }, { errorCode: 'access_denied', status: 400 }],
    [400, { error: 'Not A Code' }, { message: 'up.example responded with HTTP 400' }],
    [404, {}, { message: 'up.example responded with HTTP 404' }],
    [404, [], { message: 'up.example responded with HTTP 404' }],
    [499, { error: 'x' }, { errorCode: 'x', status: 400 }],
    [
      500,
      { error: 'invalid_grant' },
      { errorCode: 'temporarily_unavailable', status: 503, headers: { 'retry-after': '5' } },
    ],
  ])('converts HTTP %i with %o', async (status, body, expected) => {
    const { provider } = proxy(() => Response.json(body, { status }))
    await expect(provider.exchangeRefreshToken(client, 'r')).rejects.toMatchObject(expected)
  })

  it('is not available if the authorization server cannot be reached', async () => {
    const { provider } = proxy(() => Promise.reject(new Error('no route')))
    await expect(provider.exchangeRefreshToken(client, 'r')).rejects.toMatchObject({
      errorCode: 'temporarily_unavailable',
      cause: { message: 'https://up.example/token could not be reached: no route' },
    })
  })

  it('needs secure endpoints [AUTH-089]', () => {
    const insecure = { ...endpoints, tokenUrl: 'http://up.example/token' }
    expect(() => proxy(() => Response.json({}), { endpoints: insecure })).toThrow(
      'ProxyOAuthServerProvider: tokenUrl must be an https: URL',
    )
    expect(() =>
      proxy(() => Response.json({}), { endpoints: { ...endpoints, revocationUrl: undefined } }),
    ).not.toThrow()
  })
})
