import type { AuthInfo } from '../../util/auth-info.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { secretBasic } from '../client/client-authentication.ts'
import { checkIssuerUrl, type Fetch, IssuerFetch } from '../resource/issuer-fetch.ts'
import type { OAuthTokens } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { OAuthError } from './oauth-error.ts'
import type {
  AuthorizationParams,
  OAuthRegisteredClientsStore,
  OAuthServerProvider,
  RedirectingResponse,
} from './provider-port.ts'

export interface ProxyEndpoints {
  authorizationUrl: string
  tokenUrl: string
  revocationUrl?: string | undefined
  registrationUrl?: string | undefined
}

export interface ProxyOptions {
  endpoints: ProxyEndpoints
  verifyAccessToken(token: string): Promise<AuthInfo>
  /** The client as the authorization server knows it: with its redirect URIs. */
  getClient(clientId: string): Promise<OAuthClient | undefined>
  /** How a client's secret is shown to the other server, whichever way it came to us. Default `client_secret_post`. */
  tokenEndpointAuthMethod?: 'client_secret_post' | 'client_secret_basic' | undefined
  /** Default: the runtime's own. */
  fetch?: Fetch | undefined
}

/**
 * Hands everything on to another authorization server, at which every client is registered under its own id. Where there is
 * one id for all, that would let one client ride on the consent that was given to another: use `broker` there.
 */
export class ProxyOAuthServerProvider implements OAuthServerProvider<RedirectingResponse> {
  readonly skipLocalPkceValidation = true
  readonly clientsStore: OAuthRegisteredClientsStore
  readonly revokeToken?: (client: OAuthClient, request: { token: string; token_type_hint?: string }) => Promise<void>
  readonly #options: ProxyOptions
  readonly #fetch: IssuerFetch

  constructor(options: ProxyOptions) {
    const { endpoints, getClient } = options
    for (const [name, url] of Object.entries(endpoints)) {
      if (url !== undefined) checkIssuerUrl(`ProxyOAuthServerProvider: ${name}`, url)
    }
    const { registrationUrl, revocationUrl } = endpoints
    this.#options = options
    this.#fetch = new IssuerFetch(options.fetch)
    this.clientsStore = {
      getClient: (clientId) => getClient(clientId),
      ...(registrationUrl !== undefined && { registerClient: (client) => this.#register(registrationUrl, client) }),
    }
    if (revocationUrl !== undefined)
      this.revokeToken = (client, request) => this.#revoke(revocationUrl, client, request)
  }

  async authorize(client: OAuthClient, params: AuthorizationParams, response: RedirectingResponse): Promise<void> {
    const url = new URL(this.#options.endpoints.authorizationUrl)
    const { redirectUri, codeChallenge, state, scopes = [], resource } = params
    const asked: Record<string, string> = {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      ...(state !== undefined && { state }),
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(resource && { resource: resource.href }),
    }
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
    response.redirect(url.href)
  }

  /** The other server compares the verifier. */
  async challengeForAuthorizationCode(): Promise<string> {
    return ''
  }

  exchangeAuthorizationCode(
    client: OAuthClient,
    code: string,
    codeVerifier?: string,
    redirectUri?: string,
    resource?: URL,
  ): Promise<OAuthTokens> {
    return this.#token(client, {
      grant_type: 'authorization_code',
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
      resource: resource?.href,
    })
  }

  exchangeRefreshToken(
    client: OAuthClient,
    refreshToken: string,
    scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens> {
    const scope = scopes?.join(' ')
    return this.#token(client, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      scope,
      resource: resource?.href,
    })
  }

  verifyAccessToken(token: string): Promise<AuthInfo> {
    return this.#options.verifyAccessToken(token)
  }

  async #token(client: OAuthClient, params: Params): Promise<OAuthTokens> {
    const answer = await this.#post(this.#options.endpoints.tokenUrl, client, params)
    if (typeof answer?.access_token !== 'string') throw new Error('The authorization server gave no token')
    return answer as unknown as OAuthTokens
  }

  async #revoke(url: string, client: OAuthClient, request: { token: string; token_type_hint?: string }): Promise<void> {
    await this.#post(url, client, request)
  }

  async #register(url: string, client: object): Promise<OAuthClient> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const answer = await this.#ask(url, { method: 'POST', headers, body: JSON.stringify(client) })
    if (typeof answer?.client_id === 'string' && Array.isArray(answer.redirect_uris))
      return answer as unknown as OAuthClient
    throw new Error('The authorization server registered no client')
  }

  #post(url: string, client: OAuthClient, params: Params): Promise<JsonObject | undefined> {
    const given = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const body = new URLSearchParams(given)
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' })
    this.#authenticate(client, body, headers)
    return this.#ask(url, { method: 'POST', headers, body: body.toString() })
  }

  #authenticate({ client_id, client_secret }: OAuthClient, body: URLSearchParams, headers: Headers): void {
    const isBasic = this.#options.tokenEndpointAuthMethod === 'client_secret_basic'
    if (isBasic && client_secret !== undefined) {
      return void secretBasic(client_secret)({ issuer: '' }, { client_id }, body, headers)
    }
    body.set('client_id', client_id)
    if (client_secret !== undefined) body.set('client_secret', client_secret)
  }

  /** What it refuses is refused in the same words; of what goes wrong there, only that it did is told. */
  async #ask(url: string, init: RequestInit): Promise<JsonObject | undefined> {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await this.#fetch.ask(url, { ...init, redirect: 'error', signal }).catch(unavailable)
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return isObject(body) ? body : undefined
    const error = isObject(body) ? body.error : undefined
    if (response.status < 500 && typeof error === 'string' && /^[a-z_]{1,60}$/.test(error)) {
      throw new OAuthError(error, 'The authorization server refused it', response.status === 401 ? 401 : 400)
    }
    const fault = new Error(`${new URL(url).host} answered with HTTP ${response.status}`)
    return response.status < 500 ? Promise.reject(fault) : unavailable(fault)
  }
}

type Params = Readonly<Record<string, string | undefined>>

const timeoutMs = 10_000

function unavailable(cause: unknown): never {
  const description = 'The authorization server behind this one cannot be asked just now: try again later'
  throw Object.assign(new OAuthError('temporarily_unavailable', description, 503, { 'retry-after': '5' }), { cause })
}
