import { type EndpointResponse, redirectResponse } from '../http.ts'
import { isSameResource } from '../same-resource.ts'
import type { AuthorizationRequest, Backend } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
import { type Params, toScopes } from './params.ts'
import { chooseRedirectUri } from './redirect-uris.ts'

/** Where the response to an authorization request goes. Determined before the rest of the request is checked. */
export interface RedirectTarget {
  readonly redirectUri: string
  readonly state: string | undefined
}

/** Errors thrown here are shown to the user: there is no redirect until its target is verified (OAuth 2.1, 4.1.2.1). */
export async function findRedirectTarget(
  params: Params,
  backend: Backend,
): Promise<RedirectTarget & { client: OAuthClient }> {
  const client = await backend.findClient(params.require('client_id'))
  if (!client) throw invalidClient('Client not found. The application has to register again.')
  const redirectUri = chooseRedirectUri(client.redirect_uris, params.get('redirect_uri'), client.application_type)
  const state = params.all('state')[0]
  const { maxStateBytes = Number.POSITIVE_INFINITY } = backend
  if (state !== undefined && new TextEncoder().encode(state).length > maxStateBytes) {
    throw new OAuthError('invalid_request', `The state is longer than ${maxStateBytes} bytes.`)
  }
  return { client, redirectUri, state }
}

/** Errors thrown here are sent to the client. PKCE with S256 is mandatory (2025-11-25 authorization code protection). */
export function readAuthorizationRequest(
  target: RedirectTarget & { client: OAuthClient },
  params: Params,
  backend: Pick<Backend, 'scopesSupported' | 'resource'>,
): AuthorizationRequest {
  // Throws if it is repeated.
  params.get('state')
  if (params.require('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.')
  const codeChallenge = params.require('code_challenge')
  if (params.get('code_challenge_method') !== 'S256') {
    throw new OAuthError('invalid_request', 'The code_challenge_method must be S256.')
  }
  if (!/^[\w-]{43}$/.test(codeChallenge))
    throw new OAuthError('invalid_request', 'The code_challenge is not an S256 challenge.')
  const scopes = toScopes(params.get('scope'))
  const { scopesSupported } = backend
  if (scopesSupported && !scopes.every((name) => scopesSupported.includes(name))) {
    throw new OAuthError('invalid_scope', `Unknown scope. Supported scopes: ${scopesSupported.join(' ')}.`)
  }
  return { ...target, scopes, codeChallenge, resource: readResource(params, backend) }
}

/** Returns the server that tokens are requested for (RFC 8707). */
export function readResource(params: Params, { resource: own }: Pick<Backend, 'resource'>): string | undefined {
  const requested = params.all('resource')
  for (const resource of requested) {
    const isAbsolute = URL.canParse(resource) && !resource.includes('#')
    if (!isAbsolute) throw new OAuthError('invalid_target', 'The resource must be an absolute URI without a fragment.')
    if (own !== undefined && !isSameResource(own, resource)) {
      throw new OAuthError('invalid_target', `Tokens are issued only for ${own}.`)
    }
  }
  if (own === undefined && requested.length > 1)
    throw new OAuthError('invalid_target', 'The resource was sent more than once.')
  return own ?? requested[0]
}

/** Redirects the browser to the client with a response. `iss` is part of every response, errors included (RFC 9207). */
export function redirectBack(
  { redirectUri, state }: RedirectTarget,
  response: Readonly<Record<string, string>>,
  issuer: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): EndpointResponse {
  return redirectResponse(redirectUrl({ redirectUri, state }, response, issuer), headers)
}

/** Returns the redirect URI with the parameters of a response. */
export function redirectUrl(
  { redirectUri, state }: RedirectTarget,
  response: Readonly<Record<string, string>>,
  issuer: string | undefined,
): string {
  const params = { ...response, ...(state !== undefined && { state }), ...(issuer !== undefined && { iss: issuer }) }
  const target = new URL(redirectUri)
  for (const [name, value] of Object.entries(params)) target.searchParams.set(name, value)
  return target.href
}
