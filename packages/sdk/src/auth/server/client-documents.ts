import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { checkTexts, type OAuthClient } from './client.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
import { checkRedirectUris } from './redirect-uris.ts'

export interface ClientDocumentsOptions {
  /** Judges where requests go, and bounds what comes back. */
  readonly fetch: GuardedFetch
  /** How long a document is kept at most, whatever its server says. Default 3,600. */
  readonly maxAgeSeconds?: number | undefined
  /** Documents kept. Default 200. */
  readonly maxDocuments?: number | undefined
  /** Of redirect URIs, besides https and http on the own machine. */
  readonly redirectSchemes?: readonly string[] | undefined
  /** Hosts whose documents are accepted: `app.example`, or `*.app.example` for its subdomains. Default: every public host. */
  readonly trustedHosts?: readonly string[] | undefined
  /**
   * Hears why a document cannot be used; whoever asked then learns no more than that, because what we find at an address is not
   * for those who made us go there. Default: they are told.
   */
  readonly reportError?: ((error: unknown) => void) | undefined
  readonly now?: (() => number) | undefined
}

/** Documents that are fetched at the same time: whoever asks chooses where we go. */
const maxFetching = 32

/** Clients whose id is the address of a document about them (2025-11-25 client registration, Client ID Metadata Documents). */
export class ClientDocuments {
  readonly #fetch: GuardedFetch
  readonly #maxAgeSeconds: number
  readonly #maxDocuments: number
  readonly #schemes: readonly string[] | undefined
  readonly #trustedHosts: readonly string[] | undefined
  readonly #reportError: ((error: unknown) => void) | undefined
  readonly #now: () => number
  readonly #kept = new Map<string, { readonly client: OAuthClient; readonly until: number }>()
  readonly #fetching = new Map<string, Promise<OAuthClient>>()

  constructor({
    fetch,
    maxAgeSeconds = 3_600,
    maxDocuments = 200,
    redirectSchemes,
    trustedHosts,
    reportError,
    now = Date.now,
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
      throw invalidClient(`Clients described by ${host} are not accepted here`)
    }
    const kept = this.#kept.get(clientId)
    if (kept && kept.until > this.#now()) return kept.client
    const fetching = this.#fetching.get(clientId) ?? this.#begin(clientId)
    return fetching
  }

  #begin(clientId: string): Promise<OAuthClient> {
    if (this.#fetching.size >= maxFetching) {
      throw new OAuthError('temporarily_unavailable', 'Too many clients are being looked up: try again', 503)
    }
    const fetching = this.#read(clientId).finally(() => this.#fetching.delete(clientId))
    this.#fetching.set(clientId, fetching)
    return fetching
  }

  async #read(clientId: string): Promise<OAuthClient> {
    try {
      const { document, maxAgeSeconds } = await fetchDocument(clientId, this.#fetch)
      const client = toClient(clientId, document, this.#schemes)
      this.#keep(clientId, client, Math.min(maxAgeSeconds, this.#maxAgeSeconds))
      return client
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const told = 'The document about the client cannot be used'
      if (!this.#reportError) throw invalidClient(`${told}: ${reason}`)
      const { host, pathname } = new URL(clientId)
      this.#reportError(new Error(`${told}: ${host}${pathname}: ${reason}`))
      throw invalidClient(told)
    }
  }

  #keep(clientId: string, client: OAuthClient, seconds: number): void {
    this.#kept.delete(clientId)
    if (seconds <= 0) return
    // The one that came first goes first.
    if (this.#kept.size >= this.#maxDocuments) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(clientId, { client, until: this.#now() + seconds * 1_000 })
  }
}

/** Throws on a pattern that no host can match. */
export function checkHostPatterns(option: string, patterns: readonly string[] | undefined): void {
  for (const pattern of patterns ?? []) {
    const host = pattern.replace(/^\*\./, '')
    const isHost = !host.includes('*') && URL.canParse(`https://${host}`) && new URL(`https://${host}`).host === host
    if (isHost) continue
    throw new TypeError(`${option}: ${JSON.stringify(pattern)} is not a host such as 'app.example' or '*.app.example'`)
  }
}

function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern
}

/** Whether an id is meant to be such an address: with a path, and written in the one way in which it is compared. */
export function isDocumentAddress(clientId: string): boolean {
  if (!URL.canParse(clientId)) return false
  const url = new URL(clientId)
  return /^https?:$/.test(url.protocol) && url.pathname !== '/' && url.hash === '' && url.href === clientId
}

/**
 * Fetches a small JSON document, with how long it may be kept (RFC 9111, 5.2.2; by default not at all). Redirects are not
 * followed: the owner of the address would vouch for what someone else serves. Pages and uploads that contain JSON by chance are refused by their type.
 */
export async function fetchDocument(
  address: string,
  fetch: GuardedFetch,
): Promise<{ document: JsonObject; maxAgeSeconds: number }> {
  const response = await fetch(address, { headers: { accept: 'application/json' }, redirect: 'error' })
  const { host } = new URL(address)
  if (response.status !== 200) throw new Error(`${host} answered with HTTP ${response.status}`)
  const type = response.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.!#$&^-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new Error(`what ${host} answered is no JSON document by its content type`)
  }
  const document: unknown = await response.json().catch(() => undefined)
  if (!isObject(document)) throw new Error(`what ${host} answered is no JSON object`)
  return { document, maxAgeSeconds: maxAge(response.headers.get('cache-control') ?? '') }
}

function maxAge(cacheControl: string): number {
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return 0
  return Number(/\bmax-age=(\d+)/i.exec(cacheControl)?.[1] ?? 0)
}

function toClient(clientId: string, document: JsonObject, schemes: readonly string[] | undefined): OAuthClient {
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method: method = 'none' } = document
  if (client_id !== clientId) throw new Error('its client_id is not its own address')
  if (client_name === undefined) throw new Error('client_name is missing')
  checkTexts(document)
  // Whoever reads the document would know the secret.
  if ('client_secret' in document || (method !== 'none' && method !== 'private_key_jwt')) {
    throw new Error('a client that is described by a public document cannot have a secret')
  }
  return {
    ...document,
    client_id: clientId,
    redirect_uris: checkRedirectUris(redirect_uris, document.application_type, schemes),
    token_endpoint_auth_method: method,
    grant_types: Array.isArray(document.grant_types) ? document.grant_types : ['authorization_code'],
  }
}
