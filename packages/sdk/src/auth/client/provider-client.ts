import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { secretMethod } from './client-authentication.ts'
import type { AuthContext, AuthFetch } from './context.ts'
import type { OAuthClientProvider, ProviderClientInformation } from './provider-port.ts'
import { chooseMethod, isNative, type RegisteredClient, requestRegistration } from './registration.ts'

/** The client that the provider has for this authorization server. */
export async function providerClient(
  { trace }: AuthContext,
  provider: OAuthClientProvider,
  server: AuthorizationServer,
): Promise<RegisteredClient | undefined> {
  const { issuer } = server
  const information = await provider.clientInformation({ issuer })
  if (!information) return undefined
  if (information.issuer !== undefined && information.issuer !== issuer) {
    // 2026-07-28 authorization: a client is never used with another issuer. With a user, another one can be registered.
    if (provider.saveClientInformation && provider.redirectUrl !== undefined) return undefined
    throw new AuthError(
      `The client id belongs to ${information.issuer}, but the server requires tokens of ${issuer}`,
      trace,
    )
  }
  return toClient(provider, server, information, 'given')
}

/** Creates a client from the metadata document or by registration, and saves it in the provider. */
export async function registerProvider(
  context: AuthContext,
  provider: OAuthClientProvider,
  server: AuthorizationServer,
  redirectUrl: string,
  scope: string,
): Promise<RegisteredClient> {
  const { issuer } = server
  const { clientMetadataUrl } = provider
  if (server.client_id_metadata_document_supported === true && clientMetadataUrl !== undefined) {
    context.trace.done('registration', `by the document ${clientMetadataUrl}`)
    const information = { client_id: clientMetadataUrl, issuer }
    await provider.saveClientInformation?.(information, { issuer })
    return toClient(provider, server, information, 'document')
  }
  if (!provider.saveClientInformation || !server.registration_endpoint) {
    const why = provider.saveClientInformation
      ? `${issuer} has no dynamic registration`
      : 'the provider has no saveClientInformation()'
    throw new AuthError(`The client cannot be registered: ${why}. Return one from clientInformation()`, context.trace)
  }
  const registered = await requestRegistration(context, server, {
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: chooseMethod(server.token_endpoint_auth_methods_supported),
    // 2026-07-28 authorization: servers allow loopback redirects to native applications only.
    application_type: isNative(redirectUrl) ? 'native' : 'web',
    ...provider.clientMetadata,
    ...(scope !== '' && { scope }),
  })
  context.trace.done('registration', `dynamically at ${server.registration_endpoint}`)
  const information = { ...registered, issuer } as ProviderClientInformation
  await provider.saveClientInformation(information, { issuer })
  return toClient(provider, server, information, 'registered')
}

/** Lets a provider authenticate the client itself. */
export function authenticatingFetch(
  fetch: AuthFetch,
  provider: OAuthClientProvider,
  server: AuthorizationServer,
): AuthFetch {
  return async (url, init) => {
    if (url !== server.token_endpoint) return fetch(url, init)
    const headers = new Headers(init.headers)
    const params = new URLSearchParams(String(init.body))
    // The provider decides whether to add the client id.
    params.delete('client_id')
    await provider.addClientAuthentication!(headers, params, url, server)
    return fetch(url, { ...init, headers: Object.fromEntries(headers), body: params })
  }
}

function toClient(
  provider: OAuthClientProvider,
  server: AuthorizationServer,
  { client_id, client_secret, token_endpoint_auth_method: registered }: ProviderClientInformation,
  origin: RegisteredClient['origin'],
): RegisteredClient {
  if (client_secret === undefined || provider.addClientAuthentication) {
    return { client_id, token_endpoint_auth_method: 'none', origin }
  }
  // Some servers register a client without authentication, but issue a secret: they expect it.
  const method = registered === undefined || registered === 'none' ? secretMethod(server) : registered
  return { client_id, client_secret, token_endpoint_auth_method: method, origin }
}
