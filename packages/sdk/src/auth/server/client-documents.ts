import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { clock } from '../../util/clock.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { checkTexts, type OAuthClient } from './client.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
import { checkRedirectUris } from './redirect-uris.ts'

export interface ClientDocumentsOptions {
  /** Must check addresses and limit response sizes. */
  readonly fetch: GuardedFetch
  /** The maximum time that a document is cached. Default 3,600. */
  readonly maxAgeSeconds?: number | undefined
  /** The number of cached documents. Default 200. */
  readonly maxDocuments?: number | undefined
  /** Schemes of redirect URIs besides https, and http on loopback addresses. */
  readonly redirectSchemes?: readonly string[] | undefined
  /** Hosts whose documents are accepted: `app.example`, or `*.app.example` for its subdomains. Default: every public host. */
  readonly trustedHosts?: readonly string[] | undefined
  /**
   * Receives the reason why a document was rejected. The client then gets no details, because it must not learn what is found
   * at a URL that it chose. Default: the client gets the reason.
   */
  readonly reportError?: ((error: unknown) => void) | undefined
  readonly now?: (() => number) | undefined
}

/** The number of documents that are fetched at the same time. Limited because clients choose the URLs. */
const maxFetching = 32

/** Clients whose id is the URL of their metadata (2025-11-25 client registration, Client ID Metadata Documents). */
export class ClientDocuments {
  readonly #fetch: GuardedFetch
  readonly #maxAgeSeconds: number
  readonly #maxDocuments: number
  readonly #schemes: readonly string[] | undefined
  readonly #trustedHosts: readonly string[] | undefined
  readonly #reportError: ((error: unknown) => void) | undefined
  readonly #now: () => number
  readonly #cache = new Map<string, { readonly client: OAuthClient; readonly expiresAt: number }>()
  readonly #fetching = new Map<string, Promise<OAuthClient>>()

  constructor({
    fetch,
    maxAgeSeconds = 3_600,
    maxDocuments = 200,
    redirectSchemes,
    trustedHosts,
    reportError,
    now = () => clock.now(),
  }: ClientDocumentsOptions) {
    this.#schemes = redirectSchemes
    this.#trustedHosts = trustedHosts
    this.#fetch = fetch
    this.#maxAgeSeconds = maxAgeSeconds
    this.#maxDocuments = maxDocuments
    this.#reportError = reportError
    this.#now = now
  }

  async find(clientId: string): Promise<OAuthClient> {
    const { host } = new URL(clientId)
    if (this.#trustedHosts && !this.#trustedHosts.some((pattern) => matchesHost(pattern, host))) {
      throw invalidClient(`Client metadata documents of ${host} are not accepted.`)
    }
    const cached = this.#cache.get(clientId)
    if (cached && cached.expiresAt > this.#now()) return cached.client
    return this.#fetching.get(clientId) ?? this.#fetchOnce(clientId)
  }

  #fetchOnce(clientId: string): Promise<OAuthClient> {
    if (this.#fetching.size >= maxFetching) {
      throw new OAuthError(
        'temporarily_unavailable',
        'Too many client metadata documents are being fetched. Try again later.',
        503,
      )
    }
    const fetching = this.#load(clientId).finally(() => this.#fetching.delete(clientId))
    this.#fetching.set(clientId, fetching)
    return fetching
  }

  async #load(clientId: string): Promise<OAuthClient> {
    try {
      const { document, maxAgeSeconds } = await fetchDocument(clientId, this.#fetch)
      const client = toClient(clientId, document, this.#schemes)
      this.#store(clientId, client, Math.min(maxAgeSeconds, this.#maxAgeSeconds))
      return client
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const summary = 'The client metadata document cannot be used'
      if (!this.#reportError) throw invalidClient(`${summary}: ${reason}.`)
      const { host, pathname } = new URL(clientId)
      this.#reportError(new Error(`${summary}: ${host}${pathname}: ${reason}`))
      throw invalidClient(`${summary}.`)
    }
  }

  #store(clientId: string, client: OAuthClient, seconds: number): void {
    this.#cache.delete(clientId)
    if (seconds <= 0) return
    if (this.#cache.size >= this.#maxDocuments) this.#cache.delete(this.#cache.keys().next().value!)
    this.#cache.set(clientId, { client, expiresAt: this.#now() + seconds * 1_000 })
  }
}

/** Throws on a pattern that cannot match any host. */
export function checkHostPatterns(option: string, patterns: readonly string[] | undefined): void {
  for (const pattern of patterns ?? []) {
    const host = pattern.replace(/^\*\./, '')
    const isHost = !host.includes('*') && URL.canParse(`https://${host}`) && new URL(`https://${host}`).host === host
    if (isHost) continue
    throw new TypeError(
      `${option}: ${JSON.stringify(pattern)} is not a host. Use a pattern such as 'app.example' or '*.app.example'.`,
    )
  }
}

function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern
}

/** Returns whether a client id is a document URL: it has a path and is in normalized form, because ids are compared as text. */
export function isDocumentUrl(clientId: string): boolean {
  if (!URL.canParse(clientId)) return false
  const url = new URL(clientId)
  return /^https?:$/.test(url.protocol) && url.pathname !== '/' && !clientId.includes('#') && url.href === clientId
}

/**
 * Fetches a small JSON document and returns how long it may be cached (RFC 9111, 5.2.2; by default not at all). Redirects are
 * not followed, because the owner of the URL would vouch for a document of someone else. The content type must be JSON, so
 * that uploads and pages that happen to contain JSON are rejected.
 */
export async function fetchDocument(
  url: string,
  fetch: GuardedFetch,
): Promise<{ document: JsonObject; maxAgeSeconds: number }> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error' })
  const { host } = new URL(url)
  if (response.status !== 200) throw new Error(`${host} responded with HTTP ${response.status}`)
  const type = response.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new Error(`the content type of the response of ${host} is not JSON`)
  }
  const document: unknown = await response.json().catch(() => undefined)
  if (!isObject(document)) throw new Error(`the response of ${host} is not a JSON object`)
  return { document, maxAgeSeconds: maxAge(response.headers.get('cache-control') ?? '') }
}

function maxAge(cacheControl: string): number {
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return 0
  return Number(/\bmax-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0)
}

function toClient(clientId: string, document: JsonObject, schemes: readonly string[] | undefined): OAuthClient {
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method: method = 'none' } = document
  if (client_id !== clientId) throw new Error('its client_id is not its own URL')
  if (client_name === undefined) throw new Error('client_name is missing')
  checkTexts(document)
  // The document is public, so a secret in it is not a secret.
  if ('client_secret' in document || (method !== 'none' && method !== 'private_key_jwt')) {
    throw new Error('a client with a public metadata document cannot have a secret')
  }
  return {
    ...document,
    client_id: clientId,
    redirect_uris: checkRedirectUris(redirect_uris, document.application_type, schemes),
    token_endpoint_auth_method: method,
    grant_types: Array.isArray(document.grant_types) ? document.grant_types : ['authorization_code'],
  }
}
