import type { OAuthErrorResponse } from '../../shared/auth.ts'

/** An error of OAuth 2.0, which the endpoints answer with. */
export class OAuthError extends Error {
  /** The code of the class, as RFC 6749 and its extensions register it. */
  static errorCode: string
  readonly errorUri?: string | undefined

  constructor(message: string, errorUri?: string) {
    super(message)
    this.errorUri = errorUri
    this.name = this.constructor.name
  }

  get errorCode(): string {
    return (this.constructor as typeof OAuthError).errorCode
  }

  /** Returns the body of the error response. */
  toResponseObject(): OAuthErrorResponse {
    const body: OAuthErrorResponse = { error: this.errorCode, error_description: this.message }
    if (this.errorUri) body.error_uri = this.errorUri
    return body
  }
}

/** The request lacks a parameter, or one is invalid. */
export class InvalidRequestError extends OAuthError {
  static override errorCode = 'invalid_request'
}

/** The client is unknown or failed to authenticate. */
export class InvalidClientError extends OAuthError {
  static override errorCode = 'invalid_client'
}

/** The code or refresh token is invalid, has expired or belongs to another client. */
export class InvalidGrantError extends OAuthError {
  static override errorCode = 'invalid_grant'
}

/** The client may not use this grant. */
export class UnauthorizedClientError extends OAuthError {
  static override errorCode = 'unauthorized_client'
}

/** The server does not support this grant. */
export class UnsupportedGrantTypeError extends OAuthError {
  static override errorCode = 'unsupported_grant_type'
}

/** The scope is unknown, malformed or more than was granted. */
export class InvalidScopeError extends OAuthError {
  static override errorCode = 'invalid_scope'
}

/** The user or the server denied the request. */
export class AccessDeniedError extends OAuthError {
  static override errorCode = 'access_denied'
}

/** The server failed. */
export class ServerError extends OAuthError {
  static override errorCode = 'server_error'
}

/** The server is overloaded or under maintenance. */
export class TemporarilyUnavailableError extends OAuthError {
  static override errorCode = 'temporarily_unavailable'
}

/** The server does not support this response type. */
export class UnsupportedResponseTypeError extends OAuthError {
  static override errorCode = 'unsupported_response_type'
}

/** The server cannot revoke tokens of this type. */
export class UnsupportedTokenTypeError extends OAuthError {
  static override errorCode = 'unsupported_token_type'
}

/** The access token is missing, malformed, expired or revoked. */
export class InvalidTokenError extends OAuthError {
  static override errorCode = 'invalid_token'
}

/** The endpoint does not support this HTTP method. */
export class MethodNotAllowedError extends OAuthError {
  static override errorCode = 'method_not_allowed'
}

/** The caller made too many requests. */
export class TooManyRequestsError extends OAuthError {
  static override errorCode = 'too_many_requests'
}

/** The metadata of a client that registers is invalid. */
export class InvalidClientMetadataError extends OAuthError {
  static override errorCode = 'invalid_client_metadata'
}

/** The access token lacks a scope. */
export class InsufficientScopeError extends OAuthError {
  static override errorCode = 'insufficient_scope'
}

/** The requested resource is unknown or malformed. */
export class InvalidTargetError extends OAuthError {
  static override errorCode = 'invalid_target'
}

/** An error with a code that is not in this file. */
export class CustomOAuthError extends OAuthError {
  private readonly _tenonCode: string

  constructor(customErrorCode: string, message: string, errorUri?: string) {
    super(message, errorUri)
    this._tenonCode = customErrorCode
  }

  override get errorCode(): string {
    return this._tenonCode
  }
}

/** The error classes by code. */
export const OAUTH_ERRORS: {
  readonly [code: string]: new (message: string, errorUri?: string) => OAuthError
} = Object.fromEntries(
  [
    InvalidRequestError,
    InvalidClientError,
    InvalidGrantError,
    UnauthorizedClientError,
    UnsupportedGrantTypeError,
    InvalidScopeError,
    AccessDeniedError,
    ServerError,
    TemporarilyUnavailableError,
    UnsupportedResponseTypeError,
    UnsupportedTokenTypeError,
    InvalidTokenError,
    MethodNotAllowedError,
    TooManyRequestsError,
    InvalidClientMetadataError,
    InsufficientScopeError,
    InvalidTargetError,
  ].map((each) => [each.errorCode, each]),
)
