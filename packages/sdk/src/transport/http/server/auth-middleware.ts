import { createBroker } from '../../../auth/broker/broker.ts'
import type { BrokerOptions } from '../../../auth/broker/options.ts'
import type { AuthRoutes } from '../../../auth/http.ts'
import { ResourceMetadata } from '../../../auth/resource/metadata.ts'
import {
  type AuthMetadataOptions,
  BearerAuth,
  type BearerAuthOptions,
  metadataDocuments,
} from '../../../auth/resource/middleware.ts'
import type { AuthInfo, AuthOptions } from '../../../auth/resource/options.ts'
import { type AuthRouterOptions, authRouter } from '../../../auth/server/router.ts'
import { headOf, type NodeMiddleware, routesFetch, toMiddleware, toRefusal } from './auth-routes.ts'
import { NodeCall } from './node.ts'

/**
 * Requires a valid access token. Passes the request on with the identity of the token as `request.auth`, which handlers find
 * in `ctx.auth`; refuses all others with a challenge. Without a framework, pass `auth` to `serveHttp` or `createMcpHandler`.
 *
 * @example
 * const verifier = jwtVerifier({ issuer: 'https://auth.example.com' })
 * const resourceMetadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'
 * app.all('/mcp', requireBearerAuth({ verifier, resourceMetadataUrl }), handler.node)
 */
export function requireBearerAuth(options: BearerAuthOptions): NodeMiddleware {
  const bearerAuth = new BearerAuth(options)
  return (request, response, next) => {
    // Code for web requests takes its result for the identity. Nothing as the result would let everyone pass.
    if (!response)
      throw new TypeError(
        'requireBearerAuth is middleware for node:http: it was called without a response. For a Request of the web platform, pass auth to createMcpHandler().',
      )
    const call = new NodeCall(request, response)
    bearerAuth.check(headOf(call)).then(
      (outcome) => {
        if ('message' in outcome) return toRefusal(outcome).send(call)
        for (const [name, value] of Object.entries(outcome.headers ?? {})) response.setHeader(name, value)
        request.auth = outcome.auth
        next?.()
      },
      (error) => next?.(error),
    )
  }
}

/**
 * Serves the metadata that clients need to log in, and passes all other requests on. Mount it at the root.
 *
 * @example
 * app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: 'https://mcp.example.com/mcp' }))
 */
export function mcpAuthMetadataRouter(options: AuthMetadataOptions): NodeMiddleware {
  return toMiddleware({ documents: metadataDocuments(options) })
}

/**
 * Serves the endpoints of an authorization server on top of a provider, for Express and similar frameworks. Mount it at the
 * root.
 *
 * @example
 * app.use(mcpAuthRouter({ provider, issuerUrl: 'https://auth.example.com' }))
 */
export function mcpAuthRouter(options: AuthRouterOptions): NodeMiddleware {
  return toMiddleware(authRouter(options))
}

/** An authorization server in front of an identity provider. Pass it as `auth` to `serveHttp` or `createMcpHandler`. */
export interface Broker extends AuthOptions {
  readonly routes: AuthRoutes
  /** The redirect URI to register at the provider. */
  readonly callbackUrl: string
  /**
   * Returns the provider's access token for the user of a call, refreshed if needed, to call the provider's API. Rejects with
   * an `McpError` if the user has to sign in again.
   */
  upstreamToken(auth: AuthInfo | undefined): Promise<string>
  /** Serves the endpoints and the metadata in Express and similar frameworks: `app.use(auth.node)`, at the root. */
  readonly node: NodeMiddleware
  /** Serves the endpoints on runtimes with `fetch`; 404 for everything else. Not needed with `createMcpHandler`. */
  fetch(request: Request): Promise<Response>
}

/**
 * Creates an authorization server in front of an identity provider that cannot register MCP clients (GitHub, Google, Entra,
 * Okta, ...). MCP clients register here; users see which client asks, give their consent and sign in at the provider.
 * Clients get tokens of this server and never those of the provider, which handlers get from `upstreamToken`.
 *
 * @example
 * const auth = broker({
 *   resource: 'https://mcp.example.com/mcp',
 *   upstream: providers.github({ clientId, clientSecret }),
 *   scopes: { notes: 'Read your notes' },
 * })
 * await serveHttp(server, { auth })
 */
export function broker(options: BrokerOptions): Broker {
  const core = createBroker(options)
  return {
    ...core,
    node: toMiddleware({ routes: core.routes, documents: new ResourceMetadata(core) }),
    fetch: (request) => routesFetch(core.routes, request),
  }
}
