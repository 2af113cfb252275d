/** What a validated access token says, for request handlers. */
export interface AuthInfo {
  /** The access token. */
  token: string
  /** The OAuth client that the token was issued to. */
  clientId: string
  /** The scopes of the token. */
  scopes: string[]
  /** When the token expires, in seconds since 1970. */
  expiresAt?: number | undefined
  /** The server that the token was issued for (RFC 8707). If present, it must be this server. */
  resource?: URL | undefined
  /** Further facts about the token. */
  extra?: Record<string, unknown> | undefined
}
