import { jwtVerifier, dpop as requireProofs } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { type AuthorizationServerOptions, startAuthorizationServer } from 'tenon/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  auth,
  discoverAuthorizationServerMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '../../src/client/auth.ts'
import {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  RegistrationRejectedError,
} from '../../src/client/authErrors.ts'
import { ClientCredentialsProvider, CrossAppAccessProvider } from '../../src/client/authExtensions.ts'
import { Client } from '../../src/client/client.ts'
import { discoverAndRequestJwtAuthGrant } from '../../src/client/crossAppAccess.ts'
import { DpopSession } from '../../src/client/dpop.ts'
import { withOAuth } from '../../src/client/middleware.ts'
import { resolveAuthorizationCallbackParams } from '../../src/client/oauth/callback.ts'
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '../../src/client/oauth/schemas.ts'
import { exchangeAuthorization } from '../../src/client/oauth/tokens.ts'
import { StreamableHTTPClientTransport } from '../../src/client/streamable-http.ts'

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** A server that requires a token, and the authorization server that issues it. */
async function startProtectedServer(options: AuthorizationServerOptions = {}) {
  const as = await startAuthorizationServer(options)
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  const verify = jwtVerifier({ issuer: as.issuer })
  const auth = { verify, authorizationServers: [as.issuer], ...(options.dpop && { dpop: requireProofs() }) }
  const serving = await serveHttp(server, { port: 0, exit: false, auth })
  return {
    as,
    url: serving.url,
    async [Symbol.asyncDispose]() {
      await serving.close()
      await as.close()
    },
  }
}

/** A provider as programs write it: everything in memory. The user is not sent anywhere, the page is only recorded. */
class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:7/callback'
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: 'Program' }
  readonly invalidated: string[] = []
  page: URL | undefined
  client: StoredOAuthClientInformation | undefined
  stored: StoredOAuthTokens | undefined
  discovered: OAuthDiscoveryState | undefined
  verifier = ''

  clientInformation() {
    return this.client
  }
  saveClientInformation(client: StoredOAuthClientInformation) {
    this.client = client
  }
  tokens() {
    return this.stored
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.stored = tokens
  }
  redirectToAuthorization(page: URL) {
    this.page = page
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.discovered = state
  }
  discoveryState() {
    return this.discovered
  }
  invalidateCredentials(scope: string) {
    this.invalidated.push(scope)
    if (scope === 'client') this.client = undefined
    if (scope === 'tokens') this.stored = undefined
  }

  /** Logs in at the page that the user was sent to, and returns what they come back with. */
  async logIn() {
    const response = await fetch(this.page!, { redirect: 'manual' })
    const params = new URL(response.headers.get('location')!).searchParams
    return { authorizationCode: params.get('code')!, iss: params.get('iss') ?? undefined }
  }
}

async function loggedIn<T extends MemoryProvider>(serverUrl: string | URL, provider: T): Promise<T> {
  await auth(provider, { serverUrl })
  await auth(provider, { serverUrl, ...(await provider.logIn()) })
  return provider
}

function initialize(url: string | URL, send: (url: string | URL, init?: RequestInit) => Promise<Response> = fetch) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'p', version: '1.0.0' } }
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
}

describe('auth', () => {
  it('gets a token that the server accepts, and refreshes it', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url, new MemoryProvider())
    const first = provider.stored!
    expect(first.issuer).toBe(vault.as.issuer)
    const response = await initialize(vault.url, withOAuth(provider)(fetch))
    expect(response.status).toBe(200)
    await response.body?.cancel()
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    expect(provider.stored!.access_token).not.toBe(first.access_token)
  })

  it('refuses a code that comes from another issuer, before it is sent anywhere', async () => {
    await using vault = await startProtectedServer()
    const provider = new MemoryProvider()
    await auth(provider, { serverUrl: vault.url })
    const { authorizationCode } = await provider.logIn()
    const options = { serverUrl: vault.url, authorizationCode }
    await expect(auth(provider, { ...options, iss: 'https://evil.example' })).rejects.toThrow(IssuerMismatchError)
    // The server announces the parameter, so it must not be missing either.
    await expect(auth(provider, options)).rejects.toThrow(IssuerMismatchError)
    expect(vault.as.requests.some(({ endpoint }) => endpoint === 'token')).toBe(false)
  })

  it('refuses a code when it is not known which server the user was sent to', async () => {
    await using vault = await startProtectedServer()
    const provider = new MemoryProvider()
    await auth(provider, { serverUrl: vault.url })
    const answer = await provider.logIn()
    provider.discovered = undefined
    await expect(auth(provider, { serverUrl: vault.url, ...answer })).rejects.toThrow(AuthorizationServerMismatchError)
  })

  it('skips refreshing when more scopes are needed', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url, new MemoryProvider())
    const options = { serverUrl: vault.url, scope: 'vault:write', forceReauthorization: true }
    expect(await auth(provider, options)).toBe('REDIRECT')
    expect(provider.page!.searchParams.get('scope')).toBe('vault:write')
  })

  it('invalidates client and tokens, but not what it discovered, when the client is unknown', async () => {
    await using vault = await startProtectedServer()
    const provider = await loggedIn(vault.url, new MemoryProvider())
    vault.as.removeClient(provider.client!.client_id)
    expect(await auth(provider, { serverUrl: vault.url })).toBe('REDIRECT')
    expect(provider.invalidated).toEqual(['client', 'tokens'])
  })

  it('says why a client was not registered', async () => {
    await using vault = await startProtectedServer({ metadata: 'both' })
    const provider = new MemoryProvider()
    const fetchFn = async (url: string | URL, init?: RequestInit) =>
      String(url).endsWith('/register')
        ? Response.json({ error: 'invalid_redirect_uri' }, { status: 400 })
        : fetch(url, init)
    const failure = await auth(provider, { serverUrl: vault.url, fetchFn }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(RegistrationRejectedError)
    expect(failure).toMatchObject({ status: 400, submittedMetadata: { application_type: 'native' } })
  })
})

describe('DPoP', () => {
  it('binds tokens to the key of the provider, with the nonces that the servers require', async () => {
    await using vault = await startProtectedServer({ dpop: 'required', dpopNonce: true })
    class BoundProvider extends MemoryProvider {
      readonly #session = DpopSession.create()
      dpop() {
        return this.#session
      }
    }
    const provider = await loggedIn(vault.url, new BoundProvider())
    expect(provider.stored!.token_type).toBe('DPoP')
    const response = await initialize(vault.url, withOAuth(provider)(fetch))
    expect(response.status).toBe(200)
    await response.body?.cancel()

    const client = new Client({ name: 'program', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(vault.url), { authProvider: provider }))
    expect(client.getServerVersion()?.name).toBe('vault')
    await client.close()
  })
})

describe('grants without a user', () => {
  it('never present credentials to another issuer than the expected one', async () => {
    await using vault = await startProtectedServer()
    const expectedIssuer = 'https://auth.example.com'
    const provider = new ClientCredentialsProvider({ clientId: 'job', clientSecret: 'secret', expectedIssuer })
    await expect(auth(provider, { serverUrl: vault.url })).rejects.toThrow(AuthorizationServerMismatchError)
    expect(vault.as.requests.some(({ endpoint }) => endpoint === 'token')).toBe(false)
  })

  it('exchange the assertion of an identity provider for a token', async () => {
    const clientSecret = 'a secret of a few words'
    await using idp = await startAuthorizationServer({
      clients: [{ client_id: 'app', client_secret: clientSecret, token_endpoint_auth_method: 'client_secret_post' }],
    })
    await using vault = await startProtectedServer({
      clients: [{ client_id: 'app', client_secret: clientSecret }],
      trustedIssuers: [{ issuer: idp.issuer, jwks: idp.jwks }],
    })
    const idToken = await idp.signJwt({ sub: 'alice', aud: 'app' })
    const provider = new CrossAppAccessProvider({
      clientId: 'app',
      clientSecret,
      expectedIssuer: vault.as.issuer,
      assertion: async ({ authorizationServerUrl: audience, resourceUrl: resource, scope, fetchFn }) => {
        const request = { idpUrl: idp.issuer, audience, resource, scope, fetchFn, idToken }
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({ ...request, clientId: 'app', clientSecret })
        return jwtAuthGrant
      },
    })
    expect(await auth(provider, { serverUrl: vault.url })).toBe('AUTHORIZED')
    expect(provider.tokens()!.access_token).toBeTruthy()
  })
})

describe('redirects of a server', () => {
  /** Redirects everything to another origin, and records what arrives there. */
  function redirecting() {
    const elsewhere: string[] = []
    const send = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const { origin, pathname } = new URL(url)
      if (origin !== 'https://mcp.example.com') {
        elsewhere.push(pathname)
        return new Response(null, { status: 404 })
      }
      const location = `https://evil.example${pathname}`
      return init?.redirect === 'manual' ? Response.redirect(location, 307) : send(location, init)
    }
    return { send, elsewhere }
  }

  it.each([
    ['same-origin', 'do not leave the origin', false],
    ['follow', 'are left to fetch', true],
  ] as const)('with redirectPolicy %s, %s', async (redirectPolicy, _what, isFollowed) => {
    const { send, elsewhere } = redirecting()
    const options = { fetch: send, redirectPolicy }
    const transport = new StreamableHTTPClientTransport(new URL('https://mcp.example.com/mcp'), options)
    const client = new Client({ name: 'program', version: '1.0.0' })
    await expect(client.connect(transport)).rejects.toThrow()
    expect(elsewhere.length > 0).toBe(isFollowed)
  })
})

describe('requests to an authorization server', () => {
  const clientInformation = { client_id: 'program', client_secret: 'secret' }
  const code = { authorizationCode: 'code', codeVerifier: 'verifier', redirectUri: 'https://app.example/back' }

  it('are not sent without encryption', async () => {
    const fetchFn = vi.fn(fetch)
    const request = exchangeAuthorization('http://auth.example.com', { clientInformation, ...code, fetchFn })
    await expect(request).rejects.toThrow(InsecureTokenEndpointError)
    expect(fetchFn).not.toHaveBeenCalled()
  })

  it('reject metadata of another issuer', async () => {
    const metadata = {
      issuer: 'https://evil.example',
      authorization_endpoint: 'https://evil.example/authorize',
      token_endpoint: 'https://evil.example/token',
      response_types_supported: ['code'],
    }
    const fetchFn = async () => Response.json(metadata)
    const found = discoverAuthorizationServerMetadata('https://auth.example.com', { fetchFn })
    await expect(found).rejects.toThrow(IssuerMismatchError)
  })

  it('do not show an error that the right authorization server did not send', async () => {
    await using vault = await startProtectedServer()
    const provider = new MemoryProvider()
    await auth(provider, { serverUrl: vault.url })
    const callback = (iss: string) =>
      new URLSearchParams({ error: 'access_denied', error_description: 'Click here', iss })
    const read = (params: URLSearchParams) => resolveAuthorizationCallbackParams(params, undefined, provider, vault.url)
    await expect(read(callback('https://evil.example'))).rejects.not.toThrow('Click here')
    await expect(read(callback(vault.as.issuer))).rejects.toThrow('Click here')
  })
})
