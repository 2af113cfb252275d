import type { AuthorizationServerMetadata, OAuthMetadata, OAuthProtectedResourceMetadata } from '../../shared/auth.ts'
import type { FetchLike } from '../../shared/transport.ts'
import { authorizationServerOf, MetadataDiscovery, parseServerMetadata } from './metadata-discovery.ts'
import type { OAuthServerInfo } from './provider.ts'

const discovery = new MetadataDiscovery({
  isCorsPossible: () => true,
  isMissing: (status) => status < 500,
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
 * @deprecated Use `discoverAuthorizationServerMetadata`, which also tries the URLs of OpenID Connect.
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
 */
export async function discoverAuthorizationServerMetadata(
  authorizationServerUrl: string | URL,
  opts: { fetchFn?: FetchLike; protocolVersion?: string } = {},
): Promise<AuthorizationServerMetadata | undefined> {
  return discovery.serverMetadata(authorizationServerUrl, opts)
}

/**
 * Finds the authorization server of an MCP server, and the metadata of both. A server without resource metadata is its own
 * authorization server.
 */
export async function discoverOAuthServerInfo(
  serverUrl: string | URL,
  opts?: { resourceMetadataUrl?: URL; fetchFn?: FetchLike },
): Promise<OAuthServerInfo> {
  const { resourceMetadataUrl, fetchFn } = opts ?? {}
  const resourceMetadata = await tryResourceMetadata(serverUrl, resourceMetadataUrl, fetchFn)
  const authorizationServerUrl = authorizationServerOf(serverUrl, resourceMetadata)
  const authorizationServerMetadata = await discoverAuthorizationServerMetadata(authorizationServerUrl, { fetchFn })
  return { authorizationServerUrl, authorizationServerMetadata, resourceMetadata }
}

/** The resource metadata, or undefined if it cannot be had for any reason. */
export async function tryResourceMetadata(
  serverUrl: string | URL,
  resourceMetadataUrl: URL | undefined,
  fetchFn: FetchLike | undefined,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  try {
    return await discoverOAuthProtectedResourceMetadata(serverUrl, { resourceMetadataUrl }, fetchFn)
  } catch {
    return undefined
  }
}
