import { type AuthReply, json } from '../http.ts'

/** How an authorization server says no. Throw it in an `OAuthServerProvider` to answer with an error of your choosing. */
export class OAuthError extends Error {
  override name = 'OAuthError'
  /** As OAuth names it: `invalid_grant`, `invalid_scope`, ... */
  readonly errorCode: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  /**
   * @param description Clients and people read it: nothing secret, nothing that somebody else wrote. A `cause` is for the
   * operator alone.
   */
  constructor(errorCode: string, description: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(description)
    this.errorCode = errorCode
    this.status = status
    this.headers = headers
  }

  toReply(): AuthReply {
    return json({ error: this.errorCode, error_description: this.message }, this.status, this.headers)
  }
}

export function invalidGrant(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}

export function invalidClient(description: string): OAuthError {
  return new OAuthError('invalid_client', description, 401)
}
