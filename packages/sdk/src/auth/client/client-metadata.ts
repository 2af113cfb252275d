import { isSecureUrl } from '../../net/address-policy.ts'
import { isNative } from './registration.ts'

export interface ClientMetadataOptions {
  /** The URL of the document, which is also the client id: an https: URL with a path. */
  clientId: string | URL
  /** The name of the client on consent pages. */
  clientName: string
  /**
   * The redirect URLs: https:, or http: on this machine. If the application listens on a random port, as `oauth()` does by
   * default, pass `http://127.0.0.1/callback`: authorization servers accept any port (RFC 8252, 7.3).
   */
  redirectUrls: readonly (string | URL)[]
  /** Scopes that the client may request. Default: not restricted. */
  scopes?: readonly string[] | undefined
  /** The home page of the client, for consent pages. Default: none. */
  clientUrl?: string | URL | undefined
  /** The logo of the client, for consent pages. Default: none. */
  logoUrl?: string | URL | undefined
  /** The privacy policy of the client, for consent pages. Default: none. */
  policyUrl?: string | URL | undefined
  /** The terms of service of the client, for consent pages. Default: none. */
  termsUrl?: string | URL | undefined
  /** Contacts, usually email addresses. Default: none. */
  contacts?: readonly string[] | undefined
  /**
   * Public keys of the client (RFC 7517). Pass the matching `privateKey` to `oauth()`; then no other client can use the client id.
   * Default: none, so that anybody can use it.
   */
  jwks?: { readonly keys: readonly object[] } | undefined
  /** The https: URL of the public keys, instead of `jwks`. */
  jwksUrl?: string | URL | undefined
}

/** A Client ID Metadata Document, with the names of RFC 7591. */
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
 * Creates a Client ID Metadata Document, which describes a client to authorization servers that do not know it (2025-11-25
 * authorization). Serve it as `application/json` at `clientId`, and pass that URL as `clientMetadataUrl` to `oauth()`. Throws if
 * authorization servers would reject the document.
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
    throw new TypeError('clientName is required: users see it on consent pages')
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

/** The document is public, so a client cannot authenticate with a secret. */
function keysOf({
  jwks,
  jwksUrl,
}: ClientMetadataOptions): Pick<ClientMetadataDocument, 'token_endpoint_auth_method' | 'jwks' | 'jwks_uri'> {
  if (jwks === undefined && jwksUrl === undefined) return { token_endpoint_auth_method: 'none' }
  // RFC 7591, 2.
  if (jwks !== undefined && jwksUrl !== undefined) throw new TypeError('Pass jwks or jwksUrl, not both')
  if (jwks === undefined)
    return { token_endpoint_auth_method: 'private_key_jwt', ...page('jwks_uri', 'jwksUrl', jwksUrl) }
  if (!Array.isArray(jwks.keys) || jwks.keys.length === 0) throw new TypeError('jwks must contain at least one key')
  if (jwks.keys.some((key) => privateMembers.some((name) => name in key))) {
    throw new TypeError('jwks must contain public keys only: the document is public')
  }
  return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [...jwks.keys] } }
}

/** Members of private and shared keys of every kind (RFC 7518, 6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Why a URL cannot be that of a document. Servers compare it as text, so it must be in normal form. */
export function documentUrlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || url.pathname === '/') return 'must be an https: URL with a path'
  if (url.username !== '' || url.password !== '' || text.includes('#')) {
    return 'must not contain a user name, password or fragment'
  }
  return url.href === text ? undefined : `must be written as ${url.href}`
}

function readRedirects(urls: readonly (string | URL)[]): string[] {
  if (!Array.isArray(urls) || urls.length === 0) throw new TypeError('redirectUrls must contain at least one URL')
  return [...new Set(urls.map(String))].map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    // 2025-11-25 authorization, communication security.
    if (!url || !isSecureUrl(url))
      throw new TypeError(`redirectUrls must be https:, or http: on this machine, not ${text}`)
    // RFC 6749, 3.1.2. Servers compare them as text, so a pattern would never match.
    if (/[#*]/.test(text)) throw new TypeError(`redirectUrls must not contain a fragment or *: ${text}`)
    return text
  })
}

function page(name: string, option: string, value: string | URL | undefined): Record<string, string> {
  if (value === undefined) return {}
  const text = String(value)
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:') throw new TypeError(`${option} must be an https: URL`)
  return { [name]: text }
}
