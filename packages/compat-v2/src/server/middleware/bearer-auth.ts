import { OAuthError, OAuthErrorCode } from '../../core/errors.ts'
import type { AuthInfo } from '../../core/types.ts'

/** Checks access tokens. Throws an `OAuthError` for one that is not valid. */
export interface OAuthTokenVerifier {
  verifyAccessToken(token: string): Promise<AuthInfo>
}

export interface BearerAuthOptions {
  verifier: OAuthTokenVerifier
  /** The scopes that every token must have. */
  requiredScopes?: string[]
  /** Where clients find the authorization server (RFC 9728). */
  resourceMetadataUrl?: string
}

export type VerifyBearerTokenOptions = Pick<BearerAuthOptions, 'verifier' | 'requiredScopes'>

/** Checks the token of an `Authorization` header. Throws an `OAuthError`. */
export async function verifyBearerToken(
  authorizationHeader: string | null | undefined,
  { verifier, requiredScopes = [] }: VerifyBearerTokenOptions,
): Promise<AuthInfo> {
  if (!authorizationHeader) throw invalidToken('Missing Authorization header')
  const [type, token] = authorizationHeader.split(' ')
  if (type?.toLowerCase() !== 'bearer' || !token) {
    throw invalidToken("Invalid Authorization header format, expected 'Bearer TOKEN'")
  }
  const authInfo = await verifier.verifyAccessToken(token)
  if (!requiredScopes.every((scope) => authInfo.scopes.includes(scope))) {
    throw new OAuthError(OAuthErrorCode.InsufficientScope, 'Insufficient scope')
  }
  const { expiresAt } = authInfo
  if (typeof expiresAt !== 'number' || Number.isNaN(expiresAt)) throw invalidToken('Token has no expiration time')
  if (expiresAt < Date.now() / 1000) throw invalidToken('Token has expired')
  return authInfo
}

/** The response to a request whose token was rejected. */
export function bearerAuthChallengeResponse(
  error: unknown,
  options: Pick<BearerAuthOptions, 'requiredScopes' | 'resourceMetadataUrl'> = {},
): Response {
  const known =
    error instanceof OAuthError ? error : new OAuthError(OAuthErrorCode.ServerError, 'Internal Server Error')
  const status = statuses[known.code] ?? 400
  const isChallenge = status === 401 || status === 403
  const headers = isChallenge ? { 'WWW-Authenticate': challenge(known, options) } : undefined
  return Response.json(known.toResponseObject(), { status, ...(headers && { headers }) })
}

/** Returns a function that checks the token of a request, and returns the caller or the response to send. */
export function requireBearerAuth(options: BearerAuthOptions): (request: Request) => Promise<AuthInfo | Response> {
  return async (request) => {
    // Repeated headers are joined by a comma. Only the first counts.
    const [header] = (request.headers.get('authorization') ?? '').split(',')
    try {
      return await verifyBearerToken(header, options)
    } catch (error) {
      return bearerAuthChallengeResponse(error, options)
    }
  }
}

const statuses: Record<string, number> = {
  [OAuthErrorCode.InvalidToken]: 401,
  [OAuthErrorCode.InsufficientScope]: 403,
  [OAuthErrorCode.ServerError]: 500,
}

function challenge(
  error: OAuthError,
  { requiredScopes = [], resourceMetadataUrl }: Pick<BearerAuthOptions, 'requiredScopes' | 'resourceMetadataUrl'>,
): string {
  const parts = [`error="${quoted(error.code)}"`, `error_description="${quoted(error.message)}"`]
  if (requiredScopes.length > 0) parts.push(`scope="${requiredScopes.join(' ')}"`)
  if (resourceMetadataUrl) parts.push(`resource_metadata="${resourceMetadataUrl}"`)
  return `Bearer ${parts.join(', ')}`
}

function quoted(value: string): string {
  return value.replaceAll(/[\\"]/g, '\\$&').replaceAll(/[^ -~]/g, ' ')
}

function invalidToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message)
}
