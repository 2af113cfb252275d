import { fetchWithinOrigin } from '@tenon/compat-v1/client/oauth/same-origin-fetch.js'
import {
  buildTokenRequest,
  prepareAuthorizationCodeRequest,
  prepareRefreshRequest,
  tokenEndpoint,
} from '@tenon/compat-v1/client/oauth/token-request.js'
import { prepareGrant } from '@tenon/compat-v1/client/oauth/tokens.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { OAuthErrorCode } from '../../core/errors.ts'
import { AuthorizationServerMismatchError, InsecureTokenEndpointError } from '../authErrors.ts'
import type { DpopSession } from '../dpop.ts'
import { checkCallbackIssuer } from './callback.ts'
import { parseErrorResponse } from './error-response.ts'
import { discardIfIssuerMismatch } from './issuer-binding.ts'
import { isThisMachine } from './loopback.ts'
import type { AddClientAuthentication, OAuthClientProvider } from './provider.ts'
import {
  type AuthorizationServerMetadata,
  type OAuthClientInformationMixed,
  type OAuthTokens,
  OAuthTokensSchema,
} from './schemas.ts'

interface TokenRequestOptions {
  metadata?: AuthorizationServerMetadata
  clientInformation?: OAuthClientInformationMixed
  addClientAuthentication?: AddClientAuthentication
  resource?: string | URL
  /** Binds the tokens to the key of the session (RFC 9449). */
  dpop?: DpopSession
  fetchFn?: FetchLike
}

/** Throws if credentials would be sent in the clear: the endpoint must be https:, or on this machine. */
export function assertSecureTokenEndpoint(endpoint: string | URL): URL {
  const url = new URL(endpoint)
  if (url.protocol !== 'https:' && !isThisMachine(url.hostname)) throw new InsecureTokenEndpointError(url.href)
  return url
}

/** Sends a token request. Changes `tokenRequestParams`. */
export async function executeTokenRequest(
  authorizationServerUrl: string | URL,
  { tokenRequestParams, ...options }: TokenRequestOptions & { tokenRequestParams: URLSearchParams },
): Promise<OAuthTokens> {
  const url = assertSecureTokenEndpoint(tokenEndpoint(authorizationServerUrl, options.metadata))
  const { dpop, fetchFn = fetch } = options
  // Built for each attempt: an assertion may be used only once.
  const send = async () => {
    const request = await buildTokenRequest(url, tokenRequestParams, options as Parameters<typeof buildTokenRequest>[2])
    if (dpop) (request.headers as Headers).set('DPoP', await dpop.buildProof({ htm: 'POST', htu: url }))
    return fetchWithinOrigin(fetchFn)(url, request)
  }
  let response = await send()
  if (dpop && (await requiresNonce(response))) {
    dpop.observeNonce(response, url)
    response = await send()
  }
  dpop?.observeNonce(response, url)
  return readTokenResponse(response)
}

/** RFC 9449, 8. */
async function requiresNonce(response: Response): Promise<boolean> {
  if (response.status !== 400) return false
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return (body as { error?: unknown } | undefined)?.error === OAuthErrorCode.UseDpopNonce
}

async function readTokenResponse(response: Response): Promise<OAuthTokens> {
  if (!response.ok) throw await parseErrorResponse(response)
  const body: unknown = await response.json()
  const parsed = OAuthTokensSchema.safeParse(body)
  if (parsed.success) return parsed.data
  // Some servers, such as GitHub, send errors with the status 200.
  const isError = typeof body === 'object' && body !== null && 'error' in body
  throw isError ? await parseErrorResponse(JSON.stringify(body)) : parsed.error
}

/**
 * Exchanges an authorization code for tokens.
 *
 * @param options.iss The `iss` parameter that the user came back with.
 */
export async function exchangeAuthorization(
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    clientInformation: OAuthClientInformationMixed
    authorizationCode: string
    iss?: string
    codeVerifier: string
    redirectUri: string | URL
    resource?: string | URL
    addClientAuthentication?: AddClientAuthentication
    dpop?: DpopSession
    fetchFn?: FetchLike
  },
): Promise<OAuthTokens> {
  const { metadata, iss, authorizationCode, codeVerifier, redirectUri } = options
  checkCallbackIssuer(iss, metadata)
  const tokenRequestParams = prepareAuthorizationCodeRequest(authorizationCode, codeVerifier, redirectUri)
  return executeTokenRequest(authorizationServerUrl, { ...options, tokenRequestParams })
}

/** Exchanges a refresh token for new tokens. The result keeps the refresh token if the server sends no new one. */
export async function refreshAuthorization(
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    clientInformation: OAuthClientInformationMixed
    refreshToken: string
    /** Must be part of what was granted. Default: all of it. */
    scope?: string
    resource?: string | URL
    addClientAuthentication?: AddClientAuthentication
    dpop?: DpopSession
    fetchFn?: FetchLike
  },
): Promise<OAuthTokens> {
  const { refreshToken, scope } = options
  const tokenRequestParams = prepareRefreshRequest(refreshToken)
  if (scope) tokenRequestParams.set('scope', scope)
  const tokens = await executeTokenRequest(authorizationServerUrl, { ...options, tokenRequestParams })
  return { refresh_token: refreshToken, ...tokens, ...(scope && !tokens.scope && { scope }) }
}

/**
 * Gets tokens with the grant that the provider prepares in `prepareTokenRequest`, else with the authorization code.
 *
 * @param options.scope Default: that of the client's metadata.
 */
export async function fetchToken(
  provider: OAuthClientProvider,
  authorizationServerUrl: string | URL,
  options: {
    metadata?: AuthorizationServerMetadata
    resource?: string | URL
    /** The code that the user came back with. */
    authorizationCode?: string
    /** The `iss` parameter that the user came back with. */
    iss?: string
    scope?: string
    fetchFn?: FetchLike
  } = {},
): Promise<OAuthTokens> {
  const { metadata, authorizationCode, iss, scope = provider.clientMetadata.scope } = options
  if (authorizationCode !== undefined) checkCallbackIssuer(iss, metadata)
  const issuer = metadata?.issuer ?? String(authorizationServerUrl)
  // Read first, so that nothing is prepared for a server that must not get it.
  const client = await boundClient(provider, issuer)
  const tokenRequestParams = await prepareGrant(provider, scope, authorizationCode)
  return executeTokenRequest(authorizationServerUrl, {
    ...options,
    tokenRequestParams,
    // A provider may register the client while it prepares the request.
    clientInformation: client ?? (await boundClient(provider, issuer)),
    addClientAuthentication: provider.addClientAuthentication,
    dpop: await provider.dpop?.(),
  })
}

async function boundClient(
  provider: OAuthClientProvider,
  issuer: string,
): Promise<OAuthClientInformationMixed | undefined> {
  const stored = await provider.clientInformation({ issuer })
  const client = discardIfIssuerMismatch(stored, issuer, { canPersistStamp: false })
  if (stored && !client) throw new AuthorizationServerMismatchError(String(stored.issuer), issuer)
  return client
}
