import { describe, expect, it } from 'vitest'
import type { EndpointRequest } from '../http.ts'
import type { Backend } from './backend.ts'
import { AuthorizationEndpoints, toMetadata } from './endpoints.ts'
import { invalidClient, invalidGrant, OAuthError } from './oauth-error.ts'

const issuer = 'https://as.example/tenant'
const verifier = 'v'.repeat(43)
const codeChallenge = 'c'.repeat(43)
const redirectUri = 'https://app.example/back'
const unexpected = () => Promise.reject(new Error('unexpected call'))

function start(more: Partial<Backend> = {}) {
  const errors: unknown[] = []
  const backend: Backend = {
    issuer,
    baseUrl: `${issuer}/`,
    hasIssParameter: true,
    metadata: { extra: 1 },
    findClient: async (id) => (id === 'c' ? { client_id: 'c', redirect_uris: [redirectUri] } : undefined),
    authorize: unexpected,
    exchangeCode: unexpected,
    refresh: unexpected,
    reportError: (error) => errors.push(error),
    ...more,
  }
  const endpoints = new AuthorizationEndpoints(backend)
  const send = async (method: string, path: string, form: Record<string, string> | [string, string][] = {}) => {
    const params = new URLSearchParams(form).toString()
    const isPost = method === 'POST'
    const header = (name: string) => (name === 'content-type' ? 'application/x-www-form-urlencoded' : undefined)
    const url = isPost || params === '' ? path : `${path}?${params}`
    const request: EndpointRequest = { method, url, body: isPost ? params : '', header }
    const response = await endpoints.respond(request)
    const isJson = response?.headers['content-type'] === 'application/json'
    return { ...response!, json: isJson ? JSON.parse(response!.body) : undefined }
  }
  return { backend, endpoints, errors, send }
}

const page = {
  response_type: 'code',
  client_id: 'c',
  code_challenge: codeChallenge,
  code_challenge_method: 'S256',
}

describe('the routes of an authorization server', () => {
  it('exist below the base URL, and only where the backend has what they need', () => {
    const paths = ['authorize', 'token', 'register', 'revoke', 'other'].map((name) => `/tenant/${name}`)
    const handledBy = ({ endpoints }: ReturnType<typeof start>) => paths.map((path) => endpoints.handles(path))
    expect(handledBy(start())).toEqual([true, true, false, false, false])
    expect(handledBy(start({ register: unexpected, revoke: unexpected }))).toEqual([true, true, true, true, false])
    expect(start().endpoints.handles('/token')).toBe(false)
  })

  it('answer 404 elsewhere', async () => {
    expect((await start().send('GET', '/tenant/other')).status).toBe(404)
    expect((await start().send('POST', '/tenant/register')).status).toBe(404)
  })

  it.each(['/.well-known/oauth-authorization-server/tenant', '/.well-known/oauth-authorization-server'])(
    'serve the metadata at %s to scripts of every origin [AUTH-017]',
    async (path) => {
      const { send, backend } = start()
      const response = await send('GET', path)
      expect(response.json).toEqual(toMetadata(backend))
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'cache-control': 'public, max-age=300',
      })
      expect((await send('HEAD', path)).status).toBe(200)
    },
  )

  it('allow only their own methods, and preflight only where scripts may send requests', async () => {
    const { send } = start()
    const refused = await send('GET', '/tenant/token')
    expect([refused.status, refused.headers.allow]).toEqual([405, 'POST'])
    expect(refused.headers['access-control-allow-origin']).toBe('*')
    const preflight = await send('OPTIONS', '/tenant/token')
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([204, 'POST'])
    const login = await send('OPTIONS', '/tenant/authorize')
    expect([login.status, login.headers.allow]).toEqual([405, 'GET, POST'])
    expect(login.headers['access-control-allow-origin']).toBeUndefined()
    expect((await send('HEAD', '/tenant/authorize')).status).toBe(405)
  })
})

describe('the metadata of an authorization server', () => {
  it('names only what the backend supports [AUTH-087]', () => {
    const least = toMetadata(start({ hasIssParameter: false, scopesSupported: [] }).backend)
    expect(least).toMatchObject({ issuer, token_endpoint: `${issuer}/token`, extra: 1 })
    const optional = [
      'registration_endpoint',
      'revocation_endpoint',
      'scopes_supported',
      'authorization_response_iss_parameter_supported',
    ]
    for (const name of optional) expect(least).not.toHaveProperty(name)
    const all = { register: unexpected, revoke: unexpected, scopesSupported: ['a'] }
    expect(toMetadata(start(all).backend)).toMatchObject({
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      scopes_supported: ['a'],
      authorization_response_iss_parameter_supported: true,
    })
  })
})

describe('an authorization request', () => {
  it('reaches the backend with its only redirect URI, its scopes once each, and its resource', async () => {
    const seen: unknown[] = []
    const { send } = start({
      authorize: async (request) => {
        seen.push(request)
        return { status: 200, headers: {}, body: 'consent' }
      },
    })
    const params = { ...page, scope: 'a  b a', state: 's', resource: 'https://mcp.example/mcp' }
    expect((await send('GET', '/tenant/authorize', params)).body).toBe('consent')
    await send('POST', '/tenant/authorize', params)
    const request = {
      client: { client_id: 'c', redirect_uris: [redirectUri] },
      redirectUri,
      state: 's',
      scopes: ['a', 'b'],
      codeChallenge,
      resource: 'https://mcp.example/mcp',
    }
    expect(seen).toEqual([request, request])
  })

  it.each([
    ['an unknown client', { client_id: 'd' }, 'Client not found. The application has to register again.'],
    ['no client', { client_id: '' }, 'The client_id is missing.'],
    ['a foreign redirect URI', { redirect_uri: 'https://evil.example/' }, 'The redirect_uri is not registered'],
  ])('is refused on a page, without a redirect, with %s [AUTH-091]', async (_, more, message) => {
    const { status, headers, body } = await start().send('GET', '/tenant/authorize', { ...page, ...more })
    expect([status, headers.location]).toEqual([400, undefined])
    expect(headers['content-type']).toContain('text/html')
    expect(body).toContain(message)
  })

  it.each([
    [
      'another response type',
      { response_type: 'token' },
      'unsupported_response_type',
      'The response_type must be code.',
    ],
    ['no response type', { response_type: '' }, 'invalid_request', 'The response_type is missing.'],
    ['no challenge', { code_challenge: '' }, 'invalid_request', 'The code_challenge is missing.'],
    [
      'a plain challenge',
      { code_challenge_method: 'plain' },
      'invalid_request',
      'The code_challenge_method must be S256.',
    ],
    [
      'a challenge that is too short',
      { code_challenge: 'c'.repeat(42) },
      'invalid_request',
      'The code_challenge is not an S256 challenge.',
    ],
    [
      'a challenge that is too long',
      { code_challenge: 'c'.repeat(44) },
      'invalid_request',
      'The code_challenge is not an S256 challenge.',
    ],
    ['an unknown scope', { scope: 'a x' }, 'invalid_scope', 'Unknown scope. Supported scopes: a b.'],
    [
      'a relative resource',
      { resource: '/mcp' },
      'invalid_target',
      'The resource must be an absolute URI without a fragment.',
    ],
    [
      'a resource with a fragment',
      { resource: 'https://mcp.example/mcp#' },
      'invalid_target',
      'The resource must be an absolute URI without a fragment.',
    ],
  ])('is refused at the client with %s [AUTH-008, AUTH-087]', async (_, more, error, description) => {
    const { send, errors } = start({ scopesSupported: ['a', 'b'] })
    const { status, headers } = await send('GET', '/tenant/authorize', { ...page, state: 's', ...more })
    expect(status).toBe(303)
    const back = new URL(headers.location!)
    expect(back.origin + back.pathname).toBe(redirectUri)
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error,
      error_description: description,
      state: 's',
      iss: issuer,
    })
    expect(errors).toEqual([])
  })

  it('is refused at the client if its state is repeated, and on a page if its state is too long', async () => {
    const { send } = start({ maxStateBytes: 4 })
    const twice = [...Object.entries(page), ['state', 'a'], ['state', 'b']] as [string, string][]
    const { headers } = await send('GET', '/tenant/authorize', twice)
    expect(new URL(headers.location!).searchParams.get('error_description')).toBe('The state was sent more than once.')
    expect((await send('GET', '/tenant/authorize', { ...page, state: 'äää' })).status).toBe(400)
    const fits = await send('GET', '/tenant/authorize', { ...page, state: 'ää', response_type: 'x' })
    expect(fits.status).toBe(303)
  })

  it('is for the only resource of the server, if it has one, else for one resource', async () => {
    const resource = 'https://mcp.example/mcp'
    const seen: unknown[] = []
    const authorize: Backend['authorize'] = async (request) => {
      seen.push(request.resource)
      return { status: 200, headers: {}, body: '' }
    }
    const only = start({ authorize, resource })
    const twice = [...Object.entries(page), ['resource', resource], ['resource', resource]] as [string, string][]
    await only.send('GET', '/tenant/authorize', page)
    await only.send('GET', '/tenant/authorize', twice)
    expect(seen).toEqual([resource, resource])
    const problemOf = ({ headers }: { headers: Readonly<Record<string, string>> }) =>
      new URL(headers.location!).searchParams.get('error_description')
    const other = { ...page, resource: 'https://other.example/mcp' }
    expect(problemOf(await only.send('GET', '/tenant/authorize', other))).toBe(
      `Tokens are issued only for ${resource}.`,
    )
    const any = start({ authorize })
    expect(problemOf(await any.send('GET', '/tenant/authorize', twice))).toBe('The resource was sent more than once.')
    expect(seen).toHaveLength(2)
  })

  it('without iss in responses, gets errors without iss', async () => {
    const { send } = start({ hasIssParameter: false })
    const { headers } = await send('GET', '/tenant/authorize', { ...page, response_type: 'x' })
    expect([...new URL(headers.location!).searchParams.keys()]).toEqual(['error', 'error_description'])
  })

  it('shows errors on a page with a link where anyone can register', async () => {
    const { send } = start({ showsErrors: true })
    const { status, headers, body } = await send('GET', '/tenant/authorize', { ...page, response_type: 'x' })
    expect([status, headers.location]).toEqual([400, undefined])
    expect(body).toContain(`<a href="${redirectUri}?error=unsupported_response_type&amp;`)
    expect(body).toContain('<strong>app.example</strong>')
  })

  it('hides internal errors from the client and reports them to the operator', async () => {
    const failure = new Error('secret path')
    const { send, errors } = start({ authorize: () => Promise.reject(failure) })
    const { headers } = await send('GET', '/tenant/authorize', page)
    expect(new URL(headers.location!).searchParams.get('error')).toBe('server_error')
    expect(headers.location).not.toContain('secret')
    expect(errors).toEqual([failure])
  })
})

describe('a token request', () => {
  const code = { grant_type: 'authorization_code', client_id: 'c', code: 'k', code_verifier: verifier }
  const tokens = { access_token: 't', token_type: 'Bearer' }

  it('exchanges a code with everything that was sent', async () => {
    const seen: unknown[] = []
    const { send } = start({
      exchangeCode: async (client, request) => {
        seen.push([client.client_id, request])
        return tokens
      },
    })
    const form = { ...code, redirect_uri: redirectUri, resource: 'https://mcp.example/mcp' }
    const response = await send('POST', '/tenant/token', form)
    expect([response.status, response.json]).toEqual([200, tokens])
    expect(response.headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' })
    expect(seen).toEqual([
      ['c', { code: 'k', codeVerifier: verifier, redirectUri, resource: 'https://mcp.example/mcp' }],
    ])
  })

  it('refreshes with the scopes of the request, or with those of the grant', async () => {
    const seen: unknown[] = []
    const { send } = start({
      refresh: async (_client, request) => {
        seen.push(request)
        return tokens
      },
    })
    const form = { grant_type: 'refresh_token', client_id: 'c', refresh_token: 'r' }
    await send('POST', '/tenant/token', { ...form, scope: 'a b' })
    await send('POST', '/tenant/token', form)
    expect(seen).toEqual([
      { refreshToken: 'r', scopes: ['a', 'b'], resource: undefined },
      { refreshToken: 'r', scopes: undefined, resource: undefined },
    ])
  })

  it.each([
    ['no grant type', { grant_type: '' }, 400, 'invalid_request', 'The grant_type is missing.'],
    [
      'another grant type',
      { grant_type: 'password' },
      400,
      'unsupported_grant_type',
      'The grant_type must be one of authorization_code, refresh_token.',
    ],
    ['an unknown client', { client_id: 'd' }, 401, 'invalid_client', 'Client not found.'],
    ['no code', { code: '' }, 400, 'invalid_request', 'The code is missing.'],
    ['no verifier', { code_verifier: '' }, 400, 'invalid_request', 'The code_verifier is missing.'],
    [
      'a short verifier',
      { code_verifier: 'v'.repeat(42) },
      400,
      'invalid_request',
      expect.stringContaining('43 to 128'),
    ],
    [
      'a long verifier',
      { code_verifier: 'v'.repeat(129) },
      400,
      'invalid_request',
      expect.stringContaining('43 to 128'),
    ],
    ['no refresh token', { grant_type: 'refresh_token' }, 400, 'invalid_request', 'The refresh_token is missing.'],
    ['an invalid resource', { resource: 'x' }, 400, 'invalid_target', expect.any(String)],
  ])('is refused with %s [AUTH-008]', async (_, more, status, error, description) => {
    const { send, errors } = start()
    const response = await send('POST', '/tenant/token', { ...code, ...more })
    expect([response.status, response.json]).toEqual([status, { error, error_description: description }])
    expect(errors).toEqual([])
  })

  it('reports the cause of an error to the operator only', async () => {
    const cause = new Error('no database')
    const { send, errors } = start({
      exchangeCode: () =>
        Promise.reject(Object.assign(new OAuthError('x', 'Busy.', 503, { 'retry-after': '5' }), { cause })),
    })
    const response = await send('POST', '/tenant/token', code)
    expect([response.status, response.json.error, response.headers['retry-after']]).toEqual([503, 'x', '5'])
    expect(response.body).not.toContain('database')
    expect(errors).toEqual([cause])
    const quiet = start({ exchangeCode: () => Promise.reject(invalidGrant('No.')) })
    expect((await quiet.send('POST', '/tenant/token', code)).json.error).toBe('invalid_grant')
    expect(quiet.errors).toEqual([])
  })
})

describe('a revocation request', () => {
  it('authenticates the client and passes the token and its hint on', async () => {
    const seen: unknown[] = []
    const { send } = start({ revoke: async (client, ...rest) => void seen.push([client.client_id, ...rest]) })
    const form = { client_id: 'c', token: 't' }
    const response = await send('POST', '/tenant/revoke', { ...form, token_type_hint: 'access_token' })
    expect([response.status, response.body, response.headers['cache-control']]).toEqual([200, '', 'no-store'])
    await send('POST', '/tenant/revoke', form)
    expect((await send('POST', '/tenant/revoke', { ...form, client_id: 'd' })).status).toBe(401)
    expect((await send('POST', '/tenant/revoke', { client_id: 'c' })).json.error_description).toBe(
      'The token is missing.',
    )
    expect(seen).toEqual([
      ['c', 't', 'access_token'],
      ['c', 't', undefined],
    ])
  })

  it('fails if the backend fails', async () => {
    const { send } = start({ revoke: () => Promise.reject(invalidClient('No.')) })
    expect((await send('POST', '/tenant/revoke', { client_id: 'c', token: 't' })).status).toBe(401)
  })
})
