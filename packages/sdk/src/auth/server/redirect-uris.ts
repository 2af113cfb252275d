import { isLoopbackUrl } from '../../net/addresses.ts'
import { OAuthError } from './oauth-error.ts'

/**
 * The redirect URIs of a client that describes itself: https, or http on its own machine (2025-03-26 on, communication
 * security).
 * @param schemes Others that the operator lets in, for applications that have one of their own (RFC 8252, 7.1).
 */
export function checkRedirectUris(uris: unknown, applicationType: unknown, schemes: readonly string[] = []): string[] {
  if (!Array.isArray(uris) || uris.length === 0) throw invalid('redirect_uris names at least one')
  for (const uri of uris) checkRedirectUri(uri, applicationType, schemes)
  return uris
}

/** Whether only a program on the user's own machine can be there: nothing proves which. */
export function isLocalRedirect(uri: string): boolean {
  const url = new URL(uri)
  return url.protocol === 'http:' && isLoopbackUrl(url)
}

/** What people read of where an answer goes: the host, or the scheme of an application that has its own. */
export function placeOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1)
}

/**
 * Equal as strings, but for the port where a native application chooses one each time it listens: RFC 8252, 7.3 and
 * OAuth 2.1, 4.1.1. Names other than addresses are let in too, because so many clients use `localhost`.
 */
function matchesRedirectUri(registered: string, given: string, applicationType: unknown): boolean {
  if (registered === given) return true
  if (applicationType === 'web') return false
  const expected = withoutPort(registered)
  return expected !== undefined && expected === withoutPort(given)
}

/** The one that a request names, or the only one that there is; throws when the client did not register it. */
export function chooseRedirectUri(
  registered: readonly string[],
  given: string | undefined,
  applicationType: unknown,
): string {
  if (given === undefined && registered.length === 1) return registered[0]!
  if (given === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing')
  // The port may be any that there is.
  if (URL.canParse(given) && registered.some((uri) => matchesRedirectUri(uri, given, applicationType))) return given
  throw new OAuthError('invalid_request', 'redirect_uri is not one that the client registered')
}

function checkRedirectUri(uri: unknown, applicationType: unknown, schemes: readonly string[]): void {
  // `URL` overlooks blanks and line breaks; people would not see what is compared.
  if (typeof uri !== 'string' || !/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) {
    throw invalid('redirect_uris are absolute URIs')
  }
  const url = new URL(uri)
  const isOwnScheme = schemes.includes(url.protocol.slice(0, -1))
  if (url.protocol !== 'https:' && !isLocalRedirect(uri) && !isOwnScheme) {
    throw invalid(
      'redirect_uris are https, or http on the own machine; other schemes have to be allowed by the operator',
    )
  }
  if (uri.includes('#')) throw invalid('redirect_uris have no fragment')
  if (url.username !== '' || url.password !== '') throw invalid('redirect_uris carry no user name and no password')
  // OpenID Connect Registration 1.0, 2, application_type.
  if (applicationType === 'web' && isLoopbackUrl(url)) {
    throw invalid('A web application has no redirect URI on the own machine; application_type should be native')
  }
}

/** Throws on schemes that browsers act on themselves, instead of handing them to an application. */
export function checkSchemes(schemes: readonly string[], where: string): readonly string[] {
  for (const scheme of schemes) {
    const isNamed = /^[a-z][a-z0-9+.-]*$/.test(scheme)
    if (isNamed && !/^(?:https?|javascript|data|file|vbscript|blob|about|view-source|wss?|ftp)$/.test(scheme)) continue
    throw new TypeError(`${where}: ${JSON.stringify(scheme)} is no scheme of an application, such as 'com.example.app'`)
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
