import {
  type AuthorizationServerMetadata,
  type OAuthMetadata,
  OAuthMetadataSchema,
  type OAuthProtectedResourceMetadata,
  OAuthProtectedResourceMetadataSchema,
  OpenIdProviderDiscoveryMetadataSchema,
} from '../../shared/auth.ts'
import { LATEST_PROTOCOL_VERSION } from '../../shared/constants.ts'
import type { FetchLike } from '../../shared/transport.ts'
import { discardBody, fetchDocument, fetchWithFallback } from './metadata-fetch.ts'
import type { OAuthServerInfo } from './provider.ts'
import { buildDiscoveryUrls, wellKnownUrl } from './well-known.ts'

/**
 * Fetches the metadata of a protected resource (RFC 9728): at `resourceMetadataUrl`, else at the well-known URL with the path of
 * the server, else at that of its origin. Throws if there is none.
 */
export async function discoverOAuthProtectedResourceMetadata(
  serverUrl: string | URL,
  opts?: { protocolVersion?: string; resourceMetadataUrl?: string | URL },
  fetchFn: FetchLike = fetch,
): Promise<OAuthProtectedResourceMetadata> {
  const headers = versionHeader(opts?.protocolVersion)
  const response = opts?.resourceMetadataUrl
    ? await fetchDocument(new URL(opts.resourceMetadataUrl), headers, fetchFn)
    : await fetchAbout(new URL(serverUrl), 'oauth-protected-resource', headers, fetchFn)
  if (!response?.ok) {
    await discardBody(response)
    throw new Error(
      !response || response.status === 404
        ? 'Resource server does not implement OAuth 2.0 Protected Resource Metadata.'
        : `HTTP ${response.status} trying to load well-known OAuth protected resource metadata.`,
    )
  }
  return OAuthProtectedResourceMetadataSchema.parse(await response.json())
}

/**
 * Fetches the metadata of an authorization server (RFC 8414). Undefined if there is none.
 *
 * @deprecated Use `discoverAuthorizationServerMetadata`, which also tries the URLs of OpenID Connect.
 */
export async function discoverOAuthMetadata(
  issuer: string | URL,
  {
    authorizationServerUrl = issuer,
    protocolVersion,
  }: { authorizationServerUrl?: string | URL; protocolVersion?: string } = {},
  fetchFn: FetchLike = fetch,
): Promise<OAuthMetadata | undefined> {
  const headers = versionHeader(protocolVersion)
  const response = await fetchAbout(new URL(authorizationServerUrl), 'oauth-authorization-server', headers, fetchFn)
  if (response?.ok) return OAuthMetadataSchema.parse(await response.json())
  await discardBody(response)
  if (!response || response.status === 404) return undefined
  throw new Error(`HTTP ${response.status} trying to load well-known OAuth metadata`)
}

/**
 * Fetches the metadata of an authorization server from the first of its well-known URLs that has it. Undefined if none has.
 *
 * @param authorizationServerUrl The issuer, as the resource metadata names it.
 */
export async function discoverAuthorizationServerMetadata(
  authorizationServerUrl: string | URL,
  { fetchFn = fetch, protocolVersion }: { fetchFn?: FetchLike; protocolVersion?: string } = {},
): Promise<AuthorizationServerMetadata | undefined> {
  const headers = { ...versionHeader(protocolVersion), Accept: 'application/json' }
  for (const { url, type } of buildDiscoveryUrls(authorizationServerUrl)) {
    const response = await fetchDocument(url, headers, fetchFn)
    if (response?.ok) return parseServerMetadata(type, await response.json())
    await discardBody(response)
    if (response && response.status >= 500) throw serverMetadataFailure(type, url, response.status)
  }
  return undefined
}

export function parseServerMetadata(type: 'oauth' | 'oidc', document: unknown): AuthorizationServerMetadata {
  return (type === 'oauth' ? OAuthMetadataSchema : OpenIdProviderDiscoveryMetadataSchema).parse(document)
}

export function serverMetadataFailure(type: 'oauth' | 'oidc', url: URL, status: number): Error {
  return new Error(
    `HTTP ${status} trying to load ${type === 'oauth' ? 'OAuth' : 'OpenID provider'} metadata from ${url}`,
  )
}

/**
 * Finds the authorization server of an MCP server, and the metadata of both. A server without resource metadata is its own
 * authorization server (2025-03-26 authorization).
 */
export async function discoverOAuthServerInfo(
  serverUrl: string | URL,
  opts?: { resourceMetadataUrl?: URL; fetchFn?: FetchLike },
): Promise<OAuthServerInfo> {
  const resourceMetadata = await tryResourceMetadata(serverUrl, opts?.resourceMetadataUrl, opts?.fetchFn)
  const authorizationServerUrl = authorizationServerOf(serverUrl, resourceMetadata)
  const authorizationServerMetadata = await discoverAuthorizationServerMetadata(authorizationServerUrl, {
    fetchFn: opts?.fetchFn,
  })
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

export function authorizationServerOf(
  serverUrl: string | URL,
  metadata: OAuthProtectedResourceMetadata | undefined,
): string {
  return metadata?.authorization_servers?.[0] ?? String(new URL('/', serverUrl))
}

function fetchAbout(about: URL, name: string, headers: Record<string, string>, fetchFn: FetchLike) {
  const root = about.pathname === '/' ? undefined : new URL(`/.well-known/${name}`, about)
  return fetchWithFallback(wellKnownUrl(name, about), root, headers, fetchFn)
}

function versionHeader(protocolVersion = LATEST_PROTOCOL_VERSION): Record<string, string> {
  return { 'MCP-Protocol-Version': protocolVersion }
}
