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
  readonly #options: HttpAuthOptions
  readonly #provider: AuthProvider | undefined
  readonly #oauth: OAuthClientProvider | undefined
  readonly #fetch: FetchLike
  #resourceMetadataUrl: URL | undefined
  #scope: string | undefined
  /** True from an authorization until the server accepts a request. */
  #isAuthorized = false
  #stepUps = 0

  constructor(options: HttpAuthOptions) {
    const { provider, fetch, requestInit, redirectPolicy, skipIssuerMetadataValidation } = options
    this.#options = options
    this.#oauth = isOAuthClientProvider(provider) ? provider : undefined
    const extra = skipIssuerMetadataValidation === undefined ? {} : { skipIssuerMetadataValidation }
    this.#provider = isOAuthClientProvider(provider) ? adaptOAuthProvider(provider, extra) : provider
    const withInit = createFetchWithInit(fetch, requestInit)
    this.#fetch = redirectPolicy === 'follow' ? fetchLeavingRedirects(withInit) : withInit
  }

  async headers(): Promise<Record<string, string>> {
    const token = await this.#provider?.token()
    return token ? { authorization: `Bearer ${token}` } : {}
  }

  async onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    const response = toResponse(refusal)
    const challenge = extractWWWAuthenticateParams(response)
    if (refusal.status === 403) return this.#stepUp(challenge)
    this.#resourceMetadataUrl = challenge.resourceMetadataUrl ?? this.#resourceMetadataUrl
    this.#scope = challenge.scope ?? this.#scope
    if (!this.#provider) return false
    if (this.#isAuthorized) {
      this.#isAuthorized = false
      throw refused(401, 'Unauthorized', 'Server returned 401 after re-authentication')
    }
    if (!this.#provider.onUnauthorized) throw new UnauthorizedError()
    await this.#provider.onUnauthorized({ response, serverUrl: this.#options.url, fetchFn: this.#fetch })
    this.#isAuthorized = true
    return true
  }

  onAccepted(): void {
    this.#isAuthorized = false
    this.#stepUps = 0
  }

  /** Exchanges the code that the user came back with. */
  async finish(codeOrParams: string | URLSearchParams, iss: string | undefined): Promise<void> {
    const oauth = this.#oauth
    if (!oauth) throw new UnauthorizedError('finishAuth requires an OAuthClientProvider')
    const { url } = this.#options
    const context = { fetchFn: this.#fetch, resourceMetadataUrl: this.#resourceMetadataUrl }
    const callback = await resolveAuthorizationCallbackParams(codeOrParams, iss, oauth, url, context)
    const { authorizationCode, iss: issuer } = callback
    const result = await this.#authorize(oauth, { authorizationCode, iss: issuer, scope: this.#scope })
    if (result !== 'AUTHORIZED') throw new UnauthorizedError('Failed to authorize')
  }

  /** Asks for the scopes that the server requires in addition. */
  async #stepUp({ error, scope, resourceMetadataUrl, errorDescription }: Challenge): Promise<boolean> {
    if (error !== 'insufficient_scope') return false
    const { onInsufficientScope, maxStepUpRetries } = this.#options
    const oauth = this.#oauth
    if (onInsufficientScope === 'throw' || !oauth) {
      throw new InsufficientScopeError({ requiredScope: scope, resourceMetadataUrl, errorDescription })
    }
    if (this.#stepUps >= maxStepUpRetries) {
      const limit = `retry limit ${maxStepUpRetries} reached`
      throw refused(
        403,
        'Forbidden',
        `Server returned 403 insufficient_scope after step-up re-authorization (${limit})`,
      )
    }
    this.#stepUps++
    this.#resourceMetadataUrl = resourceMetadataUrl ?? this.#resourceMetadataUrl
    const tokens = await oauth.tokens()
    this.#scope = computeScopeUnion(this.#scope, tokens?.scope, scope)
    const forceReauthorization = isStrictScopeSuperset(this.#scope, tokens?.scope)
    const result = await this.#authorize(oauth, { scope: this.#scope, forceReauthorization })
    if (result !== 'AUTHORIZED') throw new UnauthorizedError()
    return true
  }

  #authorize(oauth: OAuthClientProvider, options: Partial<Parameters<typeof auth>[1]>): ReturnType<typeof auth> {
    const { url, skipIssuerMetadataValidation } = this.#options
    return auth(oauth, {
      serverUrl: url,
      resourceMetadataUrl: this.#resourceMetadataUrl,
      fetchFn: this.#fetch,
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
