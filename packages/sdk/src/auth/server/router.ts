import type { ServerResponse } from 'node:http'
import type { AuthRoutes, PublicDocuments } from '../http.ts'
import { checkIssuerUrl } from '../resource/issuer-fetch.ts'
import { metadataDocuments } from '../resource/middleware.ts'
import { AuthorizationEndpoints, toMetadata } from './endpoints.ts'
import { providerBackend, type RegistrationOptions } from './provider-backend.ts'
import type { OAuthServerProvider, RedirectingResponse } from './provider-port.ts'

/** Options of `mcpAuthRouter`. */
export interface AuthRouterOptions {
  /** Decides about clients and tokens: a `ProxyOAuthServerProvider`, or your own provider. */
  provider: OAuthServerProvider<ServerResponse & RedirectingResponse>
  /** The issuer identifier of the authorization server. */
  issuerUrl: string | URL
  /** The URL below which the endpoints are served. Default: `issuerUrl`. */
  baseUrl?: string | URL | undefined
  /** The URL of the developer documentation. */
  serviceDocumentationUrl?: string | URL | undefined
  /** Scopes that clients may request. */
  scopesSupported?: readonly string[] | undefined
  /** The public URL of the MCP server, such as `https://mcp.example.com/mcp`. Default: `baseUrl`. */
  resourceServerUrl?: string | URL | undefined
  /** The display name of the MCP server. */
  resourceName?: string | undefined
  /** How clients register themselves. */
  clientRegistrationOptions?: RegistrationOptions | undefined
}

/** The endpoints and documents behind `mcpAuthRouter`. */
export function authRouter(options: AuthRouterOptions): { routes: AuthRoutes; documents: PublicDocuments } {
  const { issuerUrl, baseUrl = issuerUrl, serviceDocumentationUrl, scopesSupported, resourceName } = options
  for (const url of [issuerUrl, baseUrl]) {
    if (/[?#]/.test(checkIssuerUrl('mcpAuthRouter: issuerUrl', url).href)) {
      throw new TypeError('mcpAuthRouter: issuerUrl must not have a query or a fragment.')
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
  const documents = metadataDocuments({
    oauthMetadata: toMetadata(backend),
    resourceServerUrl: options.resourceServerUrl ?? baseUrl,
    serviceDocumentationUrl,
    scopesSupported,
    resourceName,
  })
  return { routes: new AuthorizationEndpoints(backend), documents }
}

function reportError(error: unknown): void {
  console.error('[tenon] The authorization server failed:', error instanceof Error ? error.message : error)
}
