import type { AuthInfo } from '../../util/auth-info.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
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
    const answer = await this.#post(this.#options.endpoints.tokenUrl, { ...params, ...identityOf(client) })
    if (typeof answer?.access_token !== 'string') throw new Error('The authorization server gave no token')
    return answer as unknown as OAuthTokens
  }

  async #revoke(url: string, client: OAuthClient, request: { token: string; token_type_hint?: string }): Promise<void> {
    await this.#post(url, { ...request, ...identityOf(client) })
  }

  async #register(url: string, client: object): Promise<OAuthClient> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const answer = await this.#ask(url, { method: 'POST', headers, body: JSON.stringify(client) })
    if (typeof answer?.client_id === 'string' && Array.isArray(answer.redirect_uris))
      return answer as unknown as OAuthClient
    throw new Error('The authorization server registered no client')
  }

  #post(url: string, params: Params): Promise<JsonObject | undefined> {
    const given = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    return this.#ask(url, { method: 'POST', headers, body: new URLSearchParams(given).toString() })
  }

  /** What it refuses is refused in the same words; what goes wrong there is a fault of ours. */
  async #ask(url: string, init: RequestInit): Promise<JsonObject | undefined> {
    const response = await this.#fetch.ask(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok) return isObject(body) ? body : undefined
    const error = isObject(body) ? body.error : undefined
    if (response.status < 500 && typeof error === 'string' && /^[a-z_]{1,60}$/.test(error)) {
      throw new OAuthError(error, 'The authorization server refused it', response.status === 401 ? 401 : 400)
    }
    throw new Error(`${new URL(url).host} answered with HTTP ${response.status}`)
  }
}

type Params = Readonly<Record<string, string | undefined>>

const timeoutMs = 10_000

function identityOf({ client_id, client_secret }: OAuthClient): Params {
  return { client_id, client_secret }
}
