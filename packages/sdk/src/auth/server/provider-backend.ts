import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { isObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import type { EndpointRequest } from '../http.ts'
import type { AuthorizationRequest, Backend, CodeRequest } from './backend.ts'
import type { OAuthClient, OAuthClientMetadata } from './client.ts'
import { invalidGrant, OAuthError } from './oauth-error.ts'
import type { OAuthServerProvider } from './provider-port.ts'
import { randomToken } from './random.ts'
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

/** How clients register themselves with `mcpAuthRouter`. */
export interface RegistrationOptions {
  /** The lifetime of generated client secrets. Default: unlimited. */
  clientSecretExpirySeconds?: number | undefined
  /** Generate the client id before `registerClient` is called. Default true. */
  clientIdGeneration?: boolean | undefined
  /** Schemes of redirect URIs besides https, and http on loopback addresses. Default: none. */
  redirectSchemes?: readonly string[] | undefined
}

/** Adapts an `OAuthServerProvider` to the endpoints. */
export function providerBackend(options: ProviderBackendOptions): Backend {
  const { provider, issuer, baseUrl, scopesSupported, metadata, reportError, registration = {} } = options
  const { registerClient } = provider.clientsStore
  return {
    issuer,
    baseUrl,
    // Most responses are written by the provider itself.
    hasIssParameter: false,
    metadata: { ...metadata, ...(scopesSupported && { scopes_supported: scopesSupported }) },
    reportError,
    redirectSchemes: checkSchemes(registration.redirectSchemes ?? [], 'mcpAuthRouter: redirectSchemes'),
    findClient: async (clientId) => provider.clientsStore.getClient(clientId),
    register: registerClient && ((client) => register(client, provider, registration)),
    authorize: (request, httpRequest) => authorize(provider, request, httpRequest),
    exchangeCode: (client, request) => withOAuthErrors(() => exchangeCode(provider, client, request)),
    refresh: (client, { refreshToken, scopes, resource }) =>
      withOAuthErrors(() =>
        provider.exchangeRefreshToken(client, refreshToken, scopes && [...scopes], toUrl(resource)),
      ),
    revoke:
      provider.revokeToken &&
      ((client, token, hint) =>
        withOAuthErrors(() =>
          provider.revokeToken!(client, { token, ...(hint !== undefined && { token_type_hint: hint }) }),
        )),
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
    ...(clientIdGeneration && { client_id: random.uuid(), client_id_issued_at: now }),
    ...(!isPublic && { client_secret: randomToken(), client_secret_expires_at: seconds ? now + seconds : 0 }),
  }
  return withOAuthErrors(async () => clientsStore.registerClient!(full))
}

/** The provider sends the response itself. */
async function authorize(
  provider: OAuthServerProvider,
  request: AuthorizationRequest,
  httpRequest: EndpointRequest,
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
  await withOAuthErrors(() => provider.authorize(client, params, httpRequest.response as never))
}

async function exchangeCode(provider: OAuthServerProvider, client: OAuthClient, request: CodeRequest) {
  const { code, codeVerifier, redirectUri, resource } = request
  const { skipLocalPkceValidation: isSkipped = false } = provider
  if (!isSkipped) {
    const challenge = await provider.challengeForAuthorizationCode(client, code)
    if (challenge !== (await sha256(codeVerifier))) throw invalidGrant('The code_verifier does not match.')
  }
  const verifier = isSkipped ? codeVerifier : undefined
  return provider.exchangeAuthorizationCode(client, code, verifier, redirectUri, toUrl(resource))
}

/** Converts errors of other libraries that have an OAuth `errorCode`. */
async function withOAuthErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OAuthError || !isObject(error)) throw error
    const { errorCode, message } = error
    if (typeof errorCode !== 'string' || !/^[a-z_]{1,60}$/.test(errorCode)) throw error
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
