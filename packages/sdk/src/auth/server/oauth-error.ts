import { type EndpointResponse, jsonResponse } from '../http.ts'

/** An OAuth error response. Throw it in an `OAuthServerProvider` to choose the error that the client gets. */
export class OAuthError extends Error {
  override name = 'OAuthError'
  /** The OAuth error code: `invalid_grant`, `invalid_scope`, ... */
  readonly errorCode: string
  /** The HTTP status. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  /**
   * @param description Sent to the client and shown to users, so it must not contain secrets or text from third parties. A
   *   `cause` is reported only to the operator.
   */
  constructor(errorCode: string, description: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.errorCode = errorCode
    this.status = status
    this.headers = headers
  }

  /** Returns the error as a JSON response. */
  toResponse(): EndpointResponse {
    return jsonResponse({ error: this.errorCode, error_description: this.message }, this.status, this.headers)
  }
}

export function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}

export function invalidClient(description: string): OAuthError {
  return new OAuthError('invalid_client', description, 401)
}
