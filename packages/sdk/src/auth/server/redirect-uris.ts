import { isLoopbackUrl } from '../../net/address-policy.ts'
import { OAuthError } from './oauth-error.ts'

/**
 * Checks the redirect URIs of a client that registers itself: https, or http on a loopback address (2025-03-26 on,
 * communication security).
 * @param schemes Further schemes that the operator allows, for native applications with their own scheme (RFC 8252, 7.1).
 */
export function checkRedirectUris(uris: unknown, applicationType: unknown, schemes: readonly string[] = []): string[] {
  if (!Array.isArray(uris) || uris.length === 0) throw invalid('redirect_uris must contain at least one URI.')
  for (const uri of uris) checkRedirectUri(uri, applicationType, schemes)
  return uris
}

/** Returns whether a redirect goes to a program on the user's machine. Nothing proves which program that is. */
export function isLoopbackRedirect(uri: string): boolean {
  const url = new URL(uri)
  return url.protocol === 'http:' && isLoopbackUrl(url)
}

/** Returns the target of a redirect as shown to users: the host, or the scheme of a native application. */
export function displayHostOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1)
}

/**
 * Compares redirect URIs as strings, except for the port of loopback URIs, which native applications choose each time they
 * listen (RFC 8252, 7.3 and OAuth 2.1, 4.1.1). `localhost` counts as loopback too, because many clients use it.
 */
function matchesRedirectUri(registered: string, given: string, applicationType: unknown): boolean {
  if (registered === given) return true
  if (applicationType === 'web') return false
  const expected = withoutPort(registered)
  return expected !== undefined && expected === withoutPort(given)
}

/** Returns the redirect URI of a request, by default the only one of the client. Throws if the client did not register it. */
export function chooseRedirectUri(
  registered: readonly string[],
  given: string | undefined,
  applicationType: unknown,
): string {
  if (given === undefined && registered.length === 1) return registered[0]!
  if (given === undefined) throw new OAuthError('invalid_request', 'The redirect_uri is missing.')
  // Ports may differ, so the URI has to be checked for a valid one.
  if (URL.canParse(given) && registered.some((uri) => matchesRedirectUri(uri, given, applicationType))) return given
  throw new OAuthError('invalid_request', 'The redirect_uri is not registered for this client.')
}

function checkRedirectUri(uri: unknown, applicationType: unknown, schemes: readonly string[]): void {
  // `URL` ignores blanks and line breaks, which users would not see.
  if (typeof uri !== 'string' || !/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) {
    throw invalid('redirect_uris must be absolute URIs.')
  }
  const url = new URL(uri)
  const isOwnScheme = schemes.includes(url.protocol.slice(0, -1))
  if (url.protocol !== 'https:' && !isLoopbackRedirect(uri) && !isOwnScheme) {
    throw invalid(
      'redirect_uris must use https, or http on a loopback address. Other schemes must be allowed by the operator.',
    )
  }
  if (uri.includes('#')) throw invalid('redirect_uris must not have a fragment.')
  if (url.username !== '' || url.password !== '')
    throw invalid('redirect_uris must not have a user name or a password.')
  // OpenID Connect Registration 1.0, 2, application_type.
  if (applicationType === 'web' && isLoopbackUrl(url)) {
    throw invalid('A web application must not use a loopback redirect URI. Set application_type to native.')
  }
}

/** Throws on schemes that browsers handle themselves instead of passing them to an application. */
export function checkSchemes(schemes: readonly string[], where: string): readonly string[] {
  for (const scheme of schemes) {
    const isScheme = /^[a-z][a-z0-9+.-]*$/.test(scheme)
    if (isScheme && !/^(?:https?|javascript|data|file|vbscript|blob|about|view-source|wss?|ftp)$/.test(scheme)) continue
    throw new TypeError(
      `${where}: ${JSON.stringify(scheme)} is not a scheme of a native application. Use one such as 'com.example.app'.`,
    )
  }
  return schemes
}

function withoutPort(uri: string): string | undefined {
  const match = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/.exec(uri)
  return match ? `${match[1]}${match[2]}` : undefined
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_redirect_uri', description)
}
