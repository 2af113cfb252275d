import {
  applyClientAuthentication,
  type ClientAuthMethod,
} from '@tenon/compat-v1/client/oauth/client-authentication.js'
import { fetchWithinOrigin } from '@tenon/compat-v1/client/oauth/same-origin-fetch.js'
import { OAuthErrorResponseSchema } from '@tenon/compat-v1/shared/auth.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { discoverAuthorizationServerMetadata } from './oauth/discovery.ts'
import { IdJagTokenExchangeResponseSchema, type OAuthTokens, OAuthTokensSchema } from './oauth/schemas.ts'
import { assertSecureTokenEndpoint } from './oauth/tokens.ts'

/** Options of `requestJwtAuthorizationGrant`. */
export interface RequestJwtAuthGrantOptions {
  /** The token endpoint of the identity provider. */
  tokenEndpoint: string | URL
  /** The issuer of the MCP server's authorization server. */
  audience: string | URL
  /** The MCP server. */
  resource: string | URL
  /** The ID token of the user. */
  idToken: string
  /** The id of the client at the identity provider. */
  clientId: string
  /** The secret of the client at the identity provider. */
  clientSecret?: string
  /** The scopes to request, separated by spaces. */
  scope?: string
  /** Default: the global `fetch`. */
  fetchFn?: FetchLike
}

/** Options of `discoverAndRequestJwtAuthGrant`. */
export interface DiscoverAndRequestJwtAuthGrantOptions extends Omit<RequestJwtAuthGrantOptions, 'tokenEndpoint'> {
  /** The issuer of the identity provider. */
  idpUrl: string | URL
}

/** An ID-JAG. */
export interface JwtAuthGrantResult {
  /** The assertion for `exchangeJwtAuthGrant`. */
  jwtAuthGrant: string
  /** In seconds. */
  expiresIn?: number
  scope?: string
}

/** Exchanges the ID token of a user for an ID-JAG at their identity provider (RFC 8693). */
export async function requestJwtAuthorizationGrant(options: RequestJwtAuthGrantOptions): Promise<JwtAuthGrantResult> {
  const { tokenEndpoint, clientId, clientSecret, scope, fetchFn } = options
  const params = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    audience: String(options.audience),
    resource: String(options.resource),
    subject_token: options.idToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    client_id: clientId,
    ...(clientSecret && { client_secret: clientSecret }),
    ...(scope && { scope }),
  })
  const response = await post(tokenEndpoint, formType, params, fetchFn)
  if (!response.ok) throw await failure('Token exchange failed', response)
  const parsed = IdJagTokenExchangeResponseSchema.safeParse(await response.json())
  if (!parsed.success) throw new Error(`Invalid token exchange response: ${parsed.error.message}`)
  const { access_token, expires_in, scope: granted } = parsed.data
  return { jwtAuthGrant: access_token, expiresIn: expires_in, scope: granted }
}

/** The same, with the token endpoint that the metadata of the identity provider name. */
export async function discoverAndRequestJwtAuthGrant(
  options: DiscoverAndRequestJwtAuthGrantOptions,
): Promise<JwtAuthGrantResult> {
  const { idpUrl, ...request } = options
  const metadata = await discoverAuthorizationServerMetadata(String(idpUrl), { fetchFn: options.fetchFn })
  if (!metadata?.token_endpoint) throw new Error(`Failed to discover token endpoint for IdP: ${idpUrl}`)
  return requestJwtAuthorizationGrant({ ...request, tokenEndpoint: metadata.token_endpoint })
}

/** Exchanges an ID-JAG for an access token at the MCP server's authorization server (RFC 7523). */
export async function exchangeJwtAuthGrant(options: {
  tokenEndpoint: string | URL
  jwtAuthGrant: string
  clientId: string
  clientSecret?: string
  /** Default `client_secret_basic`. */
  authMethod?: ClientAuthMethod
  fetchFn?: FetchLike
}): Promise<OAuthTokens> {
  const { tokenEndpoint, jwtAuthGrant, clientId, clientSecret, authMethod = 'client_secret_basic', fetchFn } = options
  const params = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: jwtAuthGrant,
  })
  const headers = new Headers(formType)
  applyClientAuthentication(authMethod, { client_id: clientId, client_secret: clientSecret }, headers, params)
  const response = await post(tokenEndpoint, headers, params, fetchFn)
  if (!response.ok) throw await failure('JWT grant exchange failed', response)
  const parsed = OAuthTokensSchema.safeParse(await response.json())
  if (!parsed.success) throw new Error(`Invalid token response: ${parsed.error.message}`)
  return parsed.data
}

const formType = { 'Content-Type': 'application/x-www-form-urlencoded' }

function post(
  tokenEndpoint: string | URL,
  headers: Headers | Record<string, string>,
  params: URLSearchParams,
  fetchFn: FetchLike = fetch,
): Promise<Response> {
  const url = assertSecureTokenEndpoint(tokenEndpoint)
  return fetchWithinOrigin(fetchFn)(url, { method: 'POST', headers, body: params.toString() })
}

async function failure(what: string, response: Response): Promise<Error> {
  const body: unknown = await response.json().catch(() => ({}))
  const parsed = OAuthErrorResponseSchema.safeParse(body)
  if (!parsed.success) return new Error(`${what} with status ${response.status}: ${JSON.stringify(body)}`)
  const { error, error_description: description } = parsed.data
  return new Error(`${what}: ${error}${description ? ` - ${description}` : ''}`)
}
