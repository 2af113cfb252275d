import { startAuthorization } from '@tenon/compat-v1/client/oauth/authorization-request.js'
import { resourceIndicator, resourceText } from '@tenon/compat-v1/client/oauth/resource.js'
import { OAuthError, OAuthErrorCode } from '../../core/errors.ts'
import { AuthorizationServerMismatchError, InsecureTokenEndpointError } from '../authErrors.ts'
import { checkCallbackIssuer } from './callback.ts'
import { discoverAuthorizationServerMetadata, discoverOAuthServerInfo, tryResourceMetadata } from './discovery.ts'
import { checkRecordedIssuer, discardIfIssuerMismatch } from './issuer-binding.ts'
import type {
  AuthOptions,
  AuthResult,
  OAuthClientInformationContext,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthServerInfo,
} from './provider.ts'
import { registerClient, resolveClientMetadata, validateClientMetadataUrl } from './registration.ts'
import type {
  AuthorizationServerMetadata,
  OAuthTokens,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from './schemas.ts'
import { determineScope } from './scopes.ts'
import { fetchToken, refreshAuthorization } from './tokens.ts'

/**
 * Gets tokens for an MCP server and stores them in the provider: from the authorization code, with a grant that needs no user, or
 * by refreshing. If none of these is possible, it sends the user to the authorization server. Credentials that the authorization
 * server rejects are invalidated, and the flow starts once more without them.
 */
export async function auth(provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> {
  try {
    return await runFlow(provider, options)
  } catch (error) {
    const rejected = error instanceof OAuthError ? rejectedCredentials(error) : undefined
    if (!rejected) throw error
    warnRejected(provider, error as OAuthError, rejected)
    // Not 'all': what was discovered is needed to check the code.
    for (const scope of rejected) await provider.invalidateCredentials?.(scope)
    return runFlow(provider, options)
  }
}

function rejectedCredentials({ code }: OAuthError): readonly ('client' | 'tokens')[] | undefined {
  switch (code) {
    case OAuthErrorCode.InvalidClient:
    case OAuthErrorCode.UnauthorizedClient:
      return ['client', 'tokens']
    case OAuthErrorCode.InvalidGrant:
    case OAuthErrorCode.InvalidDpopProof:
      return ['tokens']
    default:
      return undefined
  }
}

/** Without a user, nothing else would say why the program has to authorize again. */
function warnRejected(provider: OAuthClientProvider, error: OAuthError, rejected: readonly string[]): void {
  const what = rejected.includes('client') ? 'client credentials and tokens' : 'tokens'
  const consequence = provider.invalidateCredentials
    ? `invalidating the stored ${what} and retrying authorization`
    : `retrying authorization without discarding the stored ${what} (the provider has no invalidateCredentials())`
  // As JSON, so that the server cannot forge lines of a log.
  console.warn(`OAuth ${JSON.stringify(error.code)}: ${consequence}. Cause: ${JSON.stringify(error.message)}`)
}

/** One run of the flow, after discovery. */
interface Flow {
  readonly provider: OAuthClientProvider
  readonly options: AuthOptions
  readonly authorizationServerUrl: string
  readonly metadata: AuthorizationServerMetadata | undefined
  /** The authorization server that stored credentials are bound to. */
  readonly ctx: OAuthClientInformationContext
  readonly resource: string | URL | undefined
  readonly scope: string | undefined
}

async function runFlow(provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> {
  const flow = await beginFlow(provider, options)
  const client = (await knownClient(flow)) ?? (await newClient(flow))
  const tokens =
    options.authorizationCode !== undefined || !provider.redirectUrl
      ? await fetchNewTokens(flow)
      : await refresh(flow, client)
  if (!tokens) return redirectUser(flow, client)
  await provider.saveTokens({ ...tokens, issuer: flow.ctx.issuer }, flow.ctx)
  return 'AUTHORIZED'
}

async function beginFlow(provider: OAuthClientProvider, options: AuthOptions): Promise<Flow> {
  const { serverUrl, scope: requestedScope, authorizationCode } = options
  const stored = await provider.discoveryState?.()
  const { found, isNew, save } = await discover(provider, options, stored)
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
  const issuer = metadata?.issuer ?? String(authorizationServerUrl)
  await provider.saveAuthorizationServerUrl?.(issuer)
  if (authorizationCode !== undefined) {
    const recorded = stored?.authorizationServerMetadata?.issuer ?? stored?.authorizationServerUrl
    checkRecordedIssuer(recorded, issuer, provider.saveDiscoveryState !== undefined)
  }
  // Only now: what was found must not be recorded as the place that the user was sent to.
  if (isNew) await save()
  const resource = await resourceIndicator(serverUrl, provider, resourceMetadata)
  if (resource) await provider.saveResourceUrl?.(resourceText(resource))
  const { clientMetadata } = provider
  const scope = determineScope({ requestedScope, resourceMetadata, authServerMetadata: metadata, clientMetadata })
  return { provider, options, authorizationServerUrl, metadata, ctx: { issuer }, resource, scope }
}

/** Takes what the provider stored, and discovers the rest. */
async function discover(
  provider: OAuthClientProvider,
  options: AuthOptions,
  stored: OAuthDiscoveryState | undefined,
): Promise<{ found: OAuthServerInfo; isNew: boolean; save(): Promise<void> }> {
  const resourceMetadataUrl =
    options.resourceMetadataUrl ?? (stored?.resourceMetadataUrl ? new URL(stored.resourceMetadataUrl) : undefined)
  const found = stored?.authorizationServerUrl
    ? await completeDiscovery(stored, options, resourceMetadataUrl)
    : await discoverOAuthServerInfo(options.serverUrl, { ...options, resourceMetadataUrl })
  const isNew =
    !stored?.authorizationServerUrl ||
    found.authorizationServerMetadata !== stored.authorizationServerMetadata ||
    found.resourceMetadata !== stored.resourceMetadata
  const save = async () => {
    await provider.saveDiscoveryState?.({
      authorizationServerUrl: String(found.authorizationServerUrl),
      resourceMetadataUrl: resourceMetadataUrl?.toString(),
      resourceMetadata: found.resourceMetadata,
      authorizationServerMetadata: found.authorizationServerMetadata,
    })
  }
  return { found, isNew, save }
}

async function completeDiscovery(
  { authorizationServerUrl, authorizationServerMetadata, resourceMetadata }: OAuthServerInfo,
  { serverUrl, fetchFn, skipIssuerMetadataValidation: skipIssuerValidation }: AuthOptions,
  resourceMetadataUrl: URL | undefined,
): Promise<OAuthServerInfo> {
  return {
    authorizationServerUrl,
    authorizationServerMetadata:
      authorizationServerMetadata ??
      (await discoverAuthorizationServerMetadata(authorizationServerUrl, { fetchFn, skipIssuerValidation })),
    resourceMetadata: resourceMetadata ?? (await tryResourceMetadata(serverUrl, resourceMetadataUrl, fetchFn)),
  }
}

/** The client that the provider has for this authorization server. Undefined if a new one has to be registered. */
async function knownClient({ provider, ctx }: Flow): Promise<StoredOAuthClientInformation | undefined> {
  const canSave = provider.saveClientInformation !== undefined
  const stored = await provider.clientInformation(ctx)
  const client = discardIfIssuerMismatch(stored, ctx.issuer, { canPersistStamp: canSave })
  if (stored?.issuer && !client && !canSave) throw new AuthorizationServerMismatchError(stored.issuer, ctx.issuer)
  if (!client || client.issuer !== undefined) return client
  // Stored by an older version: it is bound to the first authorization server that it is used with.
  const bound = { ...client, ...ctx }
  await provider.saveClientInformation?.(bound, ctx)
  return bound
}

async function newClient(flow: Flow): Promise<StoredOAuthClientInformation> {
  const { provider, options, metadata, ctx, scope } = flow
  const { clientMetadataUrl } = provider
  if (options.authorizationCode !== undefined) {
    throw new Error('Existing OAuth client information is required when exchanging an authorization code')
  }
  validateClientMetadataUrl(clientMetadataUrl)
  if (clientMetadataUrl && metadata?.client_id_metadata_document_supported === true) {
    const client = { client_id: clientMetadataUrl, ...ctx }
    await provider.saveClientInformation?.(client, ctx)
    return client
  }
  if (!provider.saveClientInformation) {
    throw new Error('OAuth client information must be saveable for dynamic registration')
  }
  const clientMetadata = resolveClientMetadata(provider)
  const { fetchFn } = options
  const registered = await registerClient(flow.authorizationServerUrl, { metadata, clientMetadata, scope, fetchFn })
  const client = { ...registered, ...ctx }
  await provider.saveClientInformation(client, ctx)
  return client
}

/** Gets tokens with the authorization code, or with a grant that needs no user. */
async function fetchNewTokens({ provider, options, authorizationServerUrl, ...flow }: Flow): Promise<OAuthTokens> {
  const { authorizationCode, iss, fetchFn } = options
  if (authorizationCode !== undefined) checkCallbackIssuer(iss, flow.metadata)
  return fetchToken(provider, authorizationServerUrl, { ...flow, authorizationCode, iss, fetchFn })
}

/** Undefined if there is no refresh token, or the authorization server could not use it: the user has to authorize again. */
async function refresh(
  { provider, options, authorizationServerUrl, metadata, resource, ctx }: Flow,
  clientInformation: StoredOAuthClientInformation,
): Promise<OAuthTokens | undefined> {
  const stored = await storedTokens(provider, ctx)
  const refreshToken = stored?.refresh_token
  if (!refreshToken || options.forceReauthorization) return undefined
  const scope = await provider.scopeForRefresh?.(stored)
  try {
    return await refreshAuthorization(authorizationServerUrl, {
      metadata,
      clientInformation,
      refreshToken,
      scope,
      resource,
      addClientAuthentication: provider.addClientAuthentication,
      dpop: await provider.dpop?.(),
      fetchFn: options.fetchFn,
    })
  } catch (error) {
    if (!canAuthorizeAgain(error)) throw error
    const cause = JSON.stringify(error instanceof Error ? error.message : String(error))
    console.warn(`Could not refresh OAuth tokens; falling back to a new authorization request. Cause: ${cause}`)
    return undefined
  }
}

async function storedTokens(
  provider: OAuthClientProvider,
  ctx: OAuthClientInformationContext,
): Promise<StoredOAuthTokens | undefined> {
  const tokens = discardIfIssuerMismatch(await provider.tokens(ctx), ctx.issuer)
  if (!tokens || tokens.issuer !== undefined) return tokens
  const bound = { ...tokens, ...ctx }
  await provider.saveTokens(bound, ctx)
  return bound
}

/** An insecure endpoint stays one, and rejected credentials have to be invalidated first. */
function canAuthorizeAgain(error: unknown): boolean {
  if (error instanceof InsecureTokenEndpointError) return false
  return !(error instanceof OAuthError) || error.code === OAuthErrorCode.ServerError
}

async function redirectUser(flow: Flow, clientInformation: StoredOAuthClientInformation): Promise<AuthResult> {
  const { provider, authorizationServerUrl, metadata, scope, resource } = flow
  const state = await provider.state?.()
  const request = { metadata, clientInformation, state, redirectUrl: provider.redirectUrl!, scope, resource }
  const { authorizationUrl, codeVerifier } = await startAuthorization(authorizationServerUrl, request)
  await provider.saveCodeVerifier(codeVerifier)
  await provider.redirectToAuthorization(authorizationUrl)
  return 'REDIRECT'
}
