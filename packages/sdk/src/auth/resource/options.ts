import type { AuthInfo } from '../../protocol/auth-info.ts'
import type { AuthRoutes } from '../http.ts'

export type { AuthInfo } from '../../protocol/auth-info.ts'

/** How a server checks access tokens. The server is the resource server of OAuth 2.1 (2025-06-18 on, authorization). */
export interface AuthOptions {
  /**
   * Verifies an access token and returns its identity, or undefined if the token is not valid. It also checks that the token
   * was issued for this server, or returns the `resource` that it was issued for. `jwtVerifier` and `introspectionVerifier`
   * of `tenon/auth/server` do all of this. Any error other than an invalid token is answered with 503, because the token may be
   * valid.
   */
  verify: TokenVerifier
  /** The issuers from which clients can get a token. At least one. */
  authorizationServers: readonly string[]
  /**
   * The public URL of this server; tokens must be issued for it. Optional only for `serveHttp` on a loopback address, where
   * it defaults to the URL that is served. It is never derived from the `Host` header, which a client can choose freely.
   */
  resource?: string | URL | undefined
  /** Scopes that every request needs. They are named in the challenge. Default: none. */
  requiredScopes?: readonly string[] | undefined
  /** Scopes that include others: `{ 'files:write': ['files:read'] }`. Default: none. */
  impliedScopes?: Readonly<Record<string, readonly string[]>> | undefined
  /**
   * Scopes for the metadata. Without `requiredScopes`, clients request all of them at login (2025-11-25 authorization, scope
   * selection), so leave out those that not every user should have. Default: `requiredScopes`.
   */
  scopesSupported?: readonly string[] | undefined
  /** The display name of this server, for the metadata. */
  resourceName?: string | undefined
  /** The URL of the developer documentation, for the metadata. */
  resourceDocumentation?: string | URL | undefined
  /** Accepts tokens that are bound to a key of the client: `dpop()` of `tenon/auth/server`. Default: such tokens are rejected. */
  dpop?: DpopCheck | undefined
  /** Endpoints that are served without a token: those of `broker` of `tenon/auth/server`. Default: none. */
  routes?: AuthRoutes | undefined
}

/**
 * Verifies an access token. Returns undefined if the token is not valid; throws or rejects if that could not be determined.
 */
export type TokenVerifier = (
  token: string,
  request: TokenRequest,
) => AuthInfo | undefined | PromiseLike<AuthInfo | undefined>

/** The request that a token was sent with. */
export interface TokenRequest {
  readonly method: string
  /** The URLs, without a query, under which clients may know the requested endpoint. */
  readonly urls: readonly string[]
  header(name: string): string | undefined
  /** Returns whether an audience (one value or a list) names this server. */
  isFor(audience: unknown): boolean
}

/** Checks that the sender of a token holds the key that the token is bound to (RFC 9449). Created by `dpop()`. */
export interface DpopCheck {
  /** Accepted signature algorithms, for the challenge and the metadata. */
  readonly algorithms: readonly string[]
  /** Whether tokens that are not bound to a key are rejected. */
  readonly required: boolean
  /** @param thumbprint The thumbprint of the key that the token is bound to. */
  check(request: TokenRequest, token: string, thumbprint: string): Promise<DpopResult>
}

/** The result of checking a DPoP proof. */
export interface DpopResult {
  /** Undefined if the proof is valid. */
  problem?: { readonly error: string; readonly description: string } | undefined
  /** The nonce for the client's next proof. */
  nonce?: string | undefined
}

/** Throw this in your own token verifier to reject a token. Returning undefined does the same. */
export class InvalidTokenError extends Error {
  override name = 'InvalidTokenError'
  readonly errorCode = 'invalid_token'
}
