import type { AuthInfo } from '../../util/auth-info.ts'
import type { OAuthTokens } from './backend.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'

/** What `authorize` of a provider is given. The client and its redirect URI have been checked. */
export interface AuthorizationParams {
  state?: string
  scopes?: string[]
  codeChallenge: string
  redirectUri: string
  resource?: URL
}

/** Clients that a provider knows. */
export interface OAuthRegisteredClientsStore {
  getClient(clientId: string): OAuthClient | undefined | Promise<OAuthClient | undefined>
  /** Keeps a client that registers itself, and gives it as it was kept. Without it clients cannot register. */
  registerClient?(client: OAuthClientMetadata & { client_id?: string }): OAuthClient | Promise<OAuthClient>
}

/** What an Express response has, and what is offered in its place on `node:http`. */
export interface RedirectingResponse {
  redirect(url: string): void
  redirect(status: number, url: string): void
}

/** An authorization server behind `mcpAuthRouter`: the interface that is known from other libraries. */
export interface OAuthServerProvider<Response = never> {
  readonly clientsStore: OAuthRegisteredClientsStore
  /** Leads the browser on, and sooner or later back to `redirectUri` with `code` or `error`, and `state`. */
  authorize(client: OAuthClient, params: AuthorizationParams, response: Response): Promise<void>
  /** The challenge of the request that the code was given for. */
  challengeForAuthorizationCode(client: OAuthClient, authorizationCode: string): Promise<string>
  exchangeAuthorizationCode(
    client: OAuthClient,
    authorizationCode: string,
    codeVerifier?: string,
    redirectUri?: string,
    resource?: URL,
  ): Promise<OAuthTokens>
  exchangeRefreshToken(
    client: OAuthClient,
    refreshToken: string,
    scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens>
  /** Rejects with an error whose `errorCode` is `invalid_token` when it is not valid. */
  verifyAccessToken(token: string): Promise<AuthInfo>
  /** Does nothing with a token that is not valid. Without it there is no revocation. */
  revokeToken?(client: OAuthClient, request: { token: string; token_type_hint?: string }): Promise<void>
  /** The verifier is handed on to `exchangeAuthorizationCode` instead of being compared here. Default false. */
  skipLocalPkceValidation?: boolean
}
