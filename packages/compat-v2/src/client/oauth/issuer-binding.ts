import { AuthorizationServerMismatchError } from '../authErrors.ts'

/** Compares issuers as text. A slash at the end does not count: servers write their own name with and without it. */
export function issuersMatch(a: string, b: string): boolean {
  return a === b || `${a}/` === b || a === `${b}/`
}

/**
 * Returns stored credentials unless they belong to another authorization server, which must not see them. Credentials without an
 * issuer are returned too, with a warning.
 *
 * @param opts.canPersistStamp Whether the issuer can be stored with them. If not, the warning would appear every time.
 */
export function discardIfIssuerMismatch<T extends { issuer?: string | undefined }>(
  stored: T | null | undefined,
  issuer: string,
  opts?: { canPersistStamp?: boolean },
): T | undefined {
  if (!stored) return undefined
  if (typeof stored.issuer === 'string') return issuersMatch(stored.issuer, issuer) ? stored : undefined
  if (opts?.canPersistStamp !== false) {
    console.warn(
      "Stored OAuth credentials have no 'issuer' stamp, so they may be presented to another authorization server. " +
        'Store what saveTokens() and saveClientInformation() receive unchanged.',
    )
  }
  return stored.issuer === undefined ? stored : { ...stored, issuer: undefined }
}

/** A code and its verifier are only sent to the authorization server that the user was sent to. */
export function checkRecordedIssuer(recorded: string | undefined, issuer: string, isRecording: boolean): void {
  if (recorded !== undefined) {
    if (!issuersMatch(recorded, issuer)) throw new AuthorizationServerMismatchError(recorded, issuer)
    return
  }
  if (isRecording) {
    throw new AuthorizationServerMismatchError(
      'discoveryState was not available on the callback leg; ensure your provider persists discoveryState alongside codeVerifier',
      issuer,
    )
  }
  console.warn(
    'The OAuthClientProvider has no saveDiscoveryState() and discoveryState(), so it cannot be checked that the ' +
      'authorization code comes from the authorization server that the user was sent to. Implement both.',
  )
}
