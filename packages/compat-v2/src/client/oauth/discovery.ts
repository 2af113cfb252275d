import { authorizationServerOf, MetadataDiscovery } from '@tenon/compat-v1/client/oauth/metadata-discovery.js'
import type { OAuthMetadata, OAuthProtectedResourceMetadata } from '@tenon/compat-v1/shared/auth.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { IssuerMismatchError } from '../authErrors.ts'
import { CORS_IS_POSSIBLE } from './cors.ts'
import type { OAuthServerInfo } from './provider.ts'
import { type AuthorizationServerMetadata, parseServerMetadata } from './schemas.ts'

const discovery = new MetadataDiscovery({
  isCorsPossible: () => CORS_IS_POSSIBLE,
  // Proxies answer 502 for paths that they do not serve.
  isMissing: (status) => status < 500 || status === 502,
  parseServerMetadata,
})

/**
 * Fetches the metadata of a protected resource (RFC 9728): at `resourceMetadataUrl`, else at the well-known URL with the path of
 * the server, else at that of its origin. Throws if there is none.
 */
export async function discoverOAuthProtectedResourceMetadata(
  serverUrl: string | URL,
  opts?: { protocolVersion?: string; resourceMetadataUrl?: string | URL },
  fetchFn?: FetchLike,
): Promise<OAuthProtectedResourceMetadata> {
  const { protocolVersion, resourceMetadataUrl } = opts ?? {}
  return discovery.resourceMetadata(serverUrl, resourceMetadataUrl, { fetchFn, protocolVersion })
}

/**
 * Fetches the metadata of an authorization server (RFC 8414). Undefined if there is none.
 *
 * @deprecated Use `discoverAuthorizationServerMetadata`, which checks the issuer and also tries the URLs of OpenID Connect.
 */
export async function discoverOAuthMetadata(
  issuer: string | URL,
  opts?: { authorizationServerUrl?: string | URL; protocolVersion?: string },
  fetchFn?: FetchLike,
): Promise<OAuthMetadata | undefined> {
  const { authorizationServerUrl = issuer, protocolVersion } = opts ?? {}
  return discovery.oauthMetadata(authorizationServerUrl, { fetchFn, protocolVersion })
}

/**
 * Fetches the metadata of an authorization server from the first of its well-known URLs that has it. Undefined if none has.
 *
 * @param authorizationServerUrl The issuer, as the resource metadata names it.
 * @param opts.skipIssuerValidation Accepts metadata that name another issuer. **Weakens security**.
 * @throws {IssuerMismatchError} If the metadata name another issuer.
 */
export async function discoverAuthorizationServerMetadata(
  authorizationServerUrl: string | URL,
  opts: { fetchFn?: FetchLike; protocolVersion?: string; skipIssuerValidation?: boolean } = {},
): Promise<AuthorizationServerMetadata | undefined> {
  const metadata = await discovery.serverMetadata(authorizationServerUrl, opts)
  if (metadata && !opts.skipIssuerValidation) checkIssuer(metadata.issuer, authorizationServerUrl)
  return metadata as AuthorizationServerMetadata | undefined
}

/**
 * RFC 8414, 3.3: both are compared as text. The URL may have a slash at its end that the metadata lack, because the origin of a
 * server, which stands in for a missing issuer, is written with it.
 */
function checkIssuer(issuer: string, expected: string | URL): void {
  const text = typeof expected === 'string' ? expected : expected.href
  if (issuer !== text && `${issuer}/` !== text) throw new IssuerMismatchError('metadata', text, issuer)
}

/**
 * Finds the authorization server of an MCP server, and the metadata of both. A server without resource metadata is its own
 * authorization server.
 */
export async function discoverOAuthServerInfo(
  serverUrl: string | URL,
  opts: { resourceMetadataUrl?: URL; fetchFn?: FetchLike; skipIssuerMetadataValidation?: boolean } = {},
): Promise<OAuthServerInfo> {
  const { resourceMetadataUrl, fetchFn, skipIssuerMetadataValidation: skipIssuerValidation } = opts
  const resourceMetadata = await tryResourceMetadata(serverUrl, resourceMetadataUrl, fetchFn)
  const authorizationServerUrl = authorizationServerOf(serverUrl, resourceMetadata)
  const authorizationServerMetadata = await discoverAuthorizationServerMetadata(authorizationServerUrl, {
    fetchFn,
    skipIssuerValidation,
  })
  return { authorizationServerUrl, authorizationServerMetadata, resourceMetadata }
}

/** The resource metadata, or undefined if the server has none. Throws if the server cannot be reached. */
export async function tryResourceMetadata(
  serverUrl: string | URL,
  resourceMetadataUrl: URL | undefined,
  fetchFn: FetchLike | undefined,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  try {
    return await discoverOAuthProtectedResourceMetadata(serverUrl, { resourceMetadataUrl }, fetchFn)
  } catch (error) {
    // The network: another authorization server must not be used because this one was unreachable for a moment.
    if (error instanceof TypeError) throw error
    return undefined
  }
}
