import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '../../shared/auth.ts'
import { applyClientAuthentication, selectClientAuthMethod } from './client-authentication.ts'
import type { AddClientAuthentication } from './provider.ts'
import { resourceText } from './resource.ts'

/** What a token request needs besides the parameters of its grant. */
export interface TokenRequestOptions {
  metadata?: AuthorizationServerMetadata
  clientInformation?: OAuthClientInformationMixed
  addClientAuthentication?: AddClientAuthentication
  resource?: string | URL
}

/** The parameters of a token request with an authorization code (RFC 6749, 4.1.3). */
export function prepareAuthorizationCodeRequest(
  authorizationCode: string,
  codeVerifier: string,
  redirectUri: string | URL,
): URLSearchParams {
  return new URLSearchParams({
    grant_type: 'authorization_code',
    code: authorizationCode,
    code_verifier: codeVerifier,
    redirect_uri: String(redirectUri),
  })
}

/** The parameters of a token request with a refresh token (RFC 6749, 6). */
export function prepareRefreshRequest(refreshToken: string): URLSearchParams {
  return new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken })
}

export function tokenEndpoint(authorizationServerUrl: string | URL, metadata?: AuthorizationServerMetadata): URL {
  return metadata?.token_endpoint ? new URL(metadata.token_endpoint) : new URL('/token', authorizationServerUrl)
}

/** Completes a token request with the resource and the client's authentication. Changes `params`. */
export async function buildTokenRequest(
  url: URL,
  params: URLSearchParams,
  { metadata, clientInformation, addClientAuthentication, resource }: TokenRequestOptions,
): Promise<RequestInit> {
  const headers = new Headers({ 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' })
  if (resource) params.set('resource', resourceText(resource))
  if (addClientAuthentication) {
    await addClientAuthentication(headers, params, url, metadata)
  } else if (clientInformation) {
    const method = selectClientAuthMethod(clientInformation, metadata?.token_endpoint_auth_methods_supported ?? [])
    applyClientAuthentication(method, clientInformation, headers, params)
  }
  return { method: 'POST', headers, body: params }
}
