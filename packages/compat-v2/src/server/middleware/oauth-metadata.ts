import type { OAuthMetadata, OAuthProtectedResourceMetadata } from '@tenon/compat-v1/shared/auth.js'
import { OAuthError, OAuthErrorCode } from '../../core/errors.ts'

export interface AuthMetadataOptions {
  /** The metadata of the authorization server. */
  oauthMetadata: OAuthMetadata
  /** The URL of the MCP server, as clients know it. */
  resourceServerUrl: URL
  serviceDocumentationUrl?: URL
  scopesSupported?: string[]
  resourceName?: string
  /** Accepts an issuer without TLS. For tests only. */
  dangerouslyAllowInsecureIssuerUrl?: boolean
}

/** Describes the MCP server to OAuth clients (RFC 9728). */
export function buildOAuthProtectedResourceMetadata(options: AuthMetadataOptions): OAuthProtectedResourceMetadata {
  const { oauthMetadata, resourceServerUrl, scopesSupported, resourceName, serviceDocumentationUrl } = options
  checkIssuer(new URL(oauthMetadata.issuer), options.dangerouslyAllowInsecureIssuerUrl ?? false)
  return {
    resource: resourceServerUrl.href,
    authorization_servers: [oauthMetadata.issuer],
    ...(scopesSupported && { scopes_supported: scopesSupported }),
    ...(resourceName !== undefined && { resource_name: resourceName }),
    ...(serviceDocumentationUrl && { resource_documentation: serviceDocumentationUrl.href }),
  }
}

/** The URL of the metadata of an MCP server. */
export function getOAuthProtectedResourceMetadataUrl(serverUrl: URL): string {
  return new URL(metadataPath(serverUrl), serverUrl).href
}

/** Returns the response to a request for OAuth metadata; undefined for other requests. */
export function oauthMetadataResponse(request: Request, options: AuthMetadataOptions): Response | undefined {
  const path = withoutSlash(new URL(request.url).pathname)
  const metadata = buildOAuthProtectedResourceMetadata(options)
  if (path === metadataPath(options.resourceServerUrl)) return documentResponse(request, metadata)
  if (path === '/.well-known/oauth-authorization-server') return documentResponse(request, options.oauthMetadata)
  return undefined
}

export function metadataPath({ pathname }: URL): string {
  const path = withoutSlash(pathname)
  return `/.well-known/oauth-protected-resource${path === '/' ? '' : path}`
}

const allow = 'GET, HEAD, OPTIONS'
const anyOrigin = { 'Access-Control-Allow-Origin': '*' }

function documentResponse({ method, headers }: Request, metadata: object): Response {
  if (method === 'OPTIONS') {
    const requested = headers.get('access-control-request-headers')
    const vary = requested !== null && {
      'Access-Control-Allow-Headers': requested,
      Vary: 'Access-Control-Request-Headers',
    }
    return new Response(null, {
      status: 204,
      headers: { ...anyOrigin, 'Access-Control-Allow-Methods': allow, ...(vary || {}) },
    })
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const message = `The method ${method} is not allowed for this endpoint`
    const error = new OAuthError(OAuthErrorCode.MethodNotAllowed, message)
    return Response.json(error.toResponseObject(), { status: 405, headers: { Allow: allow, ...anyOrigin } })
  }
  const response = Response.json(metadata, { headers: anyOrigin })
  return method === 'HEAD' ? new Response(null, response) : response
}

function checkIssuer(issuer: URL, allowInsecure: boolean): void {
  const isLocal = issuer.hostname === 'localhost' || issuer.hostname === '127.0.0.1'
  if (issuer.protocol !== 'https:' && !isLocal && !allowInsecure) throw new Error('Issuer URL must be HTTPS')
  if (issuer.hash) throw new Error(`Issuer URL must not have a fragment: ${issuer}`)
  if (issuer.search) throw new Error(`Issuer URL must not have a query string: ${issuer}`)
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
