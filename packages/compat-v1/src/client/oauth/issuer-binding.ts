/** A stored registration or token, with the authorization server that it belongs to. */
interface Bound {
  issuer?: string | undefined
}

/** Compares issuers as URLs. A slash at the end does not count: servers write their own name with and without it. */
export function isSameIssuer(a: string, b: string): boolean {
  return normalized(a) === normalized(b)
}

function normalized(issuer: string): string {
  const href = URL.canParse(issuer) ? new URL(issuer).href : issuer
  return href.endsWith('/') ? href.slice(0, -1) : href
}

/**
 * Returns stored credentials unless they belong to another authorization server, which must not see them. Credentials without an
 * issuer, stored by an older version, are returned too. `null` means that nothing is stored.
 */
export function boundTo<T extends Bound>(stored: T | null | undefined, issuer: string): T | undefined {
  if (!stored) return undefined
  if (stored.issuer === undefined || stored.issuer === null) return stored
  if (typeof stored.issuer !== 'string') return { ...stored, issuer: undefined }
  return isSameIssuer(stored.issuer, issuer) ? stored : undefined
}

export function boundElsewhere({ issuer: bound }: Bound, issuer: string): Error {
  return new Error(
    `OAuth client information is bound to authorization server ${bound} and is not presented to ${issuer}. ` +
      'Clear the stored client information, or correct `expectedIssuer`, if the authorization server has moved.',
  )
}
