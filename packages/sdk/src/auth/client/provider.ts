import {
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { AuthError, McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { bearerChallenge, type Challenge, scopesIn } from './challenge.ts'
import { AuthContext, type AuthFetch, inPlainWords, messageOf, plain } from './context.ts'
import { withoutQuery } from './credential-storage.ts'
import { chooseScopes, discover, type Found, fetchFor } from './discovery.ts'
import { beginFlow, completeFlow, type Flow } from './flow.ts'
import { requestOptions } from './http-options.ts'
import { authenticatingFetch, providerClient, registerProvider } from './provider-client.ts'
import type { OAuthClientProvider, ProviderTokens } from './provider-port.ts'
import type { RegisteredClient } from './registration.ts'
import { authenticationOf } from './tokens.ts'
import { Trace } from './trace.ts'

export interface ProviderOptions {
  /** The server, for `finishAuth` in a process that has not connected to it. Default: the one that is connected to. */
  serverUrl?: string | URL | undefined
  /** Makes the requests to authorization servers. Default: one that goes to public https addresses only. */
  fetch?: AuthFetch | undefined
}

/** What `auth` of `connect` takes, with the second half of asking a user. */
export interface ProviderAuth {
  (server: URL): ProviderSession
  /** See `ProviderSession.finishAuth`. */
  finishAuth(answer: Answer, iss?: string): Promise<void>
  /** Whether the user was sent to a page and `finishAuth` has yet to be called. */
  readonly waiting: boolean
}

/** What the user came back with: the URL or its parameters, which are checked; or just the code in it. */
export type Answer = URLSearchParams | URL | string

/**
 * Permission kept by a provider as other MCP SDKs know it. A provider has the tokens of one server, so the value is good for
 * one server only.
 *
 * @example
 * const auth = withProvider(provider)
 * let client = await connect(url, { auth }).catch((error) => {
 *   if (!auth.waiting) throw error
 * })
 * // Later, when the user has come back:
 * await auth.finishAuth(new URL(request.url, origin).searchParams)
 * client ??= await connect(url, { auth })
 */
export function withProvider(provider: OAuthClientProvider, options: ProviderOptions = {}): ProviderAuth {
  let session: ProviderSession | undefined
  const open = (server: URL): ProviderSession => {
    const url = withoutQuery(server)
    session ??= new ProviderSession(url, provider, options.fetch ?? fetchFor(url))
    if (session.serverUrl.href === url.href) return session
    throw new McpError('invalid-argument', `The provider has the tokens of ${session.serverUrl.href}: give another one`)
  }
  if (options.serverUrl !== undefined) open(new URL(options.serverUrl))
  const finishAuth = async (answer: Answer, iss?: string) => {
    if (!session) throw new McpError('invalid-argument', 'finishAuth: connect first, or give withProvider a serverUrl')
    await session.finishAuth(answer, iss)
  }
  return Object.defineProperty(Object.assign(open, { finishAuth }), 'waiting', {
    get: () => session?.waiting ?? false,
  }) as ProviderAuth
}

/** A token that was refused this soon after it was given is not replaced by another. */
const freshMs = 5_000

const failed = 'The provider failed'

export class ProviderSession {
  readonly serverUrl: URL
  readonly #provider: OAuthClientProvider
  readonly #fetch: AuthFetch
  #issuer: string | undefined
  #revision: string | undefined
  #renewing: Promise<void> | undefined
  #pending: Pending | undefined
  #given: { token: string; at: number } | undefined
  readonly #steppedUp = new Set<string>()

  constructor(serverUrl: URL, provider: OAuthClientProvider, fetch: AuthFetch) {
    this.serverUrl = serverUrl
    this.#provider = provider
    this.#fetch = fetch
  }

  get waiting(): boolean {
    return this.#pending !== undefined
  }

  async headers(): Promise<Record<string, string>> {
    const tokens = await inPlainWords(new Trace(), failed, () => this.#tokens())
    return tokens ? { authorization: `Bearer ${tokens.access_token}` } : {}
  }

  async refused({ status, header, sent, count, revision }: Refusal): Promise<boolean> {
    this.#revision = revision
    const challenge = bearerChallenge(header('www-authenticate'))
    const needsMore = status === 403 && challenge?.params.error === 'insufficient_scope'
    if ((status === 403 && !needsMore) || count > 2) return false
    const tokens = await inPlainWords(new Trace(), failed, () => this.#tokens())
    // Somebody else has got another one meanwhile.
    if (tokens && sent.authorization !== `Bearer ${tokens.access_token}`) return true
    if (needsMore && this.#steppedUp.has(challenge.params.scope ?? '')) return false
    const context = this.#context()
    const renew = () => this.#renew(context, challenge, tokens, needsMore)
    this.#renewing ??= inPlainWords(context.trace, failed, renew).finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
    return true
  }

  /**
   * Redeems what the user came back with. From parameters, `iss` is checked, and `state` if this process sent the user
   * away; a provider that recalls its flow in another process has to compare `state` itself. A bare code says neither, and is
   * refused where the authorization server promises `iss` and it is not given.
   */
  async finishAuth(answer: Answer, iss?: string): Promise<void> {
    const context = this.#context()
    await inPlainWords(context.trace, failed, () => this.#finish(context, answer, iss))
  }

  async #finish(context: AuthContext, answer: Answer, iss: string | undefined): Promise<void> {
    const { flow, wanted } = this.#pending ?? (await this.#recall(context))
    const { params, state } = readAnswer(answer, iss, this.#pending && flow.state)
    const codeVerifier = await this.#provider.codeVerifier()
    const spelling = new Spelling()
    const redeemed = this.#authenticated(context, flow, spelling)
    const response = await completeFlow(redeemed, { ...flow, codeVerifier, state }, params, undefined)
    this.#pending = undefined
    if (wanted !== undefined) this.#steppedUp.add(wanted)
    await this.#save(spelling.restore(response), flow)
  }

  #context(): AuthContext {
    return new AuthContext(this.serverUrl, new Trace(), this.#fetch, this.#revision)
  }

  async #tokens(): Promise<ProviderTokens | undefined> {
    return this.#provider.tokens(this.#issuer === undefined ? undefined : { issuer: this.#issuer })
  }

  async #renew(
    context: AuthContext,
    challenge: Challenge | undefined,
    tokens: ProviderTokens | undefined,
    needsMore: boolean,
  ): Promise<void> {
    const found = await this.#discover(context, challenge)
    const isFresh = tokens?.access_token === this.#given?.token && clock.now() - (this.#given?.at ?? 0) < freshMs
    if (isFresh && !needsMore) {
      throw new AuthError(
        'The server refuses (HTTP 401) a token that was given just now: it may want another issuer or audience than it names',
        context.trace,
      )
    }
    const client = await providerClient(context, this.#provider, found.server)
    if (!needsMore && client && tokens && (await this.#refresh(context, found, client, tokens))) return
    const scopes = this.#chooseScopes(found, challenge, needsMore ? tokens : undefined)
    const wanted = needsMore ? (challenge?.params.scope ?? '') : undefined
    const { redirectUrl } = this.#provider
    if (redirectUrl !== undefined) return this.#askUser(context, found, `${redirectUrl}`, scopes, wanted)
    if (wanted !== undefined) this.#steppedUp.add(wanted)
    await this.#obtain(context, found, client, scopes)
  }

  async #discover(context: AuthContext, challenge: Challenge | undefined): Promise<Found> {
    const provider = this.#provider
    const found = await discover(context, challenge)
    this.#issuer = found.server.issuer
    const resource = provider.validateResourceURL
      ? (await provider.validateResourceURL(this.serverUrl, found.resource))?.href
      : found.resource
    await provider.saveAuthorizationServerUrl?.(found.server.issuer)
    if (resource !== undefined) await provider.saveResourceUrl?.(resource)
    return { ...found, resource }
  }

  /** What the client's own metadata asks for counts where the server says nothing. */
  #chooseScopes(found: Found, challenge: Challenge | undefined, held: ProviderTokens | undefined): string[] {
    const { clientMetadata, redirectUrl } = this.#provider
    const isSaid = found.scopesSupported.length > 0 || challenge?.params.scope !== undefined
    const more = [...(isSaid ? [] : scopesIn(clientMetadata.scope)), ...scopesIn(held?.scope)]
    const refreshes = clientMetadata.grant_types?.includes('refresh_token') ?? true
    return chooseScopes(found, challenge, more, redirectUrl === undefined || !refreshes)
  }

  /** False: the token is no good any more. A fault on the way is not taken for that, and costs nobody their token. */
  async #refresh(
    context: AuthContext,
    { server, resource }: Found,
    client: RegisteredClient,
    tokens: ProviderTokens,
  ): Promise<boolean> {
    const { refresh_token: refreshToken, issuer = server.issuer } = tokens
    if (refreshToken === undefined || issuer !== server.issuer) return false
    const flow = { server, client, resource, scopes: scopesIn(tokens.scope) }
    const spelling = new Spelling()
    try {
      const response = await processRefreshTokenResponse(
        server,
        client,
        await refreshTokenGrantRequest(server, client, authenticationOf(client, context), refreshToken, {
          ...requestOptions(this.#authenticated(context, flow, spelling)),
          ...(resource !== undefined && { additionalParameters: { resource } }),
        }),
      )
      context.trace.done('refresh', `at ${server.token_endpoint}`)
      await this.#save(spelling.restore(response), flow, refreshToken)
      return true
    } catch (cause) {
      context.trace.failed('refresh', messageOf(cause))
      const error = (cause as { error?: unknown }).error
      const isClientGone = error === 'invalid_client' || error === 'unauthorized_client'
      if (!isClientGone && error !== 'invalid_grant') {
        throw new AuthError(`The token could not be refreshed: ${messageOf(cause)}`, context.trace, {
          cause: plain(cause),
        })
      }
      await this.#provider.invalidateCredentials?.(isClientGone ? 'all' : 'tokens')
      return false
    }
  }

  /** Returns only if the provider has brought the user back by the time that it is done. */
  async #askUser(
    context: AuthContext,
    found: Found,
    redirectUrl: string,
    scopes: readonly string[],
    wanted: string | undefined,
  ): Promise<void> {
    const provider = this.#provider
    const { server, resource } = found
    const client =
      (await providerClient(context, provider, server)) ??
      (await registerProvider(context, provider, server, redirectUrl, scopes.join(' ')))
    const { url, flow } = await beginFlow({ context, server, client, redirectUrl, resource, scopes })
    const state = (await provider.state?.()) ?? flow.state
    url.searchParams.set('state', state)
    await provider.saveCodeVerifier(flow.codeVerifier)
    // 2026-07-28 authorization, mix-up: the issuer is recorded before the user leaves.
    await provider.saveDiscoveryState?.({
      authorizationServerUrl: server.issuer,
      authorizationServerMetadata: server,
      ...(resource !== undefined && { resourceMetadata: { resource } }),
    })
    const pending = { flow: { ...flow, state }, wanted }
    this.#pending = pending
    await provider.redirectToAuthorization(url)
    if (this.#pending !== pending) return
    const page = url.origin + url.pathname
    throw new AuthError(
      `The user was sent to ${page} to agree: call finishAuth with what they come back with, then connect again`,
      context.trace,
    )
  }

  /** A token without a user, as the provider says. */
  async #obtain(
    context: AuthContext,
    { server, resource }: Found,
    client: RegisteredClient | undefined,
    scopes: readonly string[],
  ): Promise<void> {
    if (!client) throw new AuthError('The provider has neither a redirectUrl nor a client', context.trace)
    const scope = scopes.join(' ')
    const prepared = await this.#provider.prepareTokenRequest?.(scope === '' ? undefined : scope)
    const params = new URLSearchParams(prepared ?? { grant_type: 'client_credentials', ...(scope !== '' && { scope }) })
    if (resource !== undefined) params.set('resource', resource)
    const flow = { server, client, resource, scopes }
    const spelling = new Spelling()
    const options = requestOptions(this.#authenticated(context, flow, spelling))
    try {
      const grant = params.get('grant_type') ?? 'client_credentials'
      const response = await processGenericTokenEndpointResponse(
        server,
        client,
        await genericTokenEndpointRequest(server, client, authenticationOf(client, context), grant, params, options),
      )
      context.trace.done('token', `from ${server.token_endpoint}`)
      await this.#save(spelling.restore(response), flow)
    } catch (cause) {
      context.trace.failed('token', messageOf(cause))
      throw new AuthError(`${server.issuer} gave no token: ${messageOf(cause)}`, context.trace, { cause: plain(cause) })
    }
  }

  /** The flow that another process began, as far as the provider can say. */
  async #recall(context: AuthContext): Promise<Pending> {
    const provider = this.#provider
    const known = await provider.discoveryState?.()
    const metadata = known?.authorizationServerMetadata
    const isKnown = isObject(metadata) && typeof metadata.issuer === 'string'
    const { server, resource } = isKnown
      ? { server: metadata as unknown as Found['server'], resource: known?.resourceMetadata?.resource }
      : await this.#discover(context, undefined)
    this.#issuer = server.issuer
    const client = await providerClient(context, provider, server)
    const { redirectUrl } = provider
    if (!client || redirectUrl === undefined) {
      throw new AuthError('The provider knows of no user who could have come back', context.trace)
    }
    const scopes = scopesIn(provider.clientMetadata.scope)
    const flow = { server, client, redirectUrl: `${redirectUrl}`, codeVerifier: '', state: '', resource, scopes }
    return { flow, wanted: undefined }
  }

  #authenticated({ serverUrl, trace, fetch }: AuthContext, { server }: Pick<Flow, 'server'>, spelling: Spelling) {
    const watched = spelling.watch(fetch)
    const provider = this.#provider
    const own = provider.addClientAuthentication ? authenticatingFetch(watched, provider, server) : watched
    return new AuthContext(serverUrl, trace, own)
  }

  async #save(
    response: TokenEndpointResponse,
    { server, scopes }: Pick<Flow, 'server' | 'scopes'>,
    refreshToken?: string,
  ): Promise<void> {
    const { access_token, token_type, id_token, expires_in, refresh_token = refreshToken } = response
    // RFC 6749, 5.1: nothing is said when all that was asked for was granted.
    const scope = response.scope ?? scopes.join(' ')
    const tokens = {
      access_token,
      token_type,
      ...(id_token !== undefined && { id_token }),
      ...(expires_in !== undefined && { expires_in }),
      ...(scope !== '' && { scope }),
      ...(refresh_token !== undefined && { refresh_token }),
      issuer: server.issuer,
    }
    this.#given = { token: access_token, at: clock.now() }
    await this.#provider.saveTokens(tokens, { issuer: server.issuer })
  }
}

/** How a token endpoint spells the type of its tokens: applications compare it, and what reads the answer lowers its case. */
class Spelling {
  #said: string | undefined

  watch(fetch: AuthFetch): AuthFetch {
    return async (url, init) => {
      const response = await fetch(url, init)
      const answer: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      if (isObject(answer) && typeof answer.token_type === 'string') this.#said = answer.token_type
      return response
    }
  }

  restore(response: TokenEndpointResponse): TokenEndpointResponse {
    const isSame = this.#said?.toLowerCase() === response.token_type
    return isSame ? { ...response, token_type: this.#said as Lowercase<string> } : response
  }
}

interface Pending {
  readonly flow: Flow
  /** The scopes that were missing, where that is why the user was asked. */
  readonly wanted: string | undefined
}

interface Refusal {
  /** The newest that the connection would speak. */
  readonly revision?: string | undefined
  readonly status: number
  readonly header: (name: string) => string | undefined
  readonly sent: Readonly<Record<string, string>>
  readonly count: number
}

/** @param expected The state that the user was sent away with, if it is known here. */
function readAnswer(
  answer: Answer,
  iss: string | undefined,
  expected: string | undefined,
): { params: URLSearchParams; state: string } {
  const isBare = typeof answer === 'string'
  const params = isBare
    ? new URLSearchParams({ code: answer, ...(iss !== undefined && { iss }) })
    : new URLSearchParams(answer instanceof URL ? answer.searchParams : answer)
  if (!isBare && expected !== undefined) return { params, state: expected }
  const state = expected ?? params.get('state') ?? 'unknown'
  params.set('state', state)
  return { params, state }
}
