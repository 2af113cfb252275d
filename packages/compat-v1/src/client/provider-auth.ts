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
  private readonly _options: ProviderAuthOptions
  private _resourceMetadataUrl: URL | undefined
  private _scope: string | undefined
  /** True from an authorization until the server accepts a request. */
  private _isAuthorized = false
  /** The last challenge that asked for more scopes. */
  private _lastChallenge: string | undefined

  constructor(options: ProviderAuthOptions) {
    this._options = options
  }

  async headers(): Promise<Record<string, string>> {
    const { provider, requestInit } = this._options
    const tokens = await provider.tokens()
    const own = Object.keys(normalizeHeaders(requestInit?.headers)).map((name) => name.toLowerCase())
    if (!tokens || own.includes('authorization')) return {}
    return { authorization: `Bearer ${tokens.access_token}` }
  }

  async onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    const challenge = refusal.header('www-authenticate')
    const headers = new Headers(challenge === undefined ? {} : { 'WWW-Authenticate': challenge })
    const params = extractWWWAuthenticateParams(new Response(null, { headers }))
    if (refusal.status === 403) return this._widen(challenge, params)
    if (this._isAuthorized) {
      this._isAuthorized = false
      throw this._options.refused(401, 'Server returned 401 after successful authentication')
    }
    this._resourceMetadataUrl = params.resourceMetadataUrl
    this._scope = params.scope
    await this.authorize()
    this._isAuthorized = true
    return true
  }

  onAccepted(): void {
    this._isAuthorized = false
    this._lastChallenge = undefined
  }

  /** @param authorizationCode The code that the user came back with, if they were sent to the authorization server. */
  async authorize(authorizationCode?: string): Promise<void> {
    const { provider, url, fetch, requestInit, redirectPolicy } = this._options
    const fetchFn = createFetchWithInit(fetch, requestInit)
    const result = await auth(provider, {
      serverUrl: url,
      ...(authorizationCode !== undefined && { authorizationCode }),
      ...(this._resourceMetadataUrl && { resourceMetadataUrl: this._resourceMetadataUrl }),
      ...(this._scope !== undefined && { scope: this._scope }),
      fetchFn: redirectPolicy === 'follow' ? fetchLeavingRedirects(fetchFn) : fetchFn,
    })
    if (result === 'AUTHORIZED') return
    throw new UnauthorizedError(authorizationCode === undefined ? undefined : 'Failed to authorize')
  }

  /** Asks for the scopes that the server requires, once for each challenge. */
  private async _widen(
    challenge: string | undefined,
    { error, scope, resourceMetadataUrl }: ReturnType<typeof extractWWWAuthenticateParams>,
  ): Promise<boolean> {
    if (error !== 'insufficient_scope') return false
    if (this._lastChallenge === challenge) {
      throw this._options.refused(403, 'Server returned 403 after trying upscoping')
    }
    this._scope = scope ?? this._scope
    this._resourceMetadataUrl = resourceMetadataUrl ?? this._resourceMetadataUrl
    this._lastChallenge = challenge
    await this.authorize()
    return true
  }
}
