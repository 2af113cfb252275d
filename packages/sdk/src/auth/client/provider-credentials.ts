import {
  type AuthorizationServer,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import { authenticationOf } from './client-authentication.ts'
import { AuthContext, type AuthFetch, messageOf, redacted, requestOptions, Trace, wrapErrors } from './context.ts'
import type { Credentials, IssuedGrant, ObtainRequest, Tokens } from './credentials.ts'
import { beginFlow, completeFlow, type Flow } from './flow.ts'
import { chooseScopes, type Discovery, discover } from './metadata.ts'
import { authenticatingFetch, providerClient, registerProvider } from './provider-client.ts'
import type { OAuthClientProvider, ProviderTokens } from './provider-port.ts'
import type { RegisteredClient } from './registration.ts'

/** The URL that the user came back to or its parameters, which are checked; or just the authorization code. */
export type RedirectResult = URLSearchParams | URL | string

/** Credentials in an `OAuthClientProvider`, as other MCP SDKs define it. */
export class ProviderCredentials implements Credentials {
  readonly failureMessage = 'The provider failed'
  readonly #serverUrl: URL
  readonly #provider: OAuthClientProvider
  #issuer: string | undefined
  #pending: PendingFlow | undefined
  /** The `token_type` of the last response as the server spelled it. The parser changes it to lower case. */
  #spelled: { accessToken: unknown; tokenType: string } | undefined

  constructor(serverUrl: URL, provider: OAuthClientProvider) {
    this.#serverUrl = serverUrl
    this.#provider = provider
  }

  get isUnattended(): boolean {
    return this.#provider.redirectUrl === undefined
  }

  get isPending(): boolean {
    return this.#pending !== undefined
  }

  async tokens(): Promise<Tokens | undefined> {
    const tokens = await wrapErrors(new Trace(), this.failureMessage, () => this.#read())
    return tokens && toTokens(tokens, this.#issuer ?? '', undefined)
  }

  async reload({ server, resource }: Discovery): Promise<Tokens | undefined> {
    const tokens = await this.#read()
    const isOther = tokens?.issuer !== undefined && tokens.issuer !== server.issuer
    return tokens && !isOther ? toTokens(tokens, server.issuer, resource) : undefined
  }

  /** A provider has no lock: applications that share one between processes have to coordinate themselves. */
  lock<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }

  async onDiscovery(discovery: Discovery): Promise<Discovery> {
    const provider = this.#provider
    const { issuer } = discovery.server
    this.#issuer = issuer
    const resource = provider.validateResourceURL
      ? (await provider.validateResourceURL(this.#serverUrl, discovery.resource))?.href
      : discovery.resource
    await provider.saveAuthorizationServerUrl?.(issuer)
    if (resource !== undefined) await provider.saveResourceUrl?.(resource)
    return { ...discovery, resource }
  }

  client(context: AuthContext, server: AuthorizationServer): Promise<RegisteredClient | undefined> {
    return providerClient(context, this.#provider, server)
  }

  tokenContext({ serverUrl, trace, fetch }: AuthContext, server: AuthorizationServer): AuthContext {
    const provider = this.#provider
    const watched = this.#watchSpelling(fetch)
    const own = provider.addClientAuthentication ? authenticatingFetch(watched, provider, server) : watched
    return new AuthContext(serverUrl, trace, own)
  }

  async save(response: TokenEndpointResponse, grant: IssuedGrant): Promise<Tokens> {
    const { access_token, id_token, expires_in, refresh_token = grant.refreshToken } = response
    const { issuer } = grant.server
    // RFC 6749, 5.1: the response has no scope if all requested scopes were granted.
    const scope = response.scope ?? grant.scopes.join(' ')
    const tokens: ProviderTokens = {
      access_token,
      token_type: this.#spelled?.accessToken === access_token ? this.#spelled.tokenType : response.token_type,
      ...(id_token !== undefined && { id_token }),
      ...(expires_in !== undefined && { expires_in }),
      ...(scope !== '' && { scope }),
      ...(refresh_token !== undefined && { refresh_token }),
      issuer,
    }
    await this.#provider.saveTokens(tokens, { issuer })
    return toTokens(tokens, issuer, grant.resource)
  }

  async forget(what: 'tokens' | 'client'): Promise<void> {
    await this.#provider.invalidateCredentials?.(what === 'client' ? 'all' : 'tokens')
  }

  async obtain(request: ObtainRequest): Promise<Tokens> {
    const { context, discovery, challenge, held, isStepUp } = request
    const scopes = this.#chooseScopes(discovery, challenge, isStepUp ? held : undefined)
    const { redirectUrl } = this.#provider
    if (redirectUrl === undefined) return this.#obtainWithGrant(context, discovery, scopes)
    const missing = isStepUp ? (challenge?.params.scope ?? '') : undefined
    return this.#redirectUser(context, discovery, `${redirectUrl}`, scopes, missing)
  }

  /** Exchanges the authorization code that the user came back with, perhaps to another process than they left. */
  async finish(context: AuthContext, answer: RedirectResult, iss: string | undefined) {
    const { flow, missing } = this.#pending ?? (await this.#recallFlow(context))
    const { params, state } = readAnswer(answer, iss, this.#pending && flow.state)
    const codeVerifier = await this.#provider.codeVerifier()
    const requests = this.tokenContext(context, flow.server)
    const response = await completeFlow(requests, { ...flow, codeVerifier, state }, params, undefined)
    this.#pending = undefined
    const { accessToken } = await this.save(response, { ...flow, clientId: flow.client.client_id })
    return { accessToken, missing }
  }

  async #read(): Promise<ProviderTokens | undefined> {
    return this.#provider.tokens(this.#issuer === undefined ? undefined : { issuer: this.#issuer })
  }

  /** The scopes of the client's own metadata are requested only if the server names none. */
  #chooseScopes(discovery: Discovery, challenge: Challenge | undefined, held: Tokens | undefined): string[] {
    const { clientMetadata } = this.#provider
    const isNamed = discovery.scopesSupported.length > 0 || challenge?.params.scope !== undefined
    const more = [...(isNamed ? [] : scopesIn(clientMetadata.scope)), ...(held?.scopes ?? [])]
    const canRefresh = clientMetadata.grant_types?.includes('refresh_token') ?? true
    return chooseScopes(discovery, challenge, more, this.isUnattended || !canRefresh)
  }

  /** Returns only if the provider brings the user back before `redirectToAuthorization` resolves. */
  async #redirectUser(
    context: AuthContext,
    discovery: Discovery,
    redirectUrl: string,
    scopes: readonly string[],
    missing: string | undefined,
  ): Promise<Tokens> {
    const provider = this.#provider
    const { server, resource } = discovery
    const client =
      (await this.client(context, server)) ??
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
    const pending = { flow: { ...flow, state }, missing }
    this.#pending = pending
    await provider.redirectToAuthorization(url)
    const tokens = this.#pending === pending ? undefined : await this.reload(discovery)
    if (tokens) return tokens
    const page = url.origin + url.pathname
    throw new AuthError(
      `The user was sent to ${page} to log in. Call finishAuth with what they come back with, then connect again`,
      context.trace,
    )
  }

  async #obtainWithGrant(
    context: AuthContext,
    { server, resource }: Discovery,
    scopes: readonly string[],
  ): Promise<Tokens> {
    const client = await this.client(context, server)
    if (!client) throw new AuthError('The provider has neither a redirectUrl nor a client', context.trace)
    const scope = scopes.join(' ')
    const prepared = await this.#provider.prepareTokenRequest?.(scope === '' ? undefined : scope)
    const params = new URLSearchParams(prepared ?? { grant_type: 'client_credentials', ...(scope !== '' && { scope }) })
    if (resource !== undefined) params.set('resource', resource)
    const options = requestOptions(this.tokenContext(context, server))
    try {
      const grantType = params.get('grant_type') ?? 'client_credentials'
      const authentication = authenticationOf(client, context)
      const response = await processGenericTokenEndpointResponse(
        server,
        client,
        await genericTokenEndpointRequest(server, client, authentication, grantType, params, options),
      )
      context.trace.done('token', `from ${server.token_endpoint}`)
      return await this.save(response, { server, clientId: client.client_id, resource, scopes })
    } catch (cause) {
      context.trace.failed('token', messageOf(cause))
      const message = `${server.issuer} did not issue a token: ${messageOf(cause)}`
      throw new AuthError(message, context.trace, { cause: redacted(cause) })
    }
  }

  /** The flow that another process began, as far as the provider has stored it. */
  async #recallFlow(context: AuthContext): Promise<PendingFlow> {
    const provider = this.#provider
    const known = await provider.discoveryState?.()
    const metadata = known?.authorizationServerMetadata
    const isKnown = isObject(metadata) && typeof metadata.issuer === 'string'
    const { server, resource } = isKnown
      ? { server: metadata as unknown as AuthorizationServer, resource: known?.resourceMetadata?.resource }
      : await this.onDiscovery(await discover(context, undefined))
    this.#issuer = server.issuer
    const client = await this.client(context, server)
    const { redirectUrl } = provider
    if (!client || redirectUrl === undefined) {
      throw new AuthError('No login is pending: the provider has no client, or no redirectUrl', context.trace)
    }
    const scopes = scopesIn(provider.clientMetadata.scope)
    const flow = { server, client, redirectUrl: `${redirectUrl}`, codeVerifier: '', state: '', resource, scopes }
    return { flow, missing: undefined }
  }

  /** Applications compare the type of a token, so they get it as the server spelled it. */
  #watchSpelling(fetch: AuthFetch): AuthFetch {
    return async (url, init) => {
      const response = await fetch(url, init)
      const body: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      if (isObject(body) && typeof body.token_type === 'string') {
        this.#spelled = { accessToken: body.access_token, tokenType: body.token_type }
      }
      return response
    }
  }
}

interface PendingFlow {
  readonly flow: Flow
  /** The missing scopes, if they are why the user was asked. */
  readonly missing: string | undefined
}

/** A provider does not say when its tokens expire, so they are never refreshed early. */
function toTokens(tokens: ProviderTokens, issuer: string, resource: string | undefined): Tokens {
  return {
    issuer: tokens.issuer ?? issuer,
    clientId: '',
    resource,
    accessToken: tokens.access_token,
    tokenType: 'bearer',
    refreshToken: tokens.refresh_token,
    scopes: scopesIn(tokens.scope),
  }
}

/** @param expected The state that the user was sent away with, if it is known here. */
function readAnswer(
  answer: RedirectResult,
  iss: string | undefined,
  expected: string | undefined,
): { params: URLSearchParams; state: string } {
  const isCode = typeof answer === 'string'
  const params = isCode
    ? new URLSearchParams({ code: answer, ...(iss !== undefined && { iss }) })
    : new URLSearchParams(answer instanceof URL ? answer.searchParams : answer)
  if (!isCode && expected !== undefined) return { params, state: expected }
  const state = expected ?? params.get('state') ?? 'unknown'
  params.set('state', state)
  return { params, state }
}
