/** What a client presented in `Authorization`. */
export interface Credentials {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
}

/**
 * Undefined when there are none that we know; null when they cannot be read. More than one header arrives here joined by a
 * comma, which no token has: someone on the way may have looked at the other one.
 */
export function parseCredentials(header: string | undefined): Credentials | undefined | null {
  if (header === undefined) return undefined
  if (header.includes(',')) return null
  const [, scheme, token] = /^(Bearer|DPoP)(?: +(.*))?$/i.exec(header) ?? []
  if (scheme === undefined) return undefined
  if (token === undefined || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return null
  return { scheme: scheme.toLowerCase() === 'bearer' ? 'Bearer' : 'DPoP', token }
}

/** Parameters of a challenge; those that are undefined or empty are left out. */
export type ChallengeParameters = Readonly<Record<string, string | undefined>>

/** The text of one challenge (RFC 9110 11.6.1), every value quoted. */
export function toChallenge(scheme: string, parameters: ChallengeParameters): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}="${value!.replaceAll(/["\\]/g, '\\$&')}"`)
  return pairs.length === 0 ? scheme : `${scheme} ${pairs.join(', ')}`
}

/** Throws on what is no scope (RFC 6749 3.3) and would break the challenge. */
export function checkScopeNames(option: string, scopes: readonly string[]): readonly string[] {
  if (!Array.isArray(scopes)) throw new TypeError(`auth.${option} must be an array of strings`)
  for (const scope of scopes) {
    if (typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) continue
    throw new TypeError(`auth.${option}: ${JSON.stringify(scope)} is no scope; a scope has no spaces and no quotes`)
  }
  return scopes
}

/**
 * For challenges and metadata: whether a client stays logged in while its user is away is between it and the authorization
 * server (2026-07-28 authorization, refresh tokens).
 */
export function withoutOffline(scopes: readonly string[]): string[] {
  return [...new Set(scopes)].filter((scope) => scope !== 'offline_access')
}
