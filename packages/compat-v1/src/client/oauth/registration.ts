import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationFull,
  OAuthClientInformationFullSchema,
  type OAuthClientMetadata,
} from '../../shared/auth.ts'
import type { FetchLike } from '../../shared/transport.ts'
import { parseErrorResponse } from './error-response.ts'
import { fetchWithinOrigin } from './same-origin-fetch.ts'

/**
 * Registers a client dynamically (RFC 7591).
 *
 * @param options.scope The scope to register, instead of that of `clientMetadata`.
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
  const url = registrationEndpoint(authorizationServerUrl, options.metadata)
  const request = buildRegistrationRequest(options.clientMetadata, options.scope)
  const response = await fetchWithinOrigin(options.fetchFn ?? fetch)(url, request)
  if (!response.ok) throw await parseErrorResponse(response)
  // The issuer is added by the client that stores the registration. A server cannot set it.
  return OAuthClientInformationFullSchema.omit({ issuer: true }).parse(await response.json())
}

export function registrationEndpoint(
  authorizationServerUrl: string | URL,
  metadata?: AuthorizationServerMetadata,
): URL {
  if (!metadata) return new URL('/register', authorizationServerUrl)
  if (!metadata.registration_endpoint) {
    throw new Error('Incompatible auth server: does not support dynamic client registration')
  }
  return new URL(metadata.registration_endpoint)
}

export function buildRegistrationRequest(clientMetadata: OAuthClientMetadata, scope: string | undefined): RequestInit {
  return {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(scope === undefined ? clientMetadata : { ...clientMetadata, scope }),
  }
}

/** True for an https: URL with a path, as a client ID metadata document must have. */
export function isHttpsUrl(value?: string): boolean {
  if (!value || !URL.canParse(value)) return false
  const { protocol, pathname } = new URL(value)
  return protocol === 'https:' && pathname !== '/'
}
