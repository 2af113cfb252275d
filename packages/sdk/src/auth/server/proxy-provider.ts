import type { AuthInfo } from '../../protocol/auth-info.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { timeoutSignal } from '../../util/scheduler.ts'
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

/** The endpoints of the authorization server behind a `ProxyOAuthServerProvider`. */
export interface ProxyEndpoints {
  authorizationUrl: string
  tokenUrl: string
  revocationUrl?: string | undefined
  registrationUrl?: string | undefined
}

/** Options of `ProxyOAuthServerProvider`. */
export interface ProxyOptions {
  /** The endpoints of the authorization server. */
  endpoints: ProxyEndpoints
  /** Rejects with an error whose `errorCode` is `invalid_token` if the token is not valid. */
  verifyAccessToken(token: string): Promise<AuthInfo>
  /** Returns the client as registered at the authorization server, with its redirect URIs. */
  getClient(clientId: string): Promise<OAuthClient | undefined>
  /** How client secrets are sent to the authorization server. Default `client_secret_post`. */
  tokenEndpointAuthMethod?: 'client_secret_post' | 'client_secret_basic' | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/**
 * Forwards all requests to another authorization server, at which every client is registered with its own id. If all clients
 * share one id there, use `broker` instead: otherwise one client could exploit the consent given to another.
 *
 * @example
 * const provider = new ProxyOAuthServerProvider({
 *   endpoints: { authorizationUrl: `${issuer}/authorize`, tokenUrl: `${issuer}/token` },
 *   verifyAccessToken,
 *   getClient,
 * })
 * app.use(mcpAuthRouter({ provider, issuerUrl: issuer }))
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
    const query: Record<string, string> = {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
      ...(state !== undefined && { state }),
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(resource && { resource: resource.href }),
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    response.redirect(url.href)
  }

  /** Not used: the authorization server checks the verifier. */
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
    const tokens = await this.#post(this.#options.endpoints.tokenUrl, client, params)
    if (!isTokens(tokens)) throw new Error('The authorization server did not return a token')
    return tokens
  }

  async #revoke(url: string, client: OAuthClient, request: { token: string; token_type_hint?: string }): Promise<void> {
    await this.#post(url, client, request)
  }

  async #register(url: string, client: object): Promise<OAuthClient> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const registered = await this.#send(url, { method: 'POST', headers, body: JSON.stringify(client) })
    if (isClient(registered)) return registered
    throw new Error('The authorization server did not return a client')
  }

  #post(url: string, client: OAuthClient, params: Params): Promise<JsonObject | undefined> {
    const entries = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const body = new URLSearchParams(entries)
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' })
    this.#authenticate(client, body, headers)
    return this.#send(url, { method: 'POST', headers, body: body.toString() })
  }

  #authenticate({ client_id, client_secret }: OAuthClient, body: URLSearchParams, headers: Headers): void {
    const isBasic = this.#options.tokenEndpointAuthMethod === 'client_secret_basic'
    if (isBasic && client_secret !== undefined) {
      return void secretBasic(client_secret)({ issuer: '' }, { client_id }, body, headers)
    }
    body.set('client_id', client_id)
    if (client_secret !== undefined) body.set('client_secret', client_secret)
  }

  /** Passes on OAuth error codes of the authorization server, but no details of its failures. */
  async #send(url: string, init: RequestInit): Promise<JsonObject | undefined> {
    const signal = timeoutSignal(timeoutMs)
    const response = await this.#fetch.send(url, { ...init, redirect: 'error', signal }).catch(unavailable)
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return isObject(body) ? body : undefined
    const error = isObject(body) ? body.error : undefined
    if (response.status < 500 && typeof error === 'string' && /^[a-z_]{1,60}$/.test(error)) {
      throw new OAuthError(error, 'The authorization server rejected the request.', response.status === 401 ? 401 : 400)
    }
    const fault = new Error(`${new URL(url).host} responded with HTTP ${response.status}`)
    return response.status < 500 ? Promise.reject(fault) : unavailable(fault)
  }
}

function isTokens(body: JsonObject | undefined): body is JsonObject & OAuthTokens {
  return typeof body?.access_token === 'string'
}

function isClient(body: JsonObject | undefined): body is JsonObject & OAuthClient {
  return typeof body?.client_id === 'string' && Array.isArray(body.redirect_uris)
}

type Params = Readonly<Record<string, string | undefined>>

const timeoutMs = 10_000

function unavailable(cause: unknown): never {
  const description = 'The upstream authorization server is not available. Try again later.'
  throw Object.assign(new OAuthError('temporarily_unavailable', description, 503, { 'retry-after': '5' }), { cause })
}
