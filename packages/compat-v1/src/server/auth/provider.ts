import type { Response } from 'express'
import type { OAuthClientInformationFull, OAuthTokenRevocationRequest, OAuthTokens } from '../../shared/auth.ts'
import type { OAuthRegisteredClientsStore } from './clients.ts'
import type { AuthInfo } from './types.ts'

/** What a client asks the user for. */
export type AuthorizationParams = {
  state?: string | undefined
  scopes?: string[] | undefined
  codeChallenge: string
  redirectUri: string
  resource?: URL | undefined
}

/** An authorization server: what `mcpAuthRouter` calls. */
export interface OAuthServerProvider {
  get clientsStore(): OAuthRegisteredClientsStore
  /** Begins an authorization. Redirects to `params.redirectUri` with a code, now or after the user has agreed. */
  authorize(client: OAuthClientInformationFull, params: AuthorizationParams, res: Response): Promise<void>
  /** Returns the code challenge of an authorization. */
  challengeForAuthorizationCode(client: OAuthClientInformationFull, authorizationCode: string): Promise<string>
  /** @param codeVerifier Present if `skipLocalPkceValidation` is set. */
  exchangeAuthorizationCode(
    client: OAuthClientInformationFull,
    authorizationCode: string,
    codeVerifier?: string,
    redirectUri?: string,
    resource?: URL,
  ): Promise<OAuthTokens>
  exchangeRefreshToken(
    client: OAuthClientInformationFull,
    refreshToken: string,
    scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens>
  /** Returns what an access token says. Throws if it is not valid. */
  verifyAccessToken(token: string): Promise<AuthInfo>
  /** Revokes a token. Without it, there is no revocation endpoint. */
  revokeToken?(client: OAuthClientInformationFull, request: OAuthTokenRevocationRequest): Promise<void>
  /** Whether the code verifier is checked elsewhere, for example by the server that this one is a proxy of. */
  skipLocalPkceValidation?: boolean
}

/** Checks access tokens. */
export interface OAuthTokenVerifier {
  /** Returns what an access token says. Throws if it is not valid. */
  verifyAccessToken(token: string): Promise<AuthInfo>
}
