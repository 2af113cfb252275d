/** The identity behind an access token and what it may do. Never contains the token itself. */
export interface AuthInfo {
  /** The authorization server that issued the token. */
  issuer?: string | undefined
  /** The user on whose behalf the client calls, as the issuer identifies them. */
  subject?: string | undefined
  /** The OAuth client that the token was issued to. */
  clientId?: string | undefined
  /** The scopes of the token, including those that other scopes imply. */
  scopes: readonly string[]
  /** When the token expires, in seconds since 1970. */
  expiresAt?: number | undefined
  /** The server that the token was issued for. If present, it must be this server. */
  resource?: string | URL | undefined
  /** Further claims from the issuer. */
  claims?: Readonly<Record<string, unknown>> | undefined
}

/** Identifies the user behind a connection; undefined if `auth` names none. The text is JSON so that no two users collide. */
export function userOf({ issuer, subject }: AuthInfo): string | undefined {
  return subject === undefined ? undefined : JSON.stringify([issuer, subject])
}
