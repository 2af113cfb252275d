import type { AuthInfo, TokenRequest } from './options.ts'

type Claims = Readonly<Record<string, unknown>>

/** Converts the claims of a JWT, or of an introspection response, to an `AuthInfo`. */
export function toAuthInfo(claims: Claims, clockToleranceSec: number): AuthInfo {
  const { iss, sub, exp } = claims
  const clientId = [claims.client_id, claims.azp, claims.cid, claims.appid].find((id) => typeof id === 'string')
  return {
    ...(typeof iss === 'string' && { issuer: iss }),
    ...(typeof sub === 'string' && { subject: sub }),
    ...(typeof clientId === 'string' && { clientId }),
    scopes: [...new Set([...toScopes(claims.scope), ...toScopes(claims.scp)])],
    ...(typeof exp === 'number' && { expiresAt: exp + clockToleranceSec }),
    claims,
  }
}

/**
 * Returns whether the audience names this server: by the configured names, or else by the URL of the server (2025-06-18
 * authorization, token audience binding).
 */
export function isForUs(audience: unknown, configured: readonly string[] | undefined, request: TokenRequest): boolean {
  if (!configured) return request.isFor(audience)
  return [audience].flat().some((one) => typeof one === 'string' && configured.includes(one))
}

export function toList(value: string | readonly string[] | undefined): readonly string[] | undefined {
  return typeof value === 'string' ? [value] : value
}

function toScopes(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  return Array.isArray(value) ? value.filter((scope) => typeof scope === 'string') : []
}
