import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationMixed,
  type OAuthTokens,
  OAuthTokensSchema,
} from '../../shared/auth.ts'
import type { FetchLike } from '../../shared/transport.ts'
import { parseErrorResponse } from './error-response.ts'
import { boundElsewhere, boundTo } from './issuer-binding.ts'
import type { AddClientAuthentication, OAuthClientProvider } from './provider.ts'
import { fetchWithinOrigin } from './same-origin-fetch.ts'
import {
  buildTokenRequest,
  prepareAuthorizationCodeRequest,
  prepareRefreshRequest,
  type TokenRequestOptions,
  tokenEndpoint,
} from './token-request.ts'

/** Exchanges an authorization code for tokens. */
export async function exchangeAuthorization(
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    clientInformation: OAuthClientInformationMixed
    authorizationCode: string
    codeVerifier: string
    redirectUri: string | URL
    resource?: string | URL
    addClientAuthentication?: AddClientAuthentication
    fetchFn?: FetchLike
  },
): Promise<OAuthTokens> {
  const { authorizationCode, codeVerifier, redirectUri } = options
  const params = prepareAuthorizationCodeRequest(authorizationCode, codeVerifier, redirectUri)
  return requestTokens(authorizationServerUrl, params, options)
}

/** Exchanges a refresh token for new tokens. The result keeps the refresh token if the server sends no new one. */
export async function refreshAuthorization(
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    clientInformation: OAuthClientInformationMixed
    refreshToken: string
    resource?: string | URL
    addClientAuthentication?: AddClientAuthentication
    fetchFn?: FetchLike
  },
): Promise<OAuthTokens> {
  const { refreshToken } = options
  const tokens = await requestTokens(authorizationServerUrl, prepareRefreshRequest(refreshToken), options)
  return { refresh_token: refreshToken, ...tokens }
}

/**
 * Gets tokens with the grant that the provider prepares in `prepareTokenRequest`, else with the authorization code.
 *
 * @example
 * const tokens = await fetchToken(provider, 'https://auth.example.com', { metadata, authorizationCode })
 */
export async function fetchToken(
  provider: OAuthClientProvider,
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    resource?: string | URL
    /** The code that the user came back with. */
    authorizationCode?: string
    fetchFn?: FetchLike
  } = {},
): Promise<OAuthTokens> {
  const issuer = String(authorizationServerUrl)
  // Read first, so that nothing is prepared for a server that must not get it.
  const client = await boundClient(provider, issuer)
  const params = await prepareGrant(provider, provider.clientMetadata.scope, options.authorizationCode)
  return requestTokens(authorizationServerUrl, params, {
    ...options,
    // A provider may register the client while it prepares the request.
    clientInformation: client ?? (await boundClient(provider, issuer)),
    addClientAuthentication: provider.addClientAuthentication,
  })
}

async function boundClient(
  provider: OAuthClientProvider,
  issuer: string,
): Promise<OAuthClientInformationMixed | undefined> {
  const stored = await provider.clientInformation()
  const client = boundTo(stored, issuer)
  if (stored && !client) throw boundElsewhere(stored, issuer)
  return client
}

/** The parameters of the provider's own grant, else those of the authorization code. */
export async function prepareGrant(
  provider: Pick<OAuthClientProvider, 'prepareTokenRequest' | 'redirectUrl' | 'codeVerifier'>,
  scope: string | undefined,
  authorizationCode: string | undefined,
): Promise<URLSearchParams> {
  const prepared = await provider.prepareTokenRequest?.(scope)
  if (prepared) return prepared
  if (!authorizationCode) throw new Error('Either provider.prepareTokenRequest() or authorizationCode is required')
  if (!provider.redirectUrl) throw new Error('redirectUrl is required for authorization_code flow')
  return prepareAuthorizationCodeRequest(authorizationCode, await provider.codeVerifier(), provider.redirectUrl)
}

async function requestTokens(
  authorizationServerUrl: string | URL,
  params: URLSearchParams,
  options: TokenRequestOptions & { fetchFn?: FetchLike },
): Promise<OAuthTokens> {
  const url = tokenEndpoint(authorizationServerUrl, options.metadata)
  const request = await buildTokenRequest(url, params, options)
  const response = await fetchWithinOrigin(options.fetchFn ?? fetch)(url, request)
  if (!response.ok) throw await parseErrorResponse(response)
  return tokenResponseSchema().parse(await response.json())
}

/** The issuer is added by the client that stores the tokens. A server cannot set it. */
function tokenResponseSchema() {
  return OAuthTokensSchema.omit({ issuer: true })
}
