import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { AuthCall } from '../http.ts'
import type { AuthorizationRequest, Backend, CodeRequest } from './backend.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'
import { invalidGrant, OAuthError } from './oauth-error.ts'
import type { OAuthServerProvider } from './provider-port.ts'
import { randomText } from './random.ts'
import { checkSchemes } from './redirect-uris.ts'

export interface ProviderBackendOptions {
  readonly provider: OAuthServerProvider
  readonly issuer: string
  readonly baseUrl: string
  readonly metadata: object
  readonly scopesSupported?: readonly string[] | undefined
  readonly registration?: RegistrationOptions | undefined
  readonly reportError: (error: unknown) => void
}

export interface RegistrationOptions {
  /** How long a secret that was made up here is good. Default: for ever. */
  clientSecretExpirySeconds?: number | undefined
  /** Make up the id of a client before `registerClient` is called. Default true. */
  clientIdGeneration?: boolean | undefined
  /** Schemes of redirect URIs besides https, and http on the client's own machine. Default: none. */
  redirectSchemes?: readonly string[] | undefined
}

/** The endpoints' view of a provider of the well-known interface. */
export function providerBackend(options: ProviderBackendOptions): Backend {
  const { provider, issuer, baseUrl, scopesSupported, metadata, reportError, registration = {} } = options
  const { registerClient } = provider.clientsStore
  return {
    issuer,
    baseUrl,
    // Most answers are the provider's own.
    hasIssParameter: false,
    metadata: { ...metadata, ...(scopesSupported && { scopes_supported: scopesSupported }) },
    reportError,
    redirectSchemes: checkSchemes(registration.redirectSchemes ?? [], 'mcpAuthRouter: redirectSchemes'),
    findClient: async (clientId) => provider.clientsStore.getClient(clientId),
    register: registerClient && ((client) => register(client, provider, registration)),
    authorize: (request, call) => authorize(provider, request, call),
    exchangeCode: (client, request) => known(() => exchangeCode(provider, client, request)),
    refresh: (client, { refreshToken, scopes, resource }) =>
      known(() => provider.exchangeRefreshToken(client, refreshToken, scopes && [...scopes], toUrl(resource))),
    revoke:
      provider.revokeToken &&
      ((client, token, hint) =>
        known(() => provider.revokeToken!(client, { token, ...(hint !== undefined && { token_type_hint: hint }) }))),
  }
}

async function register(
  client: OAuthClientMetadata,
  { clientsStore }: OAuthServerProvider,
  { clientSecretExpirySeconds: seconds, clientIdGeneration = true }: RegistrationOptions,
): Promise<OAuthClient> {
  const now = Math.floor(clock.now() / 1000)
  const isPublic = client.token_endpoint_auth_method === 'none'
  const full = {
    ...client,
    ...(clientIdGeneration && { client_id: crypto.randomUUID(), client_id_issued_at: now }),
    ...(!isPublic && { client_secret: randomText(), client_secret_expires_at: seconds ? now + seconds : 0 }),
  }
  return known(async () => clientsStore.registerClient!(full))
}

/** The provider answers by itself, so there is no answer to give. */
async function authorize(
  provider: OAuthServerProvider,
  request: AuthorizationRequest,
  call: AuthCall,
): Promise<undefined> {
  const { client, redirectUri, codeChallenge, scopes, state, resource } = request
  const url = toUrl(resource)
  const params = {
    redirectUri,
    codeChallenge,
    scopes: [...scopes],
    ...(state !== undefined && { state }),
    ...(url && { resource: url }),
  }
  await known(() => provider.authorize(client, params, call.response as never))
}

async function exchangeCode(provider: OAuthServerProvider, client: OAuthClient, request: CodeRequest) {
  const { code, codeVerifier, redirectUri, resource } = request
  const { skipLocalPkceValidation: isSkipped = false } = provider
  if (!isSkipped) {
    const challenge = await provider.challengeForAuthorizationCode(client, code)
    if (challenge !== (await sha256(codeVerifier))) throw invalidGrant('code_verifier is not the right one')
  }
  const verifier = isSkipped ? codeVerifier : undefined
  return provider.exchangeAuthorizationCode(client, code, verifier, redirectUri, toUrl(resource))
}

/** Errors of other libraries that say by `errorCode` what is wrong. */
async function known<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { errorCode, message } = error as { errorCode?: unknown; message?: unknown }
    if (error instanceof OAuthError || typeof errorCode !== 'string' || !/^[a-z_]{1,60}$/.test(errorCode)) throw error
    throw new OAuthError(errorCode, String(message), statusOf(errorCode))
  }
}

function statusOf(errorCode: string): number {
  if (errorCode === 'server_error') return 500
  if (errorCode === 'temporarily_unavailable') return 503
  return errorCode === 'invalid_client' ? 401 : 400
}

function toUrl(resource: string | undefined): URL | undefined {
  return resource === undefined ? undefined : new URL(resource)
}
