import type { AuthCall, AuthReply } from '../http.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'

/** A request for authorization that is in order, from a client that is known, to a redirect URI that is the client's. */
export interface AuthorizationRequest {
  readonly client: OAuthClient
  readonly redirectUri: string
  readonly state: string | undefined
  readonly scopes: readonly string[]
  /** By S256. */
  readonly codeChallenge: string
  readonly resource: string | undefined
}

export interface CodeRequest {
  readonly code: string
  readonly codeVerifier: string
  readonly redirectUri: string | undefined
  readonly resource: string | undefined
}

export interface RefreshRequest {
  readonly refreshToken: string
  /** Undefined: as many as before. */
  readonly scopes: readonly string[] | undefined
  readonly resource: string | undefined
}

/** The answer of a token endpoint, in the words of RFC 6749, 5.1. */
export interface OAuthTokens {
  access_token: string
  token_type: string
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  id_token?: string | undefined
}

/** What stands behind the endpoints of an authorization server. Each way may throw an `OAuthError`. */
export interface Backend {
  readonly issuer: string
  /** Where the endpoints are; theirs are the paths below it. */
  readonly baseUrl: string
  /** Whether every answer to an authorization request carries `iss` (RFC 9207). */
  readonly hasIssParameter: boolean
  /** Further members of the metadata (RFC 8414). */
  readonly metadata: object
  /** What may be asked for. Undefined: that is for `authorize` to say. */
  readonly scopesSupported?: readonly string[] | undefined
  /** The only server that tokens are for. Undefined: that is for `authorize` to say. */
  readonly resource?: string | undefined
  /** Schemes of redirect URIs that clients may have besides https, and http on their own machine. */
  readonly redirectSchemes?: readonly string[] | undefined
  /**
   * Errors of authorization requests are shown on a page with a link, where anybody may be a client and its redirect URI
   * anywhere (2025-06-18 on, open redirection). Default: they are sent back at once.
   */
  readonly showsErrors?: boolean | undefined
  /** For whoever keeps it. Default: no bound. */
  readonly maxStateBytes?: number | undefined
  findClient(clientId: string): Promise<OAuthClient | undefined>
  /** Undefined where clients cannot register themselves. */
  register?: ((client: OAuthClientMetadata) => Promise<OAuthClient>) | undefined
  /** Whether it is the client's secret. Default: compared with `client_secret`. */
  hasSecret?: ((client: OAuthClient, secret: string) => Promise<boolean>) | undefined
  /** Undefined when it has been answered already. */
  authorize(request: AuthorizationRequest, call: AuthCall): Promise<AuthReply | undefined>
  exchangeCode(client: OAuthClient, request: CodeRequest): Promise<OAuthTokens>
  refresh(client: OAuthClient, request: RefreshRequest): Promise<OAuthTokens>
  /** The same whether there was such a token or not (RFC 7009). */
  revoke?: ((client: OAuthClient, token: string, hint: string | undefined) => Promise<void>) | undefined
  /** Hears of what went wrong here; nothing of it is told to whoever asked. */
  reportError(error: unknown): void
}
