import type { Response } from 'express'
import {
  type OAuthClientInformationFull,
  OAuthClientInformationFullSchema,
  type OAuthTokenRevocationRequest,
  type OAuthTokens,
  OAuthTokensSchema,
} from '../../../shared/auth.ts'
import type { FetchLike } from '../../../shared/transport.ts'
import type { OAuthRegisteredClientsStore } from '../clients.ts'
import { ServerError } from '../errors.ts'
import type { AuthorizationParams, OAuthServerProvider } from '../provider.ts'
import type { AuthInfo } from '../types.ts'

/** The endpoints of the authorization server behind the proxy. */
export type ProxyEndpoints = {
  authorizationUrl: string
  tokenUrl: string
  revocationUrl?: string
  registrationUrl?: string
}

/** Options of `ProxyOAuthServerProvider`. */
export type ProxyOptions = {
  endpoints: ProxyEndpoints
  /** Returns what an access token says. Throws if it is not valid. */
  verifyAccessToken: (token: string) => Promise<AuthInfo>
  /** Returns a client that is registered there. */
  getClient: (clientId: string) => Promise<OAuthClientInformationFull | undefined>
  /** Replaces the global `fetch`. */
  fetch?: FetchLike
}

type Fields = Record<string, string | undefined>

/** Passes everything on to another authorization server, which issues and checks the tokens. */
export class ProxyOAuthServerProvider implements OAuthServerProvider {
  protected readonly _endpoints: ProxyEndpoints
  protected readonly _verifyAccessToken: (token: string) => Promise<AuthInfo>
  protected readonly _getClient: (clientId: string) => Promise<OAuthClientInformationFull | undefined>
  protected readonly _fetch?: FetchLike | undefined
  /** The other server checks the code verifier. */
  skipLocalPkceValidation = true
  revokeToken?: (client: OAuthClientInformationFull, request: OAuthTokenRevocationRequest) => Promise<void>

  constructor({ endpoints, verifyAccessToken, getClient, fetch }: ProxyOptions) {
    this._endpoints = endpoints
    this._verifyAccessToken = verifyAccessToken
    this._getClient = getClient
    this._fetch = fetch
    if (endpoints?.revocationUrl) this.revokeToken = (client, request) => this._tenonRevoke(client, request)
  }

  get clientsStore(): OAuthRegisteredClientsStore {
    const { registrationUrl } = this._endpoints
    if (!registrationUrl) return { getClient: this._getClient }
    return { getClient: this._getClient, registerClient: (client) => this._tenonRegister(registrationUrl, client) }
  }

  async authorize(client: OAuthClientInformationFull, params: AuthorizationParams, res: Response): Promise<void> {
    const url = new URL(this._endpoints.authorizationUrl)
    url.search = toForm({
      client_id: client.client_id,
      response_type: 'code',
      redirect_uri: params.redirectUri,
      code_challenge: params.codeChallenge,
      code_challenge_method: 'S256',
      state: params.state,
      scope: params.scopes?.join(' '),
      resource: params.resource?.href,
    })
    res.redirect(url.href)
  }

  /** The challenge is known to the other server only. */
  async challengeForAuthorizationCode(): Promise<string> {
    return ''
  }

  exchangeAuthorizationCode(
    client: OAuthClientInformationFull,
    authorizationCode: string,
    codeVerifier?: string,
    redirectUri?: string,
    resource?: URL,
  ): Promise<OAuthTokens> {
    return this._tenonRequestTokens('Token exchange', client, {
      grant_type: 'authorization_code',
      code: authorizationCode,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
      resource: resource?.href,
    })
  }

  exchangeRefreshToken(
    client: OAuthClientInformationFull,
    refreshToken: string,
    scopes?: string[],
    resource?: URL,
  ): Promise<OAuthTokens> {
    return this._tenonRequestTokens('Token refresh', client, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      scope: scopes?.join(' '),
      resource: resource?.href,
    })
  }

  async verifyAccessToken(token: string): Promise<AuthInfo> {
    return this._verifyAccessToken(token)
  }

  private async _tenonRequestTokens(
    action: string,
    client: OAuthClientInformationFull,
    fields: Fields,
  ): Promise<OAuthTokens> {
    const response = await this._tenonPost(
      action,
      this._endpoints.tokenUrl,
      toForm({ ...credentialsOf(client), ...fields }),
    )
    return OAuthTokensSchema.parse(await response.json())
  }

  private async _tenonRegister(
    url: string,
    client: Parameters<NonNullable<OAuthRegisteredClientsStore['registerClient']>>[0],
  ): Promise<OAuthClientInformationFull> {
    const response = await this._tenonPost('Client registration', url, JSON.stringify(client), 'application/json')
    return OAuthClientInformationFullSchema.parse(await response.json())
  }

  private async _tenonRevoke(client: OAuthClientInformationFull, request: OAuthTokenRevocationRequest): Promise<void> {
    const url = this._endpoints.revocationUrl
    if (!url) throw new Error('No revocation endpoint configured')
    const { token, token_type_hint } = request
    const response = await this._tenonPost(
      'Token revocation',
      url,
      toForm({ token, ...credentialsOf(client), token_type_hint }),
    )
    await response.body?.cancel()
  }

  private async _tenonPost(
    action: string,
    url: string,
    body: string,
    type = 'application/x-www-form-urlencoded',
  ): Promise<globalThis.Response> {
    const response = await (this._fetch ?? fetch)(url, { method: 'POST', headers: { 'Content-Type': type }, body })
    if (response.ok) return response
    await response.body?.cancel()
    throw new ServerError(`${action} failed: ${response.status}`)
  }
}

function credentialsOf({ client_id, client_secret }: OAuthClientInformationFull): Fields {
  return { client_id, client_secret }
}

/** Leaves out what is missing or empty. */
function toForm(fields: Fields): string {
  const present = Object.entries(fields).filter((field): field is [string, string] => !!field[1])
  return new URLSearchParams(present).toString()
}
