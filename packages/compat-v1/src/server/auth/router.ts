import express, { type RequestHandler, type Router } from 'express'
import type { OAuthMetadata, OAuthProtectedResourceMetadata } from '../../shared/auth.ts'
import { type AuthorizationHandlerOptions, authorizationHandler } from './handlers/authorize.ts'
import { metadataHandler } from './handlers/metadata.ts'
import { type ClientRegistrationHandlerOptions, clientRegistrationHandler } from './handlers/register.ts'
import { type RevocationHandlerOptions, revocationHandler } from './handlers/revoke.ts'
import { type TokenHandlerOptions, tokenHandler } from './handlers/token.ts'
import type { OAuthServerProvider } from './provider.ts'

/** What the metadata of an authorization server is made from. */
interface MetadataSource {
  provider: OAuthServerProvider
  /** The issuer: an HTTPS URL without query and fragment. */
  issuerUrl: URL
  /** The URL that the endpoints are under. Default: the issuer. */
  baseUrl?: URL | undefined
  serviceDocumentationUrl?: URL | undefined
  scopesSupported?: string[] | undefined
}

/** Options of `mcpAuthRouter`. */
export type AuthRouterOptions = MetadataSource & {
  /** The name of the protected resource, for users. */
  resourceName?: string | undefined
  /** The URL of the MCP server. Default: `baseUrl`, or the issuer. */
  resourceServerUrl?: URL | undefined
  authorizationOptions?: Omit<AuthorizationHandlerOptions, 'provider'> | undefined
  clientRegistrationOptions?: Omit<ClientRegistrationHandlerOptions, 'clientsStore'> | undefined
  revocationOptions?: Omit<RevocationHandlerOptions, 'provider'> | undefined
  tokenOptions?: Omit<TokenHandlerOptions, 'provider'> | undefined
}

/** Options of `mcpAuthMetadataRouter`. */
export type AuthMetadataOptions = {
  /** The metadata of the authorization server. */
  oauthMetadata: OAuthMetadata
  /** The URL of the MCP server. */
  resourceServerUrl: URL
  serviceDocumentationUrl?: URL | undefined
  scopesSupported?: string[] | undefined
  resourceName?: string | undefined
}

const allowsHttp = ['true', '1'].includes(process.env.MCP_DANGEROUSLY_ALLOW_INSECURE_ISSUER_URL ?? '')
if (allowsHttp) {
  console.warn(
    'MCP_DANGEROUSLY_ALLOW_INSECURE_ISSUER_URL is enabled - HTTP issuer URLs are allowed. Do not use in production.',
  )
}

/** Returns the metadata of an authorization server (RFC 8414). */
export const createOAuthMetadata = (options: MetadataSource): OAuthMetadata => {
  const { provider, issuerUrl, baseUrl = issuerUrl, serviceDocumentationUrl, scopesSupported } = options
  checkIssuer(issuerUrl)
  const endpoint = (path: string) => new URL(path, baseUrl).href
  const canRevoke = provider.revokeToken !== undefined
  return {
    issuer: issuerUrl.href,
    service_documentation: serviceDocumentationUrl?.href,
    authorization_endpoint: endpoint('/authorize'),
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint: endpoint('/token'),
    token_endpoint_auth_methods_supported: ['client_secret_post', 'none'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    scopes_supported: scopesSupported,
    revocation_endpoint: canRevoke ? endpoint('/revoke') : undefined,
    revocation_endpoint_auth_methods_supported: canRevoke ? ['client_secret_post'] : undefined,
    registration_endpoint: provider.clientsStore.registerClient ? endpoint('/register') : undefined,
  }
}

/** Returns a router with all endpoints of an authorization server and their metadata. Mount it at the root of the application. */
export function mcpAuthRouter(options: AuthRouterOptions): RequestHandler {
  const { provider } = options
  const metadata = createOAuthMetadata(options)
  const router = express.Router()
  router.use(
    pathOf(metadata.authorization_endpoint),
    authorizationHandler({ provider, ...options.authorizationOptions }),
  )
  router.use(pathOf(metadata.token_endpoint), tokenHandler({ provider, ...options.tokenOptions }))
  router.use(
    mcpAuthMetadataRouter({
      ...options,
      oauthMetadata: metadata,
      resourceServerUrl: options.resourceServerUrl ?? options.baseUrl ?? new URL(metadata.issuer),
    }),
  )
  if (metadata.registration_endpoint) {
    const { clientsStore } = provider
    const handler = clientRegistrationHandler({ clientsStore, ...options.clientRegistrationOptions })
    router.use(pathOf(metadata.registration_endpoint), handler)
  }
  if (metadata.revocation_endpoint) {
    router.use(pathOf(metadata.revocation_endpoint), revocationHandler({ provider, ...options.revocationOptions }))
  }
  return router
}

/** Returns a router with the metadata of the MCP server, and that of its authorization server for older clients. */
export function mcpAuthMetadataRouter(options: AuthMetadataOptions): Router {
  const { oauthMetadata, resourceServerUrl, serviceDocumentationUrl, scopesSupported, resourceName } = options
  checkIssuer(new URL(oauthMetadata.issuer))
  const resource: OAuthProtectedResourceMetadata = {
    resource: resourceServerUrl.href,
    authorization_servers: [oauthMetadata.issuer],
    scopes_supported: scopesSupported,
    resource_name: resourceName,
    resource_documentation: serviceDocumentationUrl?.href,
  }
  const router = express.Router()
  router.use(pathOf(getOAuthProtectedResourceMetadataUrl(resourceServerUrl)), metadataHandler(resource))
  router.use('/.well-known/oauth-authorization-server', metadataHandler(oauthMetadata))
  return router
}

/** Returns the URL of the metadata of an MCP server (RFC 9728), for `resourceMetadataUrl` of `requireBearerAuth`. */
export function getOAuthProtectedResourceMetadataUrl(serverUrl: URL): string {
  const path = serverUrl.pathname === '/' ? '' : serverUrl.pathname
  return new URL(`/.well-known/oauth-protected-resource${path}`, serverUrl).href
}

/** RFC 8414 requires HTTPS. Development on this machine is the exception. */
function checkIssuer(issuer: URL): void {
  const isLocal = issuer.hostname === 'localhost' || issuer.hostname === '127.0.0.1'
  if (issuer.protocol !== 'https:' && !isLocal && !allowsHttp) throw new Error('Issuer URL must be HTTPS')
  if (issuer.hash) throw new Error(`Issuer URL must not have a fragment: ${issuer}`)
  if (issuer.search) throw new Error(`Issuer URL must not have a query string: ${issuer}`)
}

function pathOf(url: string): string {
  return new URL(url).pathname
}
