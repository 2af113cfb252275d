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
import { fetchWithinOrigin } from './same-origin-fetch.ts'
import { buildDiscoveryUrls, wellKnownUrl } from './well-known.ts'

/** What the versions of the official SDK do differently. */
export interface DiscoveryRules {
  /** Whether a TypeError of `fetch` may mean that the browser blocked the request. Otherwise it is passed on. */
  isCorsPossible(): boolean
  /** Whether a response that is not ok means that the document is not there, and the next location is tried. */
  isMissing(status: number): boolean
  parseServerMetadata(type: 'oauth' | 'oidc', document: unknown): AuthorizationServerMetadata
}

/** A request for metadata. */
export interface MetadataRequest {
  readonly fetchFn?: FetchLike | undefined
  /** The revision in the header `MCP-Protocol-Version`. Default: the latest one. */
  readonly protocolVersion?: string | undefined
}

/** Fetches the metadata of protected resources and authorization servers from their well-known URLs. */
export class MetadataDiscovery {
  private readonly _rules: DiscoveryRules

  constructor(rules: DiscoveryRules) {
    this._rules = rules
  }

  /** RFC 9728. Throws if there is none. */
  async resourceMetadata(
    serverUrl: string | URL,
    metadataUrl: string | URL | undefined,
    request: MetadataRequest,
  ): Promise<OAuthProtectedResourceMetadata> {
    const headers = versionHeader(request)
    const response = metadataUrl
      ? await this._fetch(new URL(metadataUrl), headers, request)
      : await this._fetchAbout(new URL(serverUrl), 'oauth-protected-resource', request)
    if (response?.ok) return OAuthProtectedResourceMetadataSchema.parse(await response.json())
    await discardBody(response)
    throw new Error(
      !response || response.status === 404
        ? 'Resource server does not implement OAuth 2.0 Protected Resource Metadata.'
        : `HTTP ${response.status} trying to load well-known OAuth protected resource metadata.`,
    )
  }

  /** RFC 8414, with a fallback to the root of the origin. Undefined if there is none. */
  async oauthMetadata(serverUrl: string | URL, request: MetadataRequest): Promise<OAuthMetadata | undefined> {
    const response = await this._fetchAbout(new URL(serverUrl), 'oauth-authorization-server', request)
    if (response?.ok) return OAuthMetadataSchema.parse(await response.json())
    await discardBody(response)
    if (!response || response.status === 404) return undefined
    throw new Error(`HTTP ${response.status} trying to load well-known OAuth metadata`)
  }

  /** RFC 8414 and OpenID Connect Discovery: the first document that there is. Undefined if there is none. */
  async serverMetadata(
    serverUrl: string | URL,
    request: MetadataRequest,
  ): Promise<AuthorizationServerMetadata | undefined> {
    const headers = { ...versionHeader(request), Accept: 'application/json' }
    for (const { url, type } of buildDiscoveryUrls(serverUrl)) {
      const response = await this._fetch(url, headers, request)
      if (response?.ok) return this._rules.parseServerMetadata(type, await response.json())
      await discardBody(response)
      if (response && !this._rules.isMissing(response.status)) {
        const name = type === 'oauth' ? 'OAuth' : 'OpenID provider'
        throw new Error(`HTTP ${response.status} trying to load ${name} metadata from ${url}`)
      }
    }
    return undefined
  }

  /** Fetches a document about exactly this URL, else the one about its origin. */
  private async _fetchAbout(about: URL, name: string, request: MetadataRequest): Promise<Response | undefined> {
    const headers = versionHeader(request)
    const response = await this._fetch(wellKnownUrl(name, about), headers, request)
    const isMissing = !response || (!response.ok && this._rules.isMissing(response.status))
    if (!isMissing || about.pathname === '/') return response
    await discardBody(response)
    return this._fetch(new URL(`/.well-known/${name}`, about), headers, request)
  }

  /**
   * Fetches a document. If the browser blocks the request, it is sent again without headers, which needs no preflight. Undefined
   * if that is blocked too.
   */
  private async _fetch(
    url: URL,
    headers: Record<string, string>,
    { fetchFn = fetch }: MetadataRequest,
  ): Promise<Response | undefined> {
    const get = fetchWithinOrigin(fetchFn)
    return (await this._unlessBlocked(() => get(url, { headers }))) ?? this._unlessBlocked(() => get(url, {}))
  }

  private async _unlessBlocked(request: () => Promise<Response>): Promise<Response | undefined> {
    try {
      return await request()
    } catch (error) {
      if (error instanceof TypeError && this._rules.isCorsPossible()) return undefined
      throw error
    }
  }
}

export function parseServerMetadata(type: 'oauth' | 'oidc', document: unknown): AuthorizationServerMetadata {
  return (type === 'oauth' ? OAuthMetadataSchema : OpenIdProviderDiscoveryMetadataSchema).parse(document)
}

/** The authorization server that the resource metadata names, else the origin of the server (2025-03-26 authorization). */
export function authorizationServerOf(
  serverUrl: string | URL,
  metadata: OAuthProtectedResourceMetadata | undefined,
): string {
  return metadata?.authorization_servers?.[0] ?? String(new URL('/', serverUrl))
}

/** Frees the connection of a response whose body is not read. */
async function discardBody(response: Response | undefined): Promise<void> {
  await response?.body?.cancel()
}

function versionHeader({ protocolVersion = LATEST_PROTOCOL_VERSION }: MetadataRequest): Record<string, string> {
  return { 'MCP-Protocol-Version': protocolVersion }
}
