import type { EndpointRequest, EndpointResponse } from '../http.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'

/** A valid authorization request: the client is known, and the redirect URI is registered. */
export interface AuthorizationRequest {
  readonly client: OAuthClient
  readonly redirectUri: string
  readonly state: string | undefined
  readonly scopes: readonly string[]
  /** The S256 challenge of PKCE. */
  readonly codeChallenge: string
  readonly resource: string | undefined
}

/** A token request with an authorization code. */
export interface CodeRequest {
  readonly code: string
  readonly codeVerifier: string
  readonly redirectUri: string | undefined
  readonly resource: string | undefined
}

/** A token request with a refresh token. */
export interface RefreshRequest {
  readonly refreshToken: string
  /** Undefined: the scopes of the grant. */
  readonly scopes: readonly string[] | undefined
  readonly resource: string | undefined
}

/** The response of a token endpoint (RFC 6749, 5.1). */
export interface OAuthTokens {
  access_token: string
  token_type: string
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  id_token?: string | undefined
}

/** The logic behind the endpoints of an authorization server. Every method may throw an `OAuthError`. */
export interface Backend {
  readonly issuer: string
  /** The URL below which the endpoints are served. */
  readonly baseUrl: string
  /** Whether every response to an authorization request has `iss` (RFC 9207). */
  readonly hasIssParameter: boolean
  /** Further members of the metadata (RFC 8414). */
  readonly metadata: object
  /** Scopes that clients may request. Undefined: `authorize` decides. */
  readonly scopesSupported?: readonly string[] | undefined
  /** The only server that tokens are issued for. Undefined: `authorize` decides. */
  readonly resource?: string | undefined
  /** Schemes of redirect URIs besides https, and http on loopback addresses. */
  readonly redirectSchemes?: readonly string[] | undefined
  /**
   * Show errors of authorization requests on a page with a link. Use it if anyone can register a client with any redirect URI
   * (2025-06-18 on, open redirection). Default: redirect to the client at once.
   */
  readonly showsErrors?: boolean | undefined
  /** The maximum size of `state`. Default: no limit. */
  readonly maxStateBytes?: number | undefined
  findClient(clientId: string): Promise<OAuthClient | undefined>
  /** Undefined if clients cannot register themselves. */
  register?: ((client: OAuthClientMetadata) => Promise<OAuthClient>) | undefined
  /** Returns whether a secret is the client's. Default: compares it with `client_secret`. */
  hasSecret?: ((client: OAuthClient, secret: string) => Promise<boolean>) | undefined
  /** Resolves to undefined if the response has already been sent. */
  authorize(request: AuthorizationRequest, httpRequest: EndpointRequest): Promise<EndpointResponse | undefined>
  exchangeCode(client: OAuthClient, request: CodeRequest): Promise<OAuthTokens>
  refresh(client: OAuthClient, request: RefreshRequest): Promise<OAuthTokens>
  /** Succeeds even if the token does not exist (RFC 7009). */
  revoke?: ((client: OAuthClient, token: string, hint: string | undefined) => Promise<void>) | undefined
  /** Receives internal errors, which are not shown to clients. */
  reportError(error: unknown): void
}
