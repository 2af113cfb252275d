import {
  InvalidClientError,
  InvalidClientMetadataError,
  InvalidGrantError,
  OAuthError,
  ServerError,
  UnauthorizedClientError,
} from '../../server/auth/errors.ts'
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthProtectedResourceMetadata,
  OAuthTokens,
} from '../../shared/auth.ts'
import type { FetchLike } from '../../shared/transport.ts'
import { startAuthorization } from './authorization-request.ts'
import { discoverAuthorizationServerMetadata, discoverOAuthServerInfo, tryResourceMetadata } from './discovery.ts'
import { boundElsewhere, boundTo } from './issuer-binding.ts'
import type { AuthResult, OAuthClientProvider, OAuthServerInfo } from './provider.ts'
import { isHttpsUrl, registerClient } from './registration.ts'
import { resourceIndicator } from './resource.ts'
import { fetchToken, refreshAuthorization } from './tokens.ts'

interface AuthOptions {
  serverUrl: string | URL
  authorizationCode?: string
  scope?: string
  resourceMetadataUrl?: URL
  fetchFn?: FetchLike
}

/**
 * Gets tokens for an MCP server and stores them in the provider: from the authorization code, with a grant that needs no user, or
 * by refreshing. If none of these is possible, it sends the user to the authorization server. Credentials that the authorization
 * server rejects are invalidated, and the flow starts once more without them.
 *
 * @param options.authorizationCode The code that the user came back with.
 * @param options.scope The scope that the server requires, from its challenge.
 * @param options.resourceMetadataUrl The URL of the resource metadata, from the challenge.
 */
export async function auth(provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> {
  try {
    return await runFlow(provider, options)
  } catch (error) {
    const rejected = rejectedCredentials(error)
    if (!rejected) throw error
    await provider.invalidateCredentials?.(rejected)
    return runFlow(provider, options)
  }
}

function rejectedCredentials(error: unknown): 'all' | 'tokens' | undefined {
  if (error instanceof InvalidClientError || error instanceof UnauthorizedClientError) return 'all'
  return error instanceof InvalidGrantError ? 'tokens' : undefined
}

/** One run of the flow, after discovery. */
interface Flow {
  readonly provider: OAuthClientProvider
  readonly authorizationServerUrl: string
  /**
   * What stored credentials are bound to: the URL that discovery started from, not the `issuer` in the metadata, which is not
   * checked against it.
   */
  readonly issuer: string
  readonly metadata: AuthorizationServerMetadata | undefined
  readonly resource: string | URL | undefined
  readonly scope: string | undefined
  readonly fetchFn: FetchLike | undefined
}

async function runFlow(provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> {
  const { authorizationCode } = options
  const flow = await beginFlow(provider, options)
  const known = await knownClient(flow)
  const client = known ?? (await newClient(flow, authorizationCode !== undefined))
  const isUnattended = !provider.redirectUrl
  const tokens =
    authorizationCode !== undefined || isUnattended
      ? await fetchToken(provider, flow.authorizationServerUrl, { ...flow, authorizationCode })
      : await refresh(flow, client)
  if (!tokens) return redirectUser(flow, client)
  if (known) await bindClient(flow, known)
  await provider.saveTokens({ ...tokens, issuer: flow.issuer })
  return 'AUTHORIZED'
}

async function beginFlow(provider: OAuthClientProvider, options: AuthOptions): Promise<Flow> {
  const { serverUrl, scope, fetchFn } = options
  const found = await discover(provider, options)
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
  return {
    provider,
    authorizationServerUrl,
    issuer: String(authorizationServerUrl),
    metadata,
    resource: await resourceIndicator(serverUrl, provider, resourceMetadata),
    scope: chooseScope(scope, resourceMetadata, provider),
    fetchFn,
  }
}

/** 2025-11-25 authorization, scope selection: that of the challenge, else all of the resource, else that of the client. */
function chooseScope(
  challenged: string | undefined,
  resource: OAuthProtectedResourceMetadata | undefined,
  { clientMetadata }: OAuthClientProvider,
): string | undefined {
  return challenged || resource?.scopes_supported?.join(' ') || clientMetadata.scope
}

/** Takes what the provider stored, discovers the rest, and stores it if anything is new. */
async function discover(provider: OAuthClientProvider, options: AuthOptions): Promise<OAuthServerInfo> {
  const { serverUrl, fetchFn } = options
  const stored = await provider.discoveryState?.()
  const resourceMetadataUrl =
    options.resourceMetadataUrl ?? (stored?.resourceMetadataUrl ? new URL(stored.resourceMetadataUrl) : undefined)
  const found = stored?.authorizationServerUrl
    ? await completeDiscovery(stored, serverUrl, resourceMetadataUrl, fetchFn)
    : await discoverOAuthServerInfo(serverUrl, { resourceMetadataUrl, fetchFn })
  const isNew =
    found.authorizationServerMetadata !== stored?.authorizationServerMetadata ||
    found.resourceMetadata !== stored?.resourceMetadata ||
    !stored?.authorizationServerUrl
  if (isNew) {
    await provider.saveDiscoveryState?.({
      authorizationServerUrl: String(found.authorizationServerUrl),
      resourceMetadataUrl: resourceMetadataUrl?.toString(),
      resourceMetadata: found.resourceMetadata,
      authorizationServerMetadata: found.authorizationServerMetadata,
    })
  }
  return found
}

async function completeDiscovery(
  { authorizationServerUrl, authorizationServerMetadata, resourceMetadata }: OAuthServerInfo,
  serverUrl: string | URL,
  resourceMetadataUrl: URL | undefined,
  fetchFn: FetchLike | undefined,
): Promise<OAuthServerInfo> {
  return {
    authorizationServerUrl,
    authorizationServerMetadata:
      authorizationServerMetadata ?? (await discoverAuthorizationServerMetadata(authorizationServerUrl, { fetchFn })),
    resourceMetadata: resourceMetadata ?? (await tryResourceMetadata(serverUrl, resourceMetadataUrl, fetchFn)),
  }
}

/** The client that the provider has for this authorization server. Undefined if a new one has to be registered. */
async function knownClient({ provider, issuer }: Flow): Promise<OAuthClientInformationMixed | undefined> {
  const stored = await provider.clientInformation()
  const client = boundTo(stored, issuer)
  const canRegister = provider.saveClientInformation !== undefined && Boolean(provider.redirectUrl)
  if (stored && !client && !canRegister) throw boundElsewhere(stored, issuer)
  return client
}

async function newClient(flow: Flow, hasCode: boolean): Promise<OAuthClientInformationMixed> {
  if (hasCode) throw new Error('Existing OAuth client information is required when exchanging an authorization code')
  const { provider, issuer, metadata, scope, fetchFn } = flow
  const { clientMetadataUrl, clientMetadata } = provider
  if (clientMetadataUrl && !isHttpsUrl(clientMetadataUrl)) {
    throw new InvalidClientMetadataError(
      `clientMetadataUrl must be a valid HTTPS URL with a non-root pathname, got: ${clientMetadataUrl}`,
    )
  }
  if (clientMetadataUrl && metadata?.client_id_metadata_document_supported === true) {
    const client = { client_id: clientMetadataUrl, issuer }
    await provider.saveClientInformation?.(client)
    return client
  }
  if (!provider.saveClientInformation) {
    throw new Error('OAuth client information must be saveable for dynamic registration')
  }
  const registered = await registerClient(flow.authorizationServerUrl, { metadata, clientMetadata, scope, fetchFn })
  const client = { ...registered, issuer }
  await provider.saveClientInformation(client)
  return client
}

/** Binds a client that an older version stored to the first authorization server that accepts it. */
async function bindClient({ provider, issuer }: Flow, client: OAuthClientInformationMixed): Promise<void> {
  if (typeof client.issuer === 'string') return
  try {
    await provider.saveClientInformation?.({ ...client, issuer })
  } catch {
    // The provider expects this call only after a registration. Its client stays unbound.
  }
}

/** Undefined if there is no refresh token, or the authorization server could not use it: the user has to authorize again. */
async function refresh(flow: Flow, clientInformation: OAuthClientInformationMixed): Promise<OAuthTokens | undefined> {
  const { provider, authorizationServerUrl, issuer } = flow
  const stored = boundTo(await provider.tokens(), issuer)
  const refreshToken = stored?.refresh_token
  if (!refreshToken) return undefined
  if (typeof stored.issuer !== 'string') warnUnbound()
  try {
    return await refreshAuthorization(authorizationServerUrl, {
      ...flow,
      clientInformation,
      refreshToken,
      addClientAuthentication: provider.addClientAuthentication,
    })
  } catch (error) {
    if (error instanceof OAuthError && !(error instanceof ServerError)) throw error
    return undefined
  }
}

function warnUnbound(): void {
  console.warn(
    'The stored OAuth tokens have no "issuer", so they may be presented to another authorization server. ' +
      'Store what saveTokens() and saveClientInformation() receive unchanged.',
  )
}

async function redirectUser(flow: Flow, clientInformation: OAuthClientInformationMixed): Promise<AuthResult> {
  const { provider, authorizationServerUrl, metadata, scope, resource } = flow
  const state = await provider.state?.()
  const redirectUrl = provider.redirectUrl!
  const request = { metadata, clientInformation, state, redirectUrl, scope, resource }
  const { authorizationUrl, codeVerifier } = await startAuthorization(authorizationServerUrl, request)
  await provider.saveCodeVerifier(codeVerifier)
  await provider.redirectToAuthorization(authorizationUrl)
  return 'REDIRECT'
}
