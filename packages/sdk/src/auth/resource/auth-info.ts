import type { AuthInfo } from '../../util/auth-info.ts'

export type { AuthInfo }

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
