import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  customFetch,
  discoveryRequest,
  expectNoNonce,
  generateRandomCodeVerifier,
  getValidatedIdTokenClaims,
  None,
  nopkce,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import type { GuardedFetch } from '../../net/guarded-fetch.ts'
import { clock } from '../../util/clock.ts'
import { isObject, type JsonObject, pick } from '../../util/objects.ts'
import { secretBasic } from '../client/client-authentication.ts'
import { checkIssuerUrl } from '../resource/issuer-fetch.ts'
import { randomToken } from '../server/random.ts'
import type { UpstreamProvider } from './providers.ts'

/** The tokens of a user at the provider. Secret. */
export interface UpstreamTokens {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  /** In milliseconds since 1970; undefined if unknown. */
  readonly expiresAt?: number | undefined
}

/** A user who signed in. */
export interface UpstreamLogin {
  readonly subject: string
  /** Claims for handlers: `name`, `email`, ... */
  readonly profile: JsonObject
  readonly tokens: UpstreamTokens
}

/** The values that the callback is checked against. Secret. */
export interface UpstreamFlow {
  readonly state: string
  readonly codeVerifier?: string | undefined
  readonly nonce?: string | undefined
}

/** The login has ended at the provider; retrying does not help. */
export class UpstreamEnded extends Error {
  override name = 'UpstreamEnded'
}

/** The user denied access at the provider. */
export class UpstreamDenied extends Error {
  override name = 'UpstreamDenied'
}

const metadataTtlMs = 3_600_000
const profileMembers = ['name', 'email', 'email_verified', 'preferred_username', 'login']

/** The identity provider, at which the broker is a single client. */
export class Upstream {
  readonly provider: UpstreamProvider
  readonly #callbackUrl: string
  readonly #fetch: GuardedFetch
  readonly #client: Client
  readonly #authentication: ClientAuth
  #server: Promise<AuthorizationServer> | undefined
  #serverUntil = 0

  constructor(provider: UpstreamProvider, callbackUrl: string, fetch: GuardedFetch) {
    checkProvider(provider)
    const { clientSecret, authentication } = provider
    this.provider = provider
    this.#callbackUrl = callbackUrl
    this.#fetch = fetch
    this.#client = { client_id: provider.clientId }
    this.#authentication =
      clientSecret === undefined
        ? None()
        : authentication === 'post'
          ? ClientSecretPost(clientSecret)
          : secretBasic(clientSecret)
  }

  /** Returns the URL where the user signs in. */
  async begin(): Promise<{ url: string; flow: UpstreamFlow }> {
    const { scopes, pkce = true, parameters = {}, clientId } = this.provider
    const { authorization_endpoint: page } = await this.#metadata()
    const flow: UpstreamFlow = {
      state: randomToken(),
      ...(pkce && { codeVerifier: generateRandomCodeVerifier() }),
      ...(!this.#profileSource && { nonce: randomToken() }),
    }
    const url = checkIssuerUrl('The authorization endpoint of the provider', page ?? '')
    const params: Record<string, string> = {
      ...parameters,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: this.#callbackUrl,
      scope: scopes.join(' '),
      state: flow.state,
      ...(flow.nonce !== undefined && { nonce: flow.nonce }),
      ...(flow.codeVerifier !== undefined && {
        code_challenge: await calculatePKCECodeChallenge(flow.codeVerifier),
        code_challenge_method: 'S256',
      }),
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    return { url: url.href, flow }
  }

  /** Returns the user of a callback. `state` and `iss` are checked before anything else is used (RFC 9207). */
  async complete(params: URLSearchParams, { state, codeVerifier, nonce }: UpstreamFlow): Promise<UpstreamLogin> {
    const server = await this.#metadata()
    const checked = checkCallback(server, this.#client, params, state)
    const response = await processAuthorizationCodeResponse(
      server,
      this.#client,
      await authorizationCodeGrantRequest(
        server,
        this.#client,
        this.#authentication,
        checked,
        this.#callbackUrl,
        codeVerifier ?? nopkce,
        this.#requests(),
      ),
      { expectedNonce: nonce ?? expectNoNonce, requireIdToken: this.#profileSource === undefined },
    )
    const tokens = toTokens(response)
    const source = this.#profileSource
    if (source) return { ...(await this.#fetchProfile(source, tokens)), tokens }
    const claims = getValidatedIdTokenClaims(response)
    if (!claims) throw new Error('The provider did not return an ID token')
    return toLogin(claims.sub, { ...claims }, tokens)
  }

  /**
   * Checks that the login is still valid and returns its tokens, refreshed if possible. Throws `UpstreamEnded` if the login
   * has ended, and another error if that could not be determined.
   */
  async refresh(subject: string, tokens: UpstreamTokens): Promise<UpstreamTokens> {
    if (tokens.refreshToken !== undefined) return this.#requestTokens(tokens.refreshToken)
    const source = this.#profileSource
    if (source) {
      const login = await this.#fetchProfile(source, tokens)
      if (login.subject !== subject) throw new UpstreamEnded('The token belongs to another user')
    } else if (tokens.expiresAt !== undefined && tokens.expiresAt <= clock.now()) {
      throw new UpstreamEnded('The token has expired and cannot be refreshed')
    }
    return tokens
  }

  /** Returns whether the validity of the login can be checked later. If not, it ends when its token expires. */
  isRenewable({ refreshToken, expiresAt }: UpstreamTokens): boolean {
    return refreshToken !== undefined || (expiresAt === undefined && this.#profileSource !== undefined)
  }

  async #requestTokens(refreshToken: string): Promise<UpstreamTokens> {
    const server = await this.#metadata()
    try {
      const response = await processRefreshTokenResponse(
        server,
        this.#client,
        await refreshTokenGrantRequest(server, this.#client, this.#authentication, refreshToken, this.#requests()),
      )
      return { refreshToken, ...toTokens(response) }
    } catch (error) {
      // The second is GitHub's error code.
      if (hasErrorCode(error, 'invalid_grant') || hasErrorCode(error, 'bad_refresh_token')) {
        throw new UpstreamEnded('The refresh token is not valid')
      }
      throw error
    }
  }

  /** Where the provider returns the user of a token. Undefined if it issues ID tokens. */
  get #profileSource(): ProfileSource | undefined {
    const { subject } = this.provider
    return typeof subject === 'object' ? subject : undefined
  }

  async #fetchProfile(
    { url, member }: ProfileSource,
    { accessToken }: UpstreamTokens,
  ): Promise<Pick<UpstreamLogin, 'subject' | 'profile'>> {
    const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'user-agent': 'tenon' }
    const response = await this.#fetch(url, { headers })
    // Not on 403, which some providers send as a rate limit.
    if (response.status === 401) throw new UpstreamEnded('The token is no longer valid')
    const profile: unknown = response.status === 200 ? await response.json().catch(() => undefined) : undefined
    if (!isObject(profile) || !isUserId(profile[member])) {
      throw new Error(`${new URL(url).host} did not return a user id (HTTP ${response.status})`)
    }
    return toLogin(String(profile[member]), profile, { accessToken })
  }

  /** Discovered when first needed, and again after it expires or after a failure. */
  #metadata(): Promise<AuthorizationServer> {
    if (this.#server && clock.now() < this.#serverUntil) return this.#server
    const server = this.#discover()
    this.#server = server
    this.#serverUntil = clock.now() + metadataTtlMs
    server.catch(() => {
      if (this.#server === server) this.#server = undefined
    })
    return server
  }

  async #discover(): Promise<AuthorizationServer> {
    const { issuer, endpoints } = this.provider
    if (endpoints) {
      return { issuer, authorization_endpoint: endpoints.authorization, token_endpoint: endpoints.token }
    }
    const url = new URL(issuer)
    return processDiscoveryResponse(url, await discoveryRequest(url, { algorithm: 'oidc', ...this.#requests() }))
  }

  #requests() {
    return {
      [customFetch]: async (url: string, init: unknown) => normalizeErrors(await this.#fetch(url, init as RequestInit)),
      // The fetch above allows plain http only on loopback addresses.
      [allowInsecureRequests]: true,
    }
  }
}

interface ProfileSource {
  readonly url: string
  readonly member: string
}

/** Larger numbers are rounded by JSON.parse, so two users could get the same id. */
function isUserId(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || Number.isSafeInteger(value)
}

function hasErrorCode(error: unknown, code: string): boolean {
  return isObject(error) && error.error === code
}

function checkProvider({ name, clientId, issuer, endpoints, subject, scopes }: UpstreamProvider): void {
  if (!clientId || !name || !Array.isArray(scopes))
    throw new TypeError('broker: upstream must have name, clientId and scopes.')
  checkIssuerUrl('broker: upstream.issuer', issuer)
  for (const [which, url] of Object.entries(endpoints ?? {})) checkIssuerUrl(`broker: upstream.endpoints.${which}`, url)
  if (typeof subject === 'object') checkIssuerUrl('broker: upstream.subject.url', subject.url)
}

function checkCallback(
  server: AuthorizationServer,
  client: Client,
  params: URLSearchParams,
  state: string,
): URLSearchParams {
  // RFC 9207, 2.4: an empty value is a mismatch too.
  if (params.has('iss') && params.get('iss') !== server.issuer)
    throw new Error('iss does not match the issuer of the provider')
  try {
    return validateAuthResponse(server, client, params, state)
  } catch (error) {
    if (hasErrorCode(error, 'access_denied')) throw new UpstreamDenied('The user denied access')
    throw error
  }
}

function toTokens({ access_token, refresh_token, expires_in }: TokenEndpointResponse): UpstreamTokens {
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { expiresAt: clock.now() + expires_in * 1_000 }),
  }
}

function toLogin(subject: string, profile: JsonObject, tokens: UpstreamTokens): UpstreamLogin {
  return { subject, profile: pick(profile, profileMembers), tokens }
}

/**
 * Adapts error responses to what oauth4webapi expects: the error in the body instead of a challenge (RFC 6749, 5.2), and an
 * error status, which GitHub does not send.
 */
async function normalizeErrors(response: Response): Promise<Response> {
  const text = await response.text()
  const headers = new Headers(response.headers)
  headers.delete('www-authenticate')
  return new Response(text, { status: isHiddenError(response, text) ? 400 : response.status, headers })
}

function isHiddenError({ status }: Response, text: string): boolean {
  if (status !== 200) return false
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body.error === 'string' && body.access_token === undefined
  } catch {
    return false
  }
}
