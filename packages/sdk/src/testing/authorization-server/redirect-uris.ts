import { isLoopback } from './fetch-json.ts'
import { Refusal } from './http.ts'

/** The redirect URIs of a client that describes itself: https, or http on its own machine; throws on others. */
export function checkRedirectUris(uris: unknown, applicationType: unknown): string[] {
  if (!Array.isArray(uris) || uris.length === 0) throw invalid('redirect_uris names at least one')
  for (const uri of uris) {
    if (typeof uri !== 'string' || !URL.canParse(uri)) throw invalid('redirect_uris are absolute URIs')
    const url = new URL(uri)
    const isLocal = url.protocol === 'http:' && isLoopback(url.hostname)
    if (url.protocol !== 'https:' && !isLocal) throw invalid('redirect_uris are https, or http on the own machine')
    if (uri.includes('#')) throw invalid('redirect_uris have no fragment')
    // OpenID Connect Registration 1.0 section 2, application_type.
    if (applicationType === 'web' && isLoopback(url.hostname)) {
      throw invalid('A web application has no redirect URI on the own machine; application_type should be native')
    }
  }
  return uris
}

/**
 * Equal as strings, but for the port where a native application chooses one each time it listens: RFC 8252 section 7.3 and
 * OAuth 2.1 section 4.1.1. Names other than addresses are let in too, because so many clients use `localhost`.
 */
export function matchesRedirectUri(registered: string, given: string, applicationType: unknown): boolean {
  if (registered === given) return true
  if (applicationType === 'web') return false
  const expected = withoutPort(registered)
  return expected !== undefined && expected === withoutPort(given)
}

function withoutPort(uri: string): string | undefined {
  const match = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/.exec(uri)
  return match ? `${match[1]}${match[2]}` : undefined
}

function invalid(description: string): Refusal {
  return new Refusal('invalid_redirect_uri', description)
}
