import type { AuthRefusal, ClientAuth } from 'tenon/client'
import { createFetchWithInit, type FetchLike, normalizeHeaders } from '../shared/transport.ts'
import { auth, extractWWWAuthenticateParams, type OAuthClientProvider, UnauthorizedError } from './auth.ts'
import { fetchLeavingRedirects } from './oauth/same-origin-fetch.ts'

/** Where to get tokens for, and how to send the requests for them. */
export interface ProviderAuthOptions {
  readonly url: URL
  readonly provider: OAuthClientProvider
  readonly fetch: FetchLike | undefined
  readonly requestInit: RequestInit | undefined
  /** `follow` leaves redirects to `fetch`. Default: they are followed within the origin of the request. */
  readonly redirectPolicy: 'same-origin' | 'follow' | undefined
  /** The error if the server refuses a request although the authorization succeeded. */
  refused(status: number, message: string): Error
}

/** Gets the tokens of a transport from the provider of the program. */
export class ProviderAuth implements ClientAuth {
  readonly #options: ProviderAuthOptions
  #resourceMetadataUrl: URL | undefined
  #scope: string | undefined
  /** True from an authorization until the server accepts a request. */
  #isAuthorized = false
  /** The last challenge that asked for more scopes. */
  #lastChallenge: string | undefined

  constructor(options: ProviderAuthOptions) {
    this.#options = options
  }

  async headers(): Promise<Record<string, string>> {
    const { provider, requestInit } = this.#options
    const tokens = await provider.tokens()
    const own = Object.keys(normalizeHeaders(requestInit?.headers)).map((name) => name.toLowerCase())
    if (!tokens || own.includes('authorization')) return {}
    return { authorization: `Bearer ${tokens.access_token}` }
  }

  async onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    const challenge = refusal.header('www-authenticate')
    const headers = new Headers(challenge === undefined ? {} : { 'WWW-Authenticate': challenge })
    const params = extractWWWAuthenticateParams(new Response(null, { headers }))
    if (refusal.status === 403) return this.#widen(challenge, params)
    if (this.#isAuthorized) {
      this.#isAuthorized = false
      throw this.#options.refused(401, 'Server returned 401 after successful authentication')
    }
    this.#resourceMetadataUrl = params.resourceMetadataUrl
    this.#scope = params.scope
    await this.authorize()
    this.#isAuthorized = true
    return true
  }

  onAccepted(): void {
    this.#isAuthorized = false
    this.#lastChallenge = undefined
  }

  /** @param authorizationCode The code that the user came back with, if they were sent to the authorization server. */
  async authorize(authorizationCode?: string): Promise<void> {
    const { provider, url, fetch, requestInit, redirectPolicy } = this.#options
    const fetchFn = createFetchWithInit(fetch, requestInit)
    const result = await auth(provider, {
      serverUrl: url,
      ...(authorizationCode !== undefined && { authorizationCode }),
      ...(this.#resourceMetadataUrl && { resourceMetadataUrl: this.#resourceMetadataUrl }),
      ...(this.#scope !== undefined && { scope: this.#scope }),
      fetchFn: redirectPolicy === 'follow' ? fetchLeavingRedirects(fetchFn) : fetchFn,
    })
    if (result === 'AUTHORIZED') return
    throw new UnauthorizedError(authorizationCode === undefined ? undefined : 'Failed to authorize')
  }

  /** Asks for the scopes that the server requires, once for each challenge. */
  async #widen(
    challenge: string | undefined,
    { error, scope, resourceMetadataUrl }: ReturnType<typeof extractWWWAuthenticateParams>,
  ): Promise<boolean> {
    if (error !== 'insufficient_scope') return false
    if (this.#lastChallenge === challenge) {
      throw this.#options.refused(403, 'Server returned 403 after trying upscoping')
    }
    this.#scope = scope ?? this.#scope
    this.#resourceMetadataUrl = resourceMetadataUrl ?? this.#resourceMetadataUrl
    this.#lastChallenge = challenge
    await this.authorize()
    return true
  }
}
