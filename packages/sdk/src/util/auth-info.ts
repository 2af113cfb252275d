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

/** The user behind a connection; undefined where none is named. As JSON, so that no two users give the same text. */
export function userOf({ issuer, subject }: AuthInfo): string | undefined {
  return subject === undefined ? undefined : JSON.stringify([issuer, subject])
}
