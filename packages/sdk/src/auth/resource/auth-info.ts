/** Whom a token stands for, and what it allows. Never the token itself, which is for this server and nobody else. */
export interface AuthInfo {
  /** Who issued the token. */
  issuer?: string | undefined
  /** On whose behalf the client calls, as the issuer knows them. */
  subject?: string | undefined
  clientId?: string | undefined
  /** What it allows, with what that implies. */
  scopes: readonly string[]
  /** In seconds since 1970: from then on it is not accepted any more. */
  expiresAt?: number | undefined
  /** The server that the token was issued for. When given, it must be this one. */
  resource?: string | URL | undefined
  /** Whatever else the issuer says. */
  claims?: Readonly<Record<string, unknown>> | undefined
}

/** What a verifier sees of the request, whatever brought it. */
export interface TokenRequest {
  readonly method: string
  /** Where it was sent to, in the ways clients may know it; without the query. */
  readonly urls: readonly string[]
  header(name: string): string | undefined
  /** Whether an audience, one or several, names this server. */
  isFor(audience: unknown): boolean
}

/** Gives undefined for a token that stands for nobody; rejects when that could not be found out. */
export type TokenVerifier = (token: string, request: TokenRequest) => Promise<AuthInfo | undefined>

/** Says in a verifier of your own that a token is not valid; returning undefined does the same. */
export class InvalidTokenError extends Error {
  override name = 'InvalidTokenError'
  readonly errorCode = 'invalid_token'
}
