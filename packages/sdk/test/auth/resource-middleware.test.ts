import type { IncomingMessage, ServerResponse } from 'node:http'
import { createMcpHandler, StreamableHTTPServerTransport } from 'tenon/server'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { BearerAuthOptions } from '../../src/auth/resource/middleware.ts'
import { type AuthOptions, InvalidTokenError } from '../../src/auth/resource/options.ts'
import { mcpAuthMetadataRouter, requireBearerAuth } from '../../src/transport/http/server/auth-middleware.ts'
import type { NodeMiddleware } from '../../src/transport/http/server/auth-routes.ts'
import { overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { rawPost } from '../kit/raw-http.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../kit/revisions.ts'
import { listenWith } from '../kit/serve-http.ts'
import { challengeOf, guarded, Issuer, now, openWith, withToken } from './resource-support.ts'

const resource = 'https://mcp.example.com/mcp'
const resourceMetadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

let issuer: Issuer
beforeEach(async () => {
  issuer = await Issuer.start()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await issuer[Symbol.asyncDispose]()
})

/** What a framework does with a list of middleware. */
function inTurn(...layers: NodeMiddleware[]) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const step = (index: number): void => layers[index]?.(request, response, () => step(index + 1))
    step(0)
  }
}

/** A server behind `requireBearerAuth`, as an Express application has it. */
function behind(options: Partial<BearerAuthOptions> = {}) {
  const verifier = jwtVerifier({ issuer: issuer.url })
  const handler = createMcpHandler(guarded())
  return listenWith(inTurn(requireBearerAuth({ verifier, resourceMetadataUrl, ...options }), handler.node))
}

/** A verifier of the well-known interface. */
const known = {
  async verifyAccessToken(token: string) {
    if (!token.startsWith('good')) throw new InvalidTokenError('no')
    return { token, clientId: 'app', scopes: ['mcp'], expiresAt: now() + 60, extra: { sub: token.slice(5) } }
  },
}

describe('requireBearerAuth', () => {
  it('refuses to check a Request of the web platform, for which it has no answer', () => {
    const check = requireBearerAuth({ verifier: jwtVerifier({ issuer: issuer.url }), resourceMetadataUrl })
    const request = new Request(resource, { method: 'POST' })
    expect(() => (check as unknown as (request: Request) => unknown)(request)).toThrow(
      'requireBearerAuth is middleware for node:http: it was called without a response.',
    )
  })

  eachRevision(
    httpRevisions,
    'refuses callers without a token for this server [AUTH-006] [AUTH-013]',
    async (revision) => {
      await using place = await behind({ requiredScopes: ['mcp'] })
      await using without = new Peer(place.url, revision)
      const answer = await without.request('initialize', without.greeting())
      expect(answer.status).toBe(401)
      expect(challengeOf(answer)).toEqual({ scope: 'mcp', resource_metadata: resourceMetadataUrl })
      const foreign = await issuer.token({ aud: 'https://other.example', scope: 'mcp' })
      await using other = new Peer(place.url, revision, withToken(foreign))
      expect((await other.request('initialize', other.greeting())).status).toBe(401)
    },
  )

  eachRevision(
    httpRevisions,
    'lets authorized callers through and exposes them to handlers [AUTH-012]',
    async (revision) => {
      await using place = await behind()
      await using peer = await openWith(place.url, revision, await issuer.token({ aud: resource, scope: 'mcp' }))
      expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({
        subject: 'ann',
        clientId: 'app',
        scopes: ['mcp'],
        extra: { sub: 'ann' },
      })
    },
  )

  eachRevision(
    sessionRevisions,
    'binds a session to its user, although another user has the same client [SESS-014]',
    async (revision) => {
      await using place = await behind()
      await using ann = await openWith(place.url, revision, await issuer.token({ aud: resource }))
      await using bob = ann.at(place.url, withToken(await issuer.token({ aud: resource, sub: 'bob' })).headers)
      expect((await bob.call('echo')).status).toBe(404)
      expect(await ann.textOf('echo', { text: 'x' })).toBe('x')
    },
  )

  eachRevision(
    httpRevisions,
    'answers 403 with the missing scope when a tool needs more [AUTH-075] [AUTH-076]',
    async (revision) => {
      await using place = await behind()
      await using peer = await openWith(place.url, revision, await issuer.token({ aud: resource, scope: 'mcp' }))
      const answer = await peer.call('delete')
      expect(answer.status).toBe(403)
      expect(challengeOf(answer)).toEqual({ error: 'insufficient_scope', scope: 'files:read files:delete' })
    },
  )

  it('answers 403 to tokens with too little scope [AUTH-007]', async () => {
    await using place = await behind({ requiredScopes: ['mcp', 'files'] })
    await using peer = new Peer(place.url, modern, withToken(await issuer.token({ aud: resource, scope: 'mcp' })))
    const answer = await peer.call('echo')
    expect(answer.status).toBe(403)
    expect(challengeOf(answer)).toMatchObject({ error: 'insufficient_scope', scope: 'mcp files' })
  })

  it('accepts verifiers of the official interface and hides the token', async () => {
    let seen: unknown
    const spy: NodeMiddleware = (request, _response, next) => {
      seen = request.auth
      next?.()
    }
    const handler = createMcpHandler(guarded())
    await using place = await listenWith(inTurn(requireBearerAuth({ verifier: known }), spy, handler.node))
    await using peer = new Peer(place.url, modern, withToken('good-ann'))
    expect(await peer.textOf('who')).not.toContain('good-ann')
    expect((seen as { token?: string }).token).toBe('good-ann')
    expect(JSON.stringify(seen)).not.toContain('good-ann')
    await using bad = new Peer(place.url, modern, withToken('bad'))
    const answer = await bad.call('who')
    expect(answer.status).toBe(401)
    expect(challengeOf(answer)).toMatchObject({ error: 'invalid_token' })
  })

  it('answers 503 without details when the verifier fails', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const verifier = { verifyAccessToken: () => Promise.reject(new Error('no connection')) }
    await using place = await behind({ verifier })
    await using peer = new Peer(place.url, modern, withToken('secret-token'))
    const answer = await peer.call('echo')
    expect(answer.status).toBe(503)
    expect(await answer.text()).not.toContain('connection')
    expect(JSON.stringify(said.mock.calls)).not.toContain('secret-token')
  })

  it('protects a transport that is routed by hand', async () => {
    const server = guarded()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    await server.connect(transport)
    const route: NodeMiddleware = (request, response) => void transport.handleRequest(request, response)
    await using place = await listenWith(inTurn(requireBearerAuth({ verifier: known }), route))
    await using peer = await openWith(place.url, '2025-11-25', 'good-ann')
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ clientId: 'app', extra: { sub: 'ann' } })
    await using bob = peer.at(place.url, withToken('good-bob').headers)
    expect((await bob.call('echo')).status).toBe(404)
    await transport.close()
  })
})

it('refuses two Authorization headers on servers that expose only the first [AUTH-007]', async () => {
  const verify = () => ({ clientId: 'c', scopes: [] })
  const handler = createMcpHandler(guarded(), { auth: { verify, authorizationServers: [issuer.url], resource } })
  for (const answer of [handler.node, inTurn(requireBearerAuth({ verifier: verify }), handler.node)]) {
    await using place = await listenWith(answer)
    const lines = ['host: 127.0.0.1', 'authorization: Bearer a', 'authorization: Bearer b']
    expect((await rawPost(place.port, lines, '')).status).toBe(400)
  }
})

describe('`auth` of StreamableHTTPServerTransport', () => {
  it('checks tokens like other entry points [AUTH-006] [AUTH-013]', async () => {
    const auth: AuthOptions = {
      verify: jwtVerifier({ issuer: issuer.url }),
      authorizationServers: [issuer.url],
      resource,
    }
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, auth })
    await guarded().connect(transport)
    await using place = await listenWith((request, response) => void transport.handleRequest(request, response))
    await using without = new Peer(place.url, modern)
    expect((await without.call('who')).status).toBe(401)
    await using peer = new Peer(place.url, modern, withToken(await issuer.token({ aud: resource })))
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ subject: 'ann' })
    await transport.close()
  })
})

describe('mcpAuthMetadataRouter', () => {
  const oauthMetadata = { issuer: 'https://as.example', token_endpoint: 'https://as.example/token' }
  const options = {
    oauthMetadata,
    resourceServerUrl: new URL(resource),
    resourceName: 'Files',
    scopesSupported: ['mcp', 'offline_access'],
    serviceDocumentationUrl: 'https://docs.example.com/',
  }

  it('serves login metadata and passes other requests on [AUTH-017] [AUTH-027] [AUTH-028] [AUTH-101]', async () => {
    const rest: NodeMiddleware = (_request, response) => response.writeHead(418).end()
    await using place = await listenWith(inTurn(mcpAuthMetadataRouter(options), rest))
    const get = (path: string) => overHttp(place.url)({ method: 'GET', path })
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource']) {
      expect(await (await get(path)).json()).toEqual({
        resource,
        authorization_servers: ['https://as.example'],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'Files',
        resource_documentation: 'https://docs.example.com/',
      })
    }
    const server = await get('/.well-known/oauth-authorization-server')
    expect(await server.json()).toEqual(oauthMetadata)
    expect(server.headers['access-control-allow-origin']).toBe('*')
    expect((await get('/mcp')).status).toBe(418)
  })

  it('answers 404 itself where no handler follows', async () => {
    await using place = await listenWith(mcpAuthMetadataRouter(options))
    expect((await overHttp(place.url)({ method: 'GET', path: '/else' })).status).toBe(404)
  })
})
