import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '../../shared/auth.ts'
import createPkcePair from './pkce.ts'
import { resourceText } from './resource.ts'

/** What an authorization request is made of. */
export interface AuthorizationRequest {
  metadata?: AuthorizationServerMetadata
  clientInformation: OAuthClientInformationMixed
  redirectUrl: string | URL
  scope?: string
  state?: string
  resource?: string | URL
}

/** Creates the URL to send the user to, and the PKCE code verifier to store until they come back. */
export async function startAuthorization(
  authorizationServerUrl: string | URL,
  request: AuthorizationRequest,
): Promise<{ authorizationUrl: URL; codeVerifier: string }> {
  const endpoint = authorizationEndpoint(authorizationServerUrl, request.metadata)
  const { code_verifier, code_challenge } = await createPkcePair()
  return { authorizationUrl: toAuthorizationUrl(endpoint, request, code_challenge), codeVerifier: code_verifier }
}

function authorizationEndpoint(authorizationServerUrl: string | URL, metadata?: AuthorizationServerMetadata): URL {
  if (!metadata) return new URL('/authorize', authorizationServerUrl)
  if (!metadata.response_types_supported.includes('code')) {
    throw new Error('Incompatible auth server: does not support response type code')
  }
  const challengeMethods = metadata.code_challenge_methods_supported
  if (challengeMethods && !challengeMethods.includes('S256')) {
    throw new Error('Incompatible auth server: does not support code challenge method S256')
  }
  return new URL(metadata.authorization_endpoint)
}

function toAuthorizationUrl(endpoint: URL, request: AuthorizationRequest, codeChallenge: string): URL {
  const { clientInformation, redirectUrl, scope, state, resource } = request
  const { searchParams } = endpoint
  searchParams.set('response_type', 'code')
  searchParams.set('client_id', clientInformation.client_id)
  searchParams.set('code_challenge', codeChallenge)
  searchParams.set('code_challenge_method', 'S256')
  searchParams.set('redirect_uri', String(redirectUrl))
  if (state) searchParams.set('state', state)
  if (scope) searchParams.set('scope', scope)
  // OpenID Connect Core 1.0, 11: offline access is granted only if the user is asked for consent.
  if (scope?.split(' ').includes('offline_access')) searchParams.append('prompt', 'consent')
  if (resource) searchParams.set('resource', resourceText(resource))
  return endpoint
}
