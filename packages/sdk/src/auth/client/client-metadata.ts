import { isLoopbackUrl } from '../../net/addresses.ts'
import { isNative } from './registration.ts'

export interface ClientMetadataOptions {
  /** Where the document will be found, which is the id of the client: an https: URL with a path. */
  clientId: string | URL
  /** What users read on consent pages. */
  clientName: string
  /**
   * Where users come back to: https:, or http: on this machine. Applications that listen at any free port, as `oauth()` does
   * by default, list `http://127.0.0.1/callback`: servers let them add a port (RFC 8252, 7.3).
   */
  redirectUrls: readonly (string | URL)[]
  /** Scopes that it may ask for. Default: nothing is said. */
  scopes?: readonly string[] | undefined
  /** Pages about the client, for consent pages. Default: none. */
  clientUrl?: string | URL | undefined
  logoUrl?: string | URL | undefined
  policyUrl?: string | URL | undefined
  termsUrl?: string | URL | undefined
  /** Addresses of people, usually of mail. Default: none. */
  contacts?: readonly string[] | undefined
  /**
   * Public keys of the client (RFC 7517), here or at an https: URL. With one of them, `oauth()` is given the `privateKey`, and
   * only who has that can use the client's id. Default: none, so that anybody can.
   */
  jwks?: { readonly keys: readonly object[] } | undefined
  jwksUrl?: string | URL | undefined
}

/** A Client ID Metadata Document, by the names of RFC 7591. */
export interface ClientMetadataDocument {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly token_endpoint_auth_method: 'none' | 'private_key_jwt'
  readonly jwks?: { readonly keys: readonly object[] }
  readonly jwks_uri?: string
  readonly application_type: 'native' | 'web'
  readonly scope?: string
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  readonly contacts?: readonly string[]
}

/**
 * The document that tells authorization servers who a client is that they have never seen (2025-11-25 authorization, Client ID
 * Metadata Documents). Serve it as `application/json` at `clientId`, and give that as `clientMetadataUrl` to `oauth()`. Throws
 * on what authorization servers would refuse.
 *
 * @example
 * const document = clientMetadata({
 *   clientId: 'https://app.example/oauth/client.json',
 *   clientName: 'App',
 *   redirectUrls: ['http://127.0.0.1/callback'],
 * })
 */
export function clientMetadata(options: ClientMetadataOptions): ClientMetadataDocument {
  const clientId = String(options.clientId)
  const problem = documentUrlProblem(clientId)
  if (problem !== undefined) throw new TypeError(`clientId ${problem}`)
  if (typeof options.clientName !== 'string' || options.clientName.trim() === '') {
    throw new TypeError('clientName is missing: users read it before they agree')
  }
  const redirectUrls = readRedirects(options.redirectUrls)
  const { scopes = [], contacts } = options
  return {
    client_id: clientId,
    client_name: options.clientName,
    redirect_uris: redirectUrls,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...keysOf(options),
    // 2026-07-28 authorization: servers allow loopback redirects to native applications only.
    application_type: redirectUrls.some(isNative) ? 'native' : 'web',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...page('client_uri', 'clientUrl', options.clientUrl),
    ...page('logo_uri', 'logoUrl', options.logoUrl),
    ...page('policy_uri', 'policyUrl', options.policyUrl),
    ...page('tos_uri', 'termsUrl', options.termsUrl),
    ...(contacts !== undefined && { contacts: [...contacts] }),
  }
}

/** Whoever reads the document would know a secret, so there is no other method. */
function keysOf({
  jwks,
  jwksUrl,
}: ClientMetadataOptions): Pick<ClientMetadataDocument, 'token_endpoint_auth_method' | 'jwks' | 'jwks_uri'> {
  if (jwks === undefined && jwksUrl === undefined) return { token_endpoint_auth_method: 'none' }
  // RFC 7591, 2.
  if (jwks !== undefined && jwksUrl !== undefined) throw new TypeError('Pass jwks or jwksUrl, not both')
  if (jwks === undefined)
    return { token_endpoint_auth_method: 'private_key_jwt', ...page('jwks_uri', 'jwksUrl', jwksUrl) }
  if (!Array.isArray(jwks.keys) || jwks.keys.length === 0) throw new TypeError('jwks must have at least one key')
  if (jwks.keys.some((key) => privateMembers.some((name) => name in key))) {
    throw new TypeError('jwks must have public keys only: the document can be read by everybody')
  }
  return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [...jwks.keys] } }
}

/** Of RFC 7518, 6: private keys of every kind, and shared ones. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** What is wrong with the URL of such a document. Servers compare it as it is written, so it has one form only. */
export function documentUrlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || url.pathname === '/') return 'must be an https: URL with a path'
  if (url.username !== '' || url.password !== '' || text.includes('#')) {
    return 'must have no user name, password or fragment'
  }
  return url.href === text ? undefined : `must be written as ${url.href}`
}

function readRedirects(urls: readonly (string | URL)[]): string[] {
  if (!Array.isArray(urls) || urls.length === 0) throw new TypeError('redirectUrls must name at least one URL')
  return [...new Set(urls.map(String))].map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    // 2025-11-25 authorization, communication security.
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackUrl(url))
    if (!isSafe) throw new TypeError(`redirectUrls must be https:, or http: on this machine, unlike ${text}`)
    // RFC 6749, 3.1.2; and since servers compare them as they are written, a pattern fits nothing.
    if (/[#*]/.test(text)) throw new TypeError(`redirectUrls must have no fragment and no *, unlike ${text}`)
    return text
  })
}

function page(name: string, option: string, value: string | URL | undefined): Record<string, string> {
  if (value === undefined) return {}
  const text = String(value)
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:') throw new TypeError(`${option} must be an https: URL`)
  return { [name]: text }
}
