import type { AuthInfo } from '../../protocol/auth-info.ts'
import type { OAuthTokens } from './backend.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'

/** The parameters of an authorization request. The client and its redirect URI have been checked. */
export interface AuthorizationParams {
  state?: string
  scopes?: string[]
  codeChallenge: string
  redirectUri: string
  resource?: URL
}

/** The registered clients of a provider. */
export interface OAuthRegisteredClientsStore {
  /** Returns the client with this id. */
  getClient(clientId: string): OAuthClient | undefined | Promise<OAuthClient | undefined>
  /** Stores a client that registers itself, and returns it as stored. Without this method clients cannot register. */
  registerClient?(client: OAuthClientMetadata & { client_id?: string }): OAuthClient | Promise<OAuthClient>
}

/** The `redirect` of an Express response. On plain `node:http` it is added to the response. */
export interface RedirectingResponse {
  redirect(url: string): void
  redirect(status: number, url: string): void
}

/** The authorization server behind `mcpAuthRouter`. The same interface as in the official SDK. */
export interface OAuthServerProvider<Response = never> {
  /** The registered clients. */
  readonly clientsStore: OAuthRegisteredClientsStore
  /** Starts a login. In the end the browser must be redirected to `redirectUri` with `code` or `error`, and `state`. */
  authorize(client: OAuthClient, params: AuthorizationParams, response: Response): Promise<void>
  /** Returns the code challenge of the request that the code was issued for. */
  challengeForAuthorizationCode(client: OAuthClient, authorizationCode: string): Promise<string>
  /** Exchanges a code for tokens. */
  exchangeAuthorizationCode(
    client: OAuthClient,
    authorizationCode: string,
    codeVerifier?: string,
    redirectUri?: string,
    resource?: URL,
  ): Promise<OAuthTokens>
  /** Exchanges a refresh token for new tokens. */
  exchangeRefreshToken(
    client: OAuthClient,
    refreshToken: string,
    scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens>
  /** Rejects with an error whose `errorCode` is `invalid_token` if the token is not valid. */
  verifyAccessToken(token: string): Promise<AuthInfo>
  /** Revokes a token; ignores one that is not valid. Without this method there is no revocation endpoint. */
  revokeToken?(client: OAuthClient, request: { token: string; token_type_hint?: string }): Promise<void>
  /** Pass the code verifier to `exchangeAuthorizationCode` instead of comparing it with the challenge. Default false. */
  skipLocalPkceValidation?: boolean
}
