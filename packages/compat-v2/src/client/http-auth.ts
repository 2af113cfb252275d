import { fetchLeavingRedirects } from '@tenon/compat-v1/client/oauth/same-origin-fetch.js'
import type { AuthRefusal, ClientAuth } from 'tenon/client'
import { SdkErrorCode, SdkHttpError } from '../core/errors.ts'
import { createFetchWithInit, type FetchLike } from '../core/transport.ts'
import { InsufficientScopeError, UnauthorizedError } from './authErrors.ts'
import { withDpopFromProvider } from './middleware.ts'
import { adaptOAuthProvider, isOAuthClientProvider } from './oauth/auth-provider.ts'
import { resolveAuthorizationCallbackParams } from './oauth/callback.ts'
import { extractWWWAuthenticateParams } from './oauth/challenge.ts'
import { auth } from './oauth/flow.ts'
import type { AuthProvider, OAuthClientProvider } from './oauth/provider.ts'
import { computeScopeUnion, isStrictScopeSuperset } from './oauth/scopes.ts'

/** Adds proofs to the requests of a provider whose tokens are bound to a key. */
export function signingFetch(
  provider: AuthProvider | OAuthClientProvider | undefined,
  fetch: FetchLike | undefined,
): FetchLike | undefined {
  if (!isOAuthClientProvider(provider) || !provider.dpop) return fetch
  return withDpopFromProvider(provider)(fetch ?? ((url, init) => globalThis.fetch(url, init)))
}

/** Where to get tokens for, and how. */
export interface HttpAuthOptions {
  readonly url: URL
  /** Undefined if the program authorizes requests itself; a server that asks for more is then still understood. */
  readonly provider: AuthProvider | OAuthClientProvider | undefined
  readonly fetch: FetchLike | undefined
  readonly requestInit: RequestInit | undefined
  readonly redirectPolicy: 'same-origin' | 'follow' | undefined
  readonly skipIssuerMetadataValidation: boolean | undefined
  readonly onInsufficientScope: 'reauthorize' | 'throw'
  readonly maxStepUpRetries: number
}

type Challenge = ReturnType<typeof extractWWWAuthenticateParams>

/** Gets the tokens of a transport from the provider of the program. */
export class HttpAuth implements ClientAuth {
  private readonly _options: HttpAuthOptions
  private readonly _provider: AuthProvider | undefined
  private readonly _oauth: OAuthClientProvider | undefined
  private readonly _fetch: FetchLike
  private _resourceMetadataUrl: URL | undefined
  private _scope: string | undefined
  /** True from an authorization until the server accepts a request. */
  private _isAuthorized = false
  private _stepUps = 0

  constructor(options: HttpAuthOptions) {
    const { provider, fetch, requestInit, redirectPolicy, skipIssuerMetadataValidation } = options
    this._options = options
    this._oauth = isOAuthClientProvider(provider) ? provider : undefined
    const extra = skipIssuerMetadataValidation === undefined ? {} : { skipIssuerMetadataValidation }
    this._provider = isOAuthClientProvider(provider) ? adaptOAuthProvider(provider, extra) : provider
    const withInit = createFetchWithInit(fetch, requestInit)
    this._fetch = redirectPolicy === 'follow' ? fetchLeavingRedirects(withInit) : withInit
  }

  async headers(): Promise<Record<string, string>> {
    const token = await this._provider?.token()
    return token ? { authorization: `Bearer ${token}` } : {}
  }

  async onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    const response = toResponse(refusal)
    const challenge = extractWWWAuthenticateParams(response)
    if (refusal.status === 403) return this._stepUp(challenge)
    this._resourceMetadataUrl = challenge.resourceMetadataUrl ?? this._resourceMetadataUrl
    this._scope = challenge.scope ?? this._scope
    if (!this._provider) return false
    if (this._isAuthorized) {
      this._isAuthorized = false
      throw refused(401, 'Unauthorized', 'Server returned 401 after re-authentication')
    }
    if (!this._provider.onUnauthorized) throw new UnauthorizedError()
    await this._provider.onUnauthorized({ response, serverUrl: this._options.url, fetchFn: this._fetch })
    this._isAuthorized = true
    return true
  }

  onAccepted(): void {
    this._isAuthorized = false
    this._stepUps = 0
  }

  /** Exchanges the code that the user came back with. */
  async finish(codeOrParams: string | URLSearchParams, iss: string | undefined): Promise<void> {
    const oauth = this._oauth
    if (!oauth) throw new UnauthorizedError('finishAuth requires an OAuthClientProvider')
    const { url } = this._options
    const context = { fetchFn: this._fetch, resourceMetadataUrl: this._resourceMetadataUrl }
    const callback = await resolveAuthorizationCallbackParams(codeOrParams, iss, oauth, url, context)
    const { authorizationCode, iss: issuer } = callback
    const result = await this._authorize(oauth, { authorizationCode, iss: issuer, scope: this._scope })
    if (result !== 'AUTHORIZED') throw new UnauthorizedError('Failed to authorize')
  }

  /** Asks for the scopes that the server requires in addition. */
  private async _stepUp({ error, scope, resourceMetadataUrl, errorDescription }: Challenge): Promise<boolean> {
    if (error !== 'insufficient_scope') return false
    const { onInsufficientScope, maxStepUpRetries } = this._options
    const oauth = this._oauth
    if (onInsufficientScope === 'throw' || !oauth) {
      throw new InsufficientScopeError({ requiredScope: scope, resourceMetadataUrl, errorDescription })
    }
    if (this._stepUps >= maxStepUpRetries) {
      const limit = `retry limit ${maxStepUpRetries} reached`
      throw refused(
        403,
        'Forbidden',
        `Server returned 403 insufficient_scope after step-up re-authorization (${limit})`,
      )
    }
    this._stepUps++
    this._resourceMetadataUrl = resourceMetadataUrl ?? this._resourceMetadataUrl
    const tokens = await oauth.tokens()
    this._scope = computeScopeUnion(this._scope, tokens?.scope, scope)
    const forceReauthorization = isStrictScopeSuperset(this._scope, tokens?.scope)
    const result = await this._authorize(oauth, { scope: this._scope, forceReauthorization })
    if (result !== 'AUTHORIZED') throw new UnauthorizedError()
    return true
  }

  private _authorize(
    oauth: OAuthClientProvider,
    options: Partial<Parameters<typeof auth>[1]>,
  ): ReturnType<typeof auth> {
    const { url, skipIssuerMetadataValidation } = this._options
    return auth(oauth, {
      serverUrl: url,
      resourceMetadataUrl: this._resourceMetadataUrl,
      fetchFn: this._fetch,
      skipIssuerMetadataValidation,
      ...options,
    })
  }
}

function toResponse({ status, header }: AuthRefusal): Response {
  const challenge = header('www-authenticate')
  return new Response(null, { status, headers: challenge === undefined ? {} : { 'WWW-Authenticate': challenge } })
}

function refused(status: number, statusText: string, message: string): SdkHttpError {
  const code = status === 403 ? SdkErrorCode.ClientHttpForbidden : SdkErrorCode.ClientHttpAuthentication
  return new SdkHttpError(code, message, { status, statusText })
}
