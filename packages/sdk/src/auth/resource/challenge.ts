/** The credentials of an `Authorization` header. */
export interface Credentials {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
}

/**
 * Returns undefined if the header is missing or has an unknown scheme, and null if it is malformed. Repeated headers arrive
 * joined by a comma and are malformed too, because a proxy may have checked a different one.
 */
export function parseCredentials(header: string | undefined): Credentials | undefined | null {
  if (header === undefined) return undefined
  if (header.includes(',')) return null
  const [, scheme, token] = /^(Bearer|DPoP)(?: +(.*))?$/i.exec(header) ?? []
  if (scheme === undefined) return undefined
  if (token === undefined || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return null
  return { scheme: scheme.toLowerCase() === 'bearer' ? 'Bearer' : 'DPoP', token }
}

/** Parameters of a challenge. Undefined and empty ones are left out. */
export type ChallengeParameters = Readonly<Record<string, string | undefined>>

/** Formats a challenge with quoted values (RFC 9110 11.6.1). */
export function toChallenge(scheme: string, parameters: ChallengeParameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value ? [`${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`] : [],
  )
  return pairs.length === 0 ? scheme : `${scheme} ${pairs.join(', ')}`
}

/** Throws on names that are not valid scopes (RFC 6749 3.3), because they would break the challenge. */
export function checkScopeNames(option: string, scopes: readonly string[]): readonly string[] {
  if (!Array.isArray(scopes)) throw new TypeError(`auth.${option} must be an array of strings.`)
  for (const scope of scopes) {
    if (typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) continue
    throw new TypeError(
      `Invalid scope in auth.${option}: ${JSON.stringify(scope)}. A scope has no spaces and no quotes.`,
    )
  }
  return scopes
}

/**
 * Removes duplicates and `offline_access`, which challenges and metadata must not name: refresh tokens are a matter between
 * the client and the authorization server (2026-07-28 authorization, refresh tokens).
 */
export function withoutOffline(scopes: readonly string[]): string[] {
  return [...new Set(scopes)].filter((scope) => scope !== 'offline_access')
}
