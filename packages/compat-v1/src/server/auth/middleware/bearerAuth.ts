import type { RequestHandler } from 'express'
import { toOAuthError } from '../endpoint-errors.ts'
import { InsufficientScopeError, InvalidTokenError, type OAuthError, ServerError } from '../errors.ts'
import type { OAuthTokenVerifier } from '../provider.ts'
import type { AuthInfo } from '../types.ts'

/** Options of `requireBearerAuth`. */
export type BearerAuthMiddlewareOptions = {
  /** Checks the token. */
  verifier: OAuthTokenVerifier
  /** Scopes that the token must have. */
  requiredScopes?: string[] | undefined
  /** The URL of the resource metadata, for the challenge that clients get. */
  resourceMetadataUrl?: string | undefined
  /** The server that the token must have been issued for. */
  expectedResource?: URL | undefined
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The identity from the access token, set by `requireBearerAuth`. */
    auth?: AuthInfo
  }
}

/** Returns middleware that requires a valid access token, and sets `req.auth`. */
export function requireBearerAuth(options: BearerAuthMiddlewareOptions): RequestHandler {
  return async (req, res, next) => {
    try {
      const info = await options.verifier.verifyAccessToken(tokenIn(req.headers.authorization))
      checkInfo(info, options)
      req.auth = info
    } catch (cause) {
      const error = toOAuthError(cause)
      const status = statusOf(error)
      if (status === 401 || status === 403) res.set('WWW-Authenticate', challengeOf(error, options))
      res.status(status).json(error.toResponseObject())
      return
    }
    next()
  }
}

function tokenIn(header: string | undefined): string {
  if (!header) throw new InvalidTokenError('Missing Authorization header')
  const [type = '', token] = header.split(' ')
  if (type.toLowerCase() === 'bearer' && token) return token
  throw new InvalidTokenError("Invalid Authorization header format, expected 'Bearer TOKEN'")
}

function checkInfo(info: AuthInfo, { requiredScopes = [], expectedResource }: BearerAuthMiddlewareOptions): void {
  if (expectedResource && !isSameResource(info.resource, expectedResource)) {
    throw new InvalidTokenError('Token was not issued for this resource')
  }
  if (!requiredScopes.every((scope) => info.scopes.includes(scope))) {
    throw new InsufficientScopeError('Insufficient scope')
  }
  if (typeof info.expiresAt !== 'number' || Number.isNaN(info.expiresAt)) {
    throw new InvalidTokenError('Token has no expiration time')
  }
  if (info.expiresAt < Date.now() / 1000) throw new InvalidTokenError('Token has expired')
}

function isSameResource(reported: URL | undefined, expected: URL): boolean {
  return reported !== undefined && comparable(reported) === comparable(expected)
}

/** Without fragment and trailing slash. */
function comparable(resource: URL | string): string {
  return String(resource).replace(/#.*$/s, '').replace(/\/$/, '')
}

function statusOf(error: OAuthError): number {
  if (error instanceof InvalidTokenError) return 401
  if (error instanceof InsufficientScopeError) return 403
  return error instanceof ServerError ? 500 : 400
}

function challengeOf(error: OAuthError, { requiredScopes = [], resourceMetadataUrl }: BearerAuthMiddlewareOptions) {
  const parts = [`error="${error.errorCode}"`, `error_description="${error.message}"`]
  if (requiredScopes.length > 0) parts.push(`scope="${requiredScopes.join(' ')}"`)
  if (resourceMetadataUrl) parts.push(`resource_metadata="${resourceMetadataUrl}"`)
  return `Bearer ${parts.join(', ')}`
}
