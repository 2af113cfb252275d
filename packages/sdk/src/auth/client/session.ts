import { processRefreshTokenResponse, refreshTokenGrantRequest, type TokenEndpointResponse } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import type { ReadHeader } from '../../net/send.ts'
import type { Tracer } from '../../protocol/trace.ts'
import { clock } from '../../util/clock.ts'
import { isThenable } from '../../util/maybe-async.ts'
import { bearerChallenge, type Challenge } from './challenge.ts'
import type { AuthRefusal, AuthRequest, ClientAuth } from './client-auth.ts'
import { authenticationOf } from './client-authentication.ts'
import { AuthContext, type AuthFetch, messageOf, redacted, requestOptions, Trace, wrapErrors } from './context.ts'
import { withoutQuery } from './credential-storage.ts'
import { type Credentials, isStale, type Tokens, withNonce } from './credentials.ts'
import type { DpopKey } from './dpop.ts'
import { type Discovery, discover } from './metadata.ts'
import type { RegisteredClient } from './registration.ts'
import { tracedFetch } from './traced-fetch.ts'

/** If a token is rejected this soon after it was issued, another one from the same source would be rejected too. */
const freshMs = 5_000

/** After this many refusals of one request, it fails. */
const maxRefusals = 2

/**
 * The authorization for one server: adds tokens to requests, refreshes them before they expire, and obtains new ones when the
 * server answers 401 or 403. However many requests are refused at the same time, this happens once.
 */
export class OAuthSession implements ClientAuth {
  readonly serverUrl: URL
  tracer: Tracer | undefined = undefined
  readonly #credentials: Credentials
  readonly #fetch: AuthFetch
  #renewing: Promise<void> | undefined
  #discovery: Discovery | undefined
  #dpop: DpopKey | undefined
  /** The last token that was obtained from a user or with a grant. */
  #obtained: Issued | undefined
  #refreshed: Issued | undefined
  /** The sets of missing scopes that were requested. Each is requested once. */
  readonly #requestedScopes = new Set<string>()
  /** The URL of the resource metadata in the last challenge. */
  #metadataUrl: string | undefined
  #revision: string | undefined

  constructor(serverUrl: URL, credentials: Credentials, fetch: AuthFetch) {
    this.serverUrl = withoutQuery(serverUrl)
    this.#credentials = credentials
    this.#fetch = fetch
  }

  /** The headers with the access token, which is refreshed first if it is about to expire. */
  headers(request: AuthRequest): Record<string, string> | Promise<Record<string, string>> {
    const tokens = this.#credentials.tokens()
    if (isThenable(tokens)) return tokens.then((loaded) => this.#headersFor(loaded, request))
    return this.#headersFor(tokens, request)
  }

  /** For hosts: the scopes that the current token was requested for or has. */
  async scopes(): Promise<readonly string[]> {
    return (await this.#credentials.tokens())?.scopes ?? []
  }

  /** Obtains other credentials after a 401 or 403. False if there is no point in sending the request again. */
  async onUnauthorized({ status, header, sent, count, revision }: AuthRefusal): Promise<boolean> {
    this.#revision = revision
    const challenge = bearerChallenge(header('www-authenticate'))
    if (this.#storeNonce(challenge, header)) return count <= maxRefusals
    const isStepUp = status === 403 && challenge?.params.error === 'insufficient_scope'
    if (count > maxRefusals || (status === 403 && !isStepUp)) return false
    // Another request may be obtaining the scopes.
    if (isStepUp && this.#renewing) await this.#renewing
    const tokens = await this.#credentials.tokens()
    if (tokens && !isSameToken(tokens, sent.authorization)) return true
    if (isStepUp) return this.#stepUp(challenge, tokens)
    await this.#renew({ challenge, isRefused: true, isStepUp: false }, tokens)
    return true
  }

  /** Reads the nonce for the next proof of possession. */
  onAccepted(head: { header: ReadHeader }): void {
    const nonce = this.#dpop && head.header('dpop-nonce')
    if (this.#dpop && nonce) this.#dpop.nonce = nonce
  }

  /**
   * Runs work that obtains tokens outside of a request.
   * @param work Returns the new access token, and the scopes that it was requested for, if those were missing.
   */
  async complete(work: (context: AuthContext) => Promise<{ accessToken: string; missing?: string | undefined }>) {
    const context = this.#context(new Trace())
    const { accessToken, missing } = await wrapErrors(context.trace, this.#credentials.failureMessage, () =>
      work(context),
    )
    this.#obtained = issued(accessToken)
    if (missing !== undefined) this.#requestedScopes.add(missing)
  }

  #headersFor(
    tokens: Tokens | undefined,
    request: AuthRequest,
  ): Record<string, string> | Promise<Record<string, string>> {
    const isReady = tokens?.tokenType !== 'dpop' && !(tokens && isStale(tokens, clock.now()))
    return isReady ? bearerHeaders(tokens) : this.#prepareHeaders(tokens, request)
  }

  async #prepareHeaders(
    tokens: Tokens | undefined,
    { method, url, revision }: AuthRequest,
  ): Promise<Record<string, string>> {
    this.#revision = revision
    if (tokens && isStale(tokens, clock.now()) && this.#isRenewable(tokens)) {
      // A token that is still valid for a moment is used if it cannot be replaced now.
      await this.#renew({ isRefused: false, isStepUp: false }, tokens).catch((error) => {
        if (tokens.expiresAt === undefined || isExpired(tokens)) throw error
      })
    }
    const current = await this.#credentials.tokens()
    const dpop = current?.tokenType === 'dpop' ? await this.#loadDpop() : undefined
    if (!current || !dpop) return bearerHeaders(current)
    const proof = await dpop.proof(method, url, current.accessToken)
    return { authorization: `DPoP ${current.accessToken}`, dpop: proof }
  }

  /** True if new tokens can be obtained without a user. */
  #isRenewable({ refreshToken }: Tokens): boolean {
    return refreshToken !== undefined || this.#credentials.isUnattended
  }

  async #loadDpop(): Promise<DpopKey | undefined> {
    this.#dpop ??= await this.#credentials.dpopKey?.()
    return this.#dpop
  }

  /** RFC 9449, 9: the server requires its nonce in the next proof. */
  #storeNonce(challenge: Challenge | undefined, header: ReadHeader): boolean {
    const nonce = header('dpop-nonce')
    if (!this.#dpop || nonce === undefined || challenge?.params.error !== 'use_dpop_nonce') return false
    this.#dpop.nonce = nonce
    return true
  }

  /** 2026-07-28 authorization, step-up: requests the previous scopes and the missing ones, once for each missing set. */
  async #stepUp(challenge: Challenge, tokens: Tokens | undefined): Promise<boolean> {
    const missing = challenge.params.scope ?? ''
    if (this.#requestedScopes.has(missing)) return false
    this.#requestedScopes.add(missing)
    try {
      await this.#renew({ challenge, isRefused: true, isStepUp: true }, tokens)
    } catch (error) {
      // The user has not decided yet, so these scopes may be requested again.
      if (this.#credentials.isPending) this.#requestedScopes.delete(missing)
      throw error
    }
    return true
  }

  #renew(reason: RenewalReason, old: Tokens | undefined): Promise<void> {
    const trace = new Trace()
    const renew = () => this.#renewNow(this.#context(trace), reason, old)
    this.#renewing ??= wrapErrors(trace, this.#credentials.failureMessage, renew).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewNow(context: AuthContext, reason: RenewalReason, held: Tokens | undefined): Promise<void> {
    const { challenge, isRefused, isStepUp } = reason
    const discovery = await this.#discover(context, reason)
    const isNew = held?.issuer === discovery.server.issuer && isFresh(this.#obtained, held.accessToken)
    // A short-lived token can expire on its way to the server.
    const isOutdated = held !== undefined && isExpired(held) && this.#isRenewable(held)
    if (isRefused && !isStepUp && isNew && !isOutdated) {
      throw new AuthError(
        'The server rejected (HTTP 401) a token that was just issued. It may expect another issuer or audience than its metadata says',
        context.trace,
      )
    }
    // Other processes must not wait for a user, so only what needs no user is done inside the lock.
    if (await this.#credentials.lock(() => this.#renewWithoutUser(context, discovery, reason, held))) return
    const { accessToken } = await this.#credentials.obtain({ context, discovery, challenge, held, isStepUp })
    this.#obtained = issued(accessToken)
    if (!isStepUp) this.#requestedScopes.clear()
  }

  async #discover(context: AuthContext, { challenge, isRefused }: RenewalReason): Promise<Discovery> {
    this.#metadataUrl = challenge?.params.resource_metadata ?? this.#metadataUrl
    // A refusal may mean that the server has another authorization server now; a token that expires does not.
    if (!isRefused && this.#discovery) return this.#discovery
    const found = await discover(context, challenge, this.#metadataUrl, this.#credentials.issuer)
    this.#discovery = (await this.#credentials.onDiscovery?.(found)) ?? found
    return this.#discovery
  }

  /** True if another process has obtained new tokens, or if the tokens could be refreshed. */
  async #renewWithoutUser(
    context: AuthContext,
    discovery: Discovery,
    { isRefused, isStepUp }: RenewalReason,
    held: Tokens | undefined,
  ): Promise<boolean> {
    const stored = await this.#credentials.reload(discovery)
    if (!stored) return false
    if (stored.accessToken !== held?.accessToken) {
      context.trace.done('token', 'another process has obtained it')
      return true
    }
    const isRejected = isRefused && isFresh(this.#refreshed, stored.accessToken) && !isExpired(stored)
    // Refreshing does not help if the token is for another resource, or was rejected right after it was refreshed.
    if (isStepUp || isRejected || stored.resource !== discovery.resource) return false
    return this.#refresh(context, discovery, stored)
  }

  /** False if the refresh token is invalid. Any other failure throws, and the tokens are kept. */
  async #refresh(context: AuthContext, { server, resource }: Discovery, tokens: Tokens): Promise<boolean> {
    const { refreshToken, scopes } = tokens
    const client = refreshToken === undefined ? undefined : await this.#credentials.client(context, server)
    if (refreshToken === undefined || !client) return false
    let response: TokenEndpointResponse
    try {
      response = await this.#requestRefresh(context, { server, resource }, client, refreshToken, tokens.tokenType)
    } catch (cause) {
      context.trace.failed('refresh', messageOf(cause))
      const { error } = cause as { error?: unknown }
      const isClientUnknown = error === 'invalid_client' || error === 'unauthorized_client'
      if (!isClientUnknown && error !== 'invalid_grant') {
        const message = `The token could not be refreshed: ${messageOf(cause)}`
        throw new AuthError(message, context.trace, { cause: redacted(cause) })
      }
      await this.#credentials.forget(isClientUnknown ? 'client' : 'tokens', server)
      return false
    }
    context.trace.done('refresh', `at ${server.token_endpoint}`)
    const grant = { server, clientId: client.client_id, resource, scopes, refreshToken }
    this.#refreshed = issued((await this.#credentials.save(response, grant)).accessToken)
    return true
  }

  async #requestRefresh(
    context: AuthContext,
    { server, resource }: Pick<Discovery, 'server' | 'resource'>,
    client: RegisteredClient,
    refreshToken: string,
    tokenType: Tokens['tokenType'],
  ): Promise<TokenEndpointResponse> {
    const dpop = tokenType === 'dpop' ? await this.#loadDpop() : undefined
    const requests = this.#credentials.tokenContext?.(context, server) ?? context
    return withNonce(dpop?.handle, async () =>
      processRefreshTokenResponse(
        server,
        client,
        await refreshTokenGrantRequest(server, client, authenticationOf(client, context), refreshToken, {
          ...requestOptions(requests),
          ...(resource !== undefined && { additionalParameters: { resource } }),
          ...(dpop && { DPoP: dpop.handle }),
        }),
      ),
    )
  }

  #context(trace: Trace): AuthContext {
    const fetch = this.tracer ? tracedFetch(this.#fetch, this.tracer) : this.#fetch
    return new AuthContext(this.serverUrl, trace, fetch, this.#revision, this.#credentials.signature)
  }
}

/** Why tokens are replaced. */
interface RenewalReason {
  readonly challenge?: Challenge | undefined
  /** True if the server refused a request; false if the token is about to expire. */
  readonly isRefused: boolean
  /** True if the token lacks scopes, which the challenge names. */
  readonly isStepUp: boolean
}

interface Issued {
  readonly accessToken: string
  readonly at: number
}

function issued(accessToken: string): Issued {
  return { accessToken, at: clock.now() }
}

function isFresh(last: Issued | undefined, accessToken: string): boolean {
  return last?.accessToken === accessToken && clock.now() - last.at < freshMs
}

function isExpired({ expiresAt }: Tokens): boolean {
  return expiresAt !== undefined && expiresAt <= clock.now()
}

function bearerHeaders(tokens: Tokens | undefined): Record<string, string> {
  return tokens ? { authorization: `Bearer ${tokens.accessToken}` } : {}
}

function isSameToken({ accessToken }: Tokens, sent: string | undefined): boolean {
  return sent?.endsWith(` ${accessToken}`) === true
}
