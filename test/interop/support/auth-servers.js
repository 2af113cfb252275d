import { createServer as createHttpServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth as requireBearerAuthV1 } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { ProxyOAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/providers/proxyProvider.js'
import { mcpAuthMetadataRouter, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js'
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import * as v2 from '@modelcontextprotocol/server'
import express from 'express'
import { checkScopes, jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { serveSessions } from '../servers/sessions.js'
import { metadataOf } from './auth.js'

// Servers that require a token of the issuer. Each has the tools `whoami`, which returns the subject and scopes of the
// token, and `shred`, which also requires the scope `shred` if the package supports that.

const info = { name: 'vault', version: '1.0.0' }
const requiredScopes = ['read']
const scopesSupported = ['read', 'shred']

/** @returns The URL of the server. */
export async function startTenonVault(t, issuer, auth = {}) {
  const server = new McpServer(info)
  server.registerTool('whoami', {}, (_args, ctx) => whoIs(ctx.auth.subject, ctx.auth.scopes))
  server.registerTool('shred', {}, (_args, ctx) => {
    checkScopes(ctx.auth, ['shred'])
    return 'shredded'
  })
  const http = await serveHttp(server, {
    port: 0,
    exit: false,
    sse: true,
    auth: {
      verify: jwtVerifier({ issuer: issuer.issuer }),
      authorizationServers: [issuer.issuer],
      requiredScopes,
      scopesSupported,
      ...auth,
    },
  })
  t.after(() => http.close())
  return http.url
}

/**
 * Servers built with the official packages; `start(t, issuer, options)` returns the URL and `expire()`, which expires
 * all tokens used so far. With `metadataUrlInChallenge: false` the client has to discover the metadata.
 */
export const officialVaults = {
  'official v1': { start: startV1 },
  'official v2': { start: startV2 },
}

async function startV1(t, issuer, { metadataUrlInChallenge = true } = {}) {
  const app = express()
  const url = await listen(t, app)
  const invalid = () => new InvalidTokenError('Nobody we know')
  const { verifier, expire } = createVerifier(issuer, [url], invalid)
  const described = describe(url, await metadataOf(issuer))
  app.use(mcpAuthMetadataRouter(described))
  const gate = requireBearerAuthV1({ ...bearerOptions(url, metadataUrlInChallenge), verifier })
  const serve = serveSessions(createV1, StreamableHTTPServerTransport)
  app.all('/mcp', gate, (request, response) => serve(request, response))
  return { url, expire }
}

/**
 * A server that is its own authorization server, with `mcpAuthRouter` as a proxy for the issuer behind it.
 *
 * @param options `resourceMetadata: false` serves authorization metadata at the own origin, as before 2025-06-18.
 */
export async function startOwnIssuer(t, issuer, { resourceMetadata = true } = {}) {
  const app = express()
  const url = await listen(t, app)
  const { verifier, expire } = createVerifier(
    issuer,
    [url, issuer.issuer],
    () => new InvalidTokenError('Nobody we know'),
  )
  const { authorization_endpoint, token_endpoint, registration_endpoint } = await metadataOf(issuer)
  const provider = new RememberingProxy({
    endpoints: {
      authorizationUrl: authorization_endpoint,
      tokenUrl: token_endpoint,
      registrationUrl: registration_endpoint,
    },
    verifyAccessToken: (token) => verifier.verifyAccessToken(token),
  })
  if (!resourceMetadata) app.use('/.well-known/oauth-protected-resource', (_, response) => response.sendStatus(404))
  const { origin } = new URL(url)
  app.use(mcpAuthRouter({ provider, issuerUrl: new URL(origin), resourceServerUrl: new URL(url), scopesSupported }))
  const resourceMetadataUrl = v2.getOAuthProtectedResourceMetadataUrl(new URL(url))
  const gate = requireBearerAuthV1({ verifier: provider, ...(resourceMetadata && { resourceMetadataUrl }) })
  const serve = serveSessions(createV1, StreamableHTTPServerTransport)
  app.all('/mcp', gate, (request, response) => serve(request, response))
  return { url, expire }
}

/** The proxy does not store registered clients. */
class RememberingProxy extends ProxyOAuthServerProvider {
  #known = new Map()

  get clientsStore() {
    const { registerClient } = super.clientsStore
    return {
      getClient: (id) => this.#known.get(id),
      registerClient: async (asked) => {
        const client = await registerClient(asked)
        this.#known.set(client.client_id, client)
        return client
      },
    }
  }
}

function createV1() {
  const server = new McpServerV1(info)
  const text = (text) => ({ content: [{ type: 'text', text }] })
  server.registerTool('whoami', {}, ({ authInfo }) => text(whoIs(authInfo.extra.subject, authInfo.scopes)))
  server.registerTool('shred', {}, () => text('shredded'))
  return server
}

async function startV2(t, issuer, { metadataUrlInChallenge = true } = {}) {
  let serve
  const url = await listen(t, (request, response) => serve(request, response))
  const invalid = () => new v2.OAuthError(v2.OAuthErrorCode.InvalidToken, 'Nobody we know')
  const { verifier, expire } = createVerifier(issuer, [url], invalid)
  const described = describe(url, await metadataOf(issuer))
  const gate = v2.requireBearerAuth({ ...bearerOptions(url, metadataUrlInChallenge), verifier })
  const handler = v2.createMcpHandler(createV2, { legacy: 'stateless' })
  const answer = async (request) => {
    const document = v2.oauthMetadataResponse(request, described)
    if (document) return document
    const authInfo = await gate(request)
    return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo })
  }
  serve = toNodeHandler({ fetch: answer })
  return { url, expire }
}

function createV2() {
  const server = new v2.McpServer(info)
  const text = (text) => ({ content: [{ type: 'text', text }] })
  server.registerTool('whoami', {}, ({ http: { authInfo } }) => text(whoIs(authInfo.extra.subject, authInfo.scopes)))
  const scopeChallenge = v2.requireScopes('read', 'shred')
  server.registerTool('shred', { scopeChallenge }, () => text('shredded'))
  return server
}

function whoIs(subject, scopes) {
  return `${subject} ${[...scopes].sort().join('+')}`
}

function describe(url, oauthMetadata) {
  return { oauthMetadata, resourceServerUrl: new URL(url), scopesSupported, resourceName: 'Vault' }
}

function bearerOptions(url, metadataUrlInChallenge) {
  const resourceMetadataUrl = v2.getOAuthProtectedResourceMetadataUrl(new URL(url))
  return { requiredScopes, expectedResource: new URL(url), ...(metadataUrlInChallenge && { resourceMetadataUrl }) }
}

/** The verifier interface of both packages. */
function createVerifier(issuer, audience, invalid) {
  const verify = jwtVerifier({ issuer: issuer.issuer, audience, clockToleranceSec: 0 })
  const seen = new Set()
  const expired = new Set()
  const verifyAccessToken = async (token) => {
    const auth = await verify(token)
    if (!auth) throw invalid()
    seen.add(token)
    const { clientId, scopes, subject, claims } = auth
    const expiresAt = expired.has(token) ? 1 : auth.expiresAt
    return { token, clientId, scopes: [...scopes], expiresAt, resource: new URL(claims.aud), extra: { subject } }
  }
  const expire = () => {
    for (const token of seen) expired.add(token)
  }
  return { verifier: { verifyAccessToken }, expire }
}

async function listen(t, listener) {
  const http = createHttpServer(listener)
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return `http://127.0.0.1:${http.address().port}/mcp`
}
