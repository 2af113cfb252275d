import { createHash } from 'node:crypto'
import express, { type Response as ExpressResponse } from 'express'
import { describe, expect, it } from 'vitest'
import { InvalidTokenError } from '../../src/server/auth/errors.ts'
import { redirectUriMatches } from '../../src/server/auth/handlers/authorize.ts'
import { requireBearerAuth } from '../../src/server/auth/middleware/bearerAuth.ts'
import type { AuthorizationParams, OAuthServerProvider } from '../../src/server/auth/provider.ts'
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '../../src/server/auth/router.ts'
import type { OAuthClientInformationFull } from '../../src/shared/auth.ts'
import { jsonOf, listen } from '../http/support.ts'

const redirectUri = 'http://localhost:3000/callback'
const verifier = 'a-verifier-that-is-long-enough-for-pkce-0123456789'

/** Keeps everything in memory. Issues a code at once. */
function memoryProvider(): OAuthServerProvider {
  const clients = new Map<string, OAuthClientInformationFull>()
  const codes = new Map<string, AuthorizationParams>()
  const revoked = new Set<string>()
  return {
    clientsStore: {
      getClient: (id) => clients.get(id),
      registerClient: (client) => {
        const full = client as OAuthClientInformationFull
        clients.set(full.client_id, full)
        return full
      },
    },
    async authorize(_client, params, res: ExpressResponse) {
      codes.set('code-1', params)
      const url = new URL(params.redirectUri)
      url.searchParams.set('code', 'code-1')
      if (params.state) url.searchParams.set('state', params.state)
      res.redirect(url.href)
    },
    challengeForAuthorizationCode: async (_client, code) => codes.get(code)!.codeChallenge,
    exchangeAuthorizationCode: async () => ({ access_token: 'access-1', token_type: 'bearer', expires_in: 60 }),
    exchangeRefreshToken: async () => ({ access_token: 'access-2', token_type: 'bearer' }),
    async verifyAccessToken(token) {
      if (token !== 'access-1' || revoked.has(token)) throw new InvalidTokenError('Unknown token')
      return { token, clientId: 'client', scopes: ['read'], expiresAt: Date.now() / 1000 + 60 }
    },
    revokeToken: async (_client, { token }) => void revoked.add(token),
  }
}

async function start() {
  const provider = memoryProvider()
  const app = express()
  app.use(mcpAuthRouter({ provider, issuerUrl: new URL('https://auth.example.com'), scopesSupported: ['read'] }))
  const metadataUrl = getOAuthProtectedResourceMetadataUrl(new URL('https://auth.example.com/mcp'))
  const bearer = (requiredScopes: string[]) =>
    requireBearerAuth({ verifier: provider, requiredScopes, resourceMetadataUrl: metadataUrl })
  app.get('/read', bearer(['read']), (req, res) => void res.json(req.auth?.clientId))
  app.get('/write', bearer(['write']), (_req, res) => void res.end())
  const http = await listen(app)
  return { ...http, base: new URL(http.url).origin }
}

function form(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
}

async function register(base: string, method = 'client_secret_post'): Promise<OAuthClientInformationFull> {
  const response = await fetch(`${base}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: method }),
  })
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
  return jsonOf(response)
}

function authorizeUrl(base: string, client_id: string, changes: Record<string, string> = {}): string {
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const params = { client_id, response_type: 'code', code_challenge, code_challenge_method: 'S256', state: 's' }
  return `${base}/authorize?${new URLSearchParams({ ...params, ...changes })}`
}

describe('mcpAuthRouter', () => {
  it('registers a client, authorizes it, issues a token for its code, and revokes the token', async () => {
    await using http = await start()
    const { client_id, client_secret = '' } = await register(http.base)
    expect(client_secret).toMatch(/^[0-9a-f]{64}$/)
    const authorized = await fetch(authorizeUrl(http.base, client_id), { redirect: 'manual' })
    const back = new URL(authorized.headers.get('location')!)
    expect(back.href).toBe(`${redirectUri}?code=code-1&state=s`)
    const code = { grant_type: 'authorization_code', code: 'code-1', redirect_uri: redirectUri }
    const wrong = await form(`${http.base}/token`, { ...code, client_id, client_secret, code_verifier: 'wrong' })
    expect([wrong.status, (await jsonOf(wrong)).error]).toEqual([400, 'invalid_grant'])
    const tokens = await form(`${http.base}/token`, { ...code, client_id, client_secret, code_verifier: verifier })
    expect(await jsonOf(tokens)).toEqual({ access_token: 'access-1', token_type: 'bearer', expires_in: 60 })
    const read = () => fetch(`${http.base}/read`, { headers: { authorization: 'Bearer access-1' } })
    expect(await (await read()).json()).toBe('client')
    const revocation = await form(`${http.base}/revoke`, { token: 'access-1', client_id, client_secret })
    expect(revocation.status).toBe(200)
    expect((await read()).status).toBe(401)
  })

  it('gives a public client no secret, and refuses a wrong secret of others', async () => {
    await using http = await start()
    expect((await register(http.base, 'none')).client_secret).toBeUndefined()
    const { client_id } = await register(http.base)
    const refused = await form(`${http.base}/token`, { grant_type: 'refresh_token', client_id, client_secret: 'no' })
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: 'invalid_client', error_description: 'Invalid client_secret' },
    ])
  })

  it('never redirects to a URI that is not registered, but reports later errors to one that is', async () => {
    await using http = await start()
    const { client_id } = await register(http.base)
    const redirect = 'manual' as const
    const evil = await fetch(authorizeUrl(http.base, client_id, { redirect_uri: 'https://evil.example' }), { redirect })
    expect([evil.status, (await jsonOf(evil)).error]).toEqual([400, 'invalid_request'])
    const plain = await fetch(authorizeUrl(http.base, client_id, { code_challenge_method: 'plain' }), { redirect })
    expect(new URL(plain.headers.get('location')!).searchParams.get('error')).toBe('invalid_request')
  })

  it('serves both metadata documents to web pages', async () => {
    await using http = await start()
    const server = await fetch(`${http.base}/.well-known/oauth-authorization-server`)
    expect(server.headers.get('access-control-allow-origin')).toBe('*')
    expect(await jsonOf(server)).toMatchObject({
      issuer: 'https://auth.example.com/',
      token_endpoint: 'https://auth.example.com/token',
      registration_endpoint: 'https://auth.example.com/register',
    })
    const resource = await fetch(`${http.base}/.well-known/oauth-protected-resource`)
    expect((await jsonOf(resource)).authorization_servers).toEqual(['https://auth.example.com/'])
  })

  it('requires an HTTPS issuer', () => {
    const issuerUrl = new URL('http://auth.example.com')
    expect(() => mcpAuthRouter({ provider: memoryProvider(), issuerUrl })).toThrow('Issuer URL must be HTTPS')
  })
})

describe('requireBearerAuth', () => {
  it('challenges callers without a token or scope, and names the metadata', async () => {
    await using http = await start()
    const missing = await fetch(`${http.base}/read`)
    expect(missing.status).toBe(401)
    expect(missing.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", error_description="Missing Authorization header", scope="read", ' +
        'resource_metadata="https://auth.example.com/.well-known/oauth-protected-resource/mcp"',
    )
    const scope = await fetch(`${http.base}/write`, { headers: { authorization: 'Bearer access-1' } })
    expect([scope.status, (await jsonOf(scope)).error]).toEqual([403, 'insufficient_scope'])
  })
})

describe('redirectUriMatches', () => {
  it('lets only programs on the same machine choose another port', () => {
    expect(redirectUriMatches('http://127.0.0.1:9999/cb', 'http://127.0.0.1/cb')).toBe(true)
    expect(redirectUriMatches('http://localhost/cb', 'http://127.0.0.1/cb')).toBe(false)
    expect(redirectUriMatches('https://a.example:9999/cb', 'https://a.example/cb')).toBe(false)
  })
})
