import type { OAuthProtectedResourceMetadata } from '../../shared/auth.ts'
import { checkResourceAllowed, resourceUrlFromServerUrl } from '../../shared/auth-utils.ts'
import type { OAuthClientProvider } from './provider.ts'

/**
 * Chooses the resource indicator (RFC 8707) of an MCP server: as the provider decides, else the `resource` of its metadata, which
 * must be the server or a parent of it. Undefined without metadata.
 *
 * The result is a parsed URL, whose text may differ from the metadata: `https://example.com` becomes `https://example.com/`.
 * Authorization servers compare it as text, so send the string of the metadata.
 */
export async function selectResourceURL(
  serverUrl: string | URL,
  provider: Pick<OAuthClientProvider, 'validateResourceURL'>,
  resourceMetadata?: OAuthProtectedResourceMetadata,
): Promise<URL | undefined> {
  const requestedResource = resourceUrlFromServerUrl(serverUrl)
  if (provider.validateResourceURL) return provider.validateResourceURL(requestedResource, resourceMetadata?.resource)
  if (!resourceMetadata) return undefined
  const configuredResource = resourceMetadata.resource
  if (!checkResourceAllowed({ requestedResource, configuredResource })) {
    throw new Error(`Protected resource ${configuredResource} does not match expected ${requestedResource} (or origin)`)
  }
  return new URL(configuredResource)
}

/** The resource indicator as it is sent: the string of the metadata unchanged, or the URL that the provider chose. */
export async function resourceIndicator(
  serverUrl: string | URL,
  provider: Pick<OAuthClientProvider, 'validateResourceURL'>,
  resourceMetadata: OAuthProtectedResourceMetadata | undefined,
): Promise<string | URL | undefined> {
  const selected = await selectResourceURL(serverUrl, provider, resourceMetadata)
  return selected && resourceMetadata && !provider.validateResourceURL ? resourceMetadata.resource : selected
}

export function resourceText(resource: string | URL): string {
  return typeof resource === 'string' ? resource : resource.href
}
