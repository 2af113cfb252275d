import type { ServerResponse } from 'node:http'
import { checkIssuerUrl } from '../../../../auth/resource/issuer-fetch.ts'
import { AuthorizationEndpoints, toMetadata } from '../../../../auth/server/endpoints.ts'
import { providerBackend, type RegistrationOptions } from '../../../../auth/server/provider-backend.ts'
import type { OAuthServerProvider, RedirectingResponse } from '../../../../auth/server/provider-port.ts'
import { routesMiddleware } from './auth-routes.ts'
import { mcpAuthMetadataRouter, type NodeMiddleware } from './middleware.ts'

export interface AuthRouterOptions {
  /** What decides: `ProxyOAuthServerProvider`, or one of your own. */
  provider: OAuthServerProvider<ServerResponse & RedirectingResponse>
  issuerUrl: string | URL
  /** Where the endpoints are. Default: `issuerUrl`. */
  baseUrl?: string | URL | undefined
  serviceDocumentationUrl?: string | URL | undefined
  scopesSupported?: readonly string[] | undefined
  /** The URL of the MCP server as clients know it, such as `https://mcp.example.com/mcp`. Default: `baseUrl`. */
  resourceServerUrl?: string | URL | undefined
  resourceName?: string | undefined
  clientRegistrationOptions?: RegistrationOptions | undefined
}

/**
 * The endpoints of an authorization server over a provider, for Express and its like. To be mounted at the root.
 *
 * @example
 * app.use(mcpAuthRouter({ provider, issuerUrl: 'https://auth.example.com' }))
 */
export function mcpAuthRouter(options: AuthRouterOptions): NodeMiddleware {
  const { issuerUrl, baseUrl = issuerUrl, serviceDocumentationUrl, scopesSupported, resourceName } = options
  for (const url of [issuerUrl, baseUrl]) {
    if (/[?#]/.test(checkIssuerUrl('mcpAuthRouter: issuerUrl', url).href)) {
      throw new TypeError('mcpAuthRouter: issuerUrl has neither query nor fragment')
    }
  }
  const backend = providerBackend({
    provider: options.provider as OAuthServerProvider,
    issuer: String(issuerUrl),
    baseUrl: String(baseUrl),
    metadata: serviceDocumentationUrl ? { service_documentation: String(serviceDocumentationUrl) } : {},
    scopesSupported,
    registration: options.clientRegistrationOptions,
    reportError,
  })
  const endpoints = routesMiddleware(new AuthorizationEndpoints(backend))
  const resource = mcpAuthMetadataRouter({
    oauthMetadata: toMetadata(backend),
    resourceServerUrl: options.resourceServerUrl ?? baseUrl,
    serviceDocumentationUrl,
    scopesSupported,
    resourceName,
  })
  return (request, response, next) => endpoints(request, response, () => resource(request, response, next))
}

function reportError(error: unknown): void {
  console.error('[tenon] The authorization server failed:', error instanceof Error ? error.message : error)
}
