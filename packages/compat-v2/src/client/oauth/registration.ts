import {
  buildRegistrationRequest,
  isHttpsUrl,
  registrationEndpoint,
} from '@tenon/compat-v1/client/oauth/registration.js'
import { fetchWithinOrigin } from '@tenon/compat-v1/client/oauth/same-origin-fetch.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { OAuthError, OAuthErrorCode } from '../../core/errors.ts'
import { RegistrationRejectedError } from '../authErrors.ts'
import { isThisMachine } from './loopback.ts'
import type { OAuthClientProvider } from './provider.ts'
import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationFull,
  OAuthClientInformationFullSchema,
  type OAuthClientMetadata,
} from './schemas.ts'

/**
 * Registers a client dynamically (RFC 7591).
 *
 * @param options.scope The scope to register, instead of that of `clientMetadata`.
 * @deprecated Since 2026-07-28: use a client ID metadata document where the authorization server supports it.
 */
export async function registerClient(
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    clientMetadata: OAuthClientMetadata
    scope?: string
    fetchFn?: FetchLike
  },
): Promise<OAuthClientInformationFull> {
  const { metadata, clientMetadata, scope, fetchFn = fetch } = options
  const url = registrationEndpoint(authorizationServerUrl, metadata)
  const response = await fetchWithinOrigin(fetchFn)(url, buildRegistrationRequest(clientMetadata, scope))
  if (!response.ok) {
    const submittedMetadata = { ...clientMetadata, ...(scope !== undefined && { scope }) }
    throw new RegistrationRejectedError({ status: response.status, body: await response.text(), submittedMetadata })
  }
  return OAuthClientInformationFullSchema.parse(await response.json())
}

/**
 * The metadata to register a client with: those of the provider, with defaults for `grant_types` (if there is a user) and
 * `application_type`.
 */
export function resolveClientMetadata(
  provider: Pick<OAuthClientProvider, 'clientMetadata' | 'redirectUrl'>,
): OAuthClientMetadata {
  const { clientMetadata, redirectUrl } = provider
  const grantTypes = redirectUrl === undefined ? undefined : ['authorization_code', 'refresh_token']
  return {
    ...clientMetadata,
    grant_types: clientMetadata.grant_types ?? grantTypes,
    application_type: clientMetadata.application_type ?? applicationType(clientMetadata.redirect_uris),
  }
}

/** 2026-07-28 authorization: servers allow redirects to this machine, and to custom schemes, to native applications only. */
function applicationType(redirectUris: readonly string[] | undefined): 'native' | 'web' {
  const isNative = (text: string) => {
    if (!URL.canParse(text)) return false
    const { protocol, hostname } = new URL(text)
    return !/^https?:$/.test(protocol) || isThisMachine(hostname)
  }
  return redirectUris?.some(isNative) ? 'native' : 'web'
}

/** Throws if the URL cannot be that of a client ID metadata document. Call it in the constructor of a provider. */
export function validateClientMetadataUrl(url: string | undefined): void {
  if (!url || isHttpsUrl(url)) return
  throw new OAuthError(
    OAuthErrorCode.InvalidClientMetadata,
    `clientMetadataUrl must be a valid HTTPS URL with a non-root pathname, got: ${url}`,
  )
}
