import {
  type AuthorizationServer,
  type Client,
  clientCredentialsGrantRequest,
  genericTokenEndpointRequest,
  None,
  processClientCredentialsResponse,
  processGenericTokenEndpointResponse,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { type ClientKey, secretAuthentication, secretBasic, signatureOf } from './client-authentication.ts'
import { type AuthContext, requestOptions } from './context.ts'
import { withNonce } from './credentials.ts'
import type { DpopKey } from './dpop.ts'

/** The authorization server, resource and scopes to request a token for. */
export interface GrantRequest {
  readonly context: AuthContext
  readonly server: AuthorizationServer
  readonly resource: string | undefined
  readonly scopes: readonly string[]
  readonly dpop: DpopKey | undefined
}

/** Obtains a token without a user at a browser. */
export interface Grant {
  readonly clientId: string
  /** The issuer that knows the client. Its credentials are never sent to another. */
  readonly issuer?: string | undefined
  obtain(request: GrantRequest): Promise<TokenEndpointResponse>
}

/** Options of `clientCredentials`. */
export interface ClientCredentialsOptions extends ClientKey {
  clientId: string
  clientSecret?: string | undefined
  /** The issuer that knows the client. Default: the one that the credentials are first used with. */
  issuer?: string | undefined
}

/** RFC 6749, 4.4, with a secret or a signed assertion (RFC 7523). */
export function clientCredentials(options: ClientCredentialsOptions): Grant {
  const signature = signatureOf(options)
  return {
    clientId: options.clientId,
    issuer: options.issuer,
    async obtain({ context, server, resource, scopes, dpop }) {
      const client: Client = { client_id: options.clientId }
      const authentication = signature ?? secretAuthentication(options.clientSecret, server)
      const params = parametersOf(resource, scopes)
      const response = await withNonce(dpop?.handle, async () =>
        processClientCredentialsResponse(
          server,
          client,
          await clientCredentialsGrantRequest(server, client, authentication, params, {
            ...requestOptions(context),
            ...(dpop && { DPoP: dpop.handle }),
          }),
        ),
      )
      return response
    },
  }
}

/** Options of `workloadIdentity`. */
export interface WorkloadIdentityOptions {
  clientId: string
  clientSecret?: string | undefined
  /** The JWT that the platform issues. A function is called for each token. */
  assertion: string | (() => string | Promise<string>)
  issuer?: string | undefined
}

/** RFC 7523, 2.1: exchanges the JWT of the platform for a token. */
export function workloadIdentity(options: WorkloadIdentityOptions): Grant {
  return {
    clientId: options.clientId,
    issuer: options.issuer,
    obtain: async (request) => redeem(request, options, await textOf(options.assertion)),
  }
}

/** Options of `enterpriseManaged`. */
export interface EnterpriseManagedOptions {
  clientId: string
  clientSecret?: string | undefined
  issuer?: string | undefined
  /** The identity provider of the enterprise, where the user is signed in. */
  identityProvider: {
    tokenEndpoint: string
    issuer?: string | undefined
    clientId: string
    clientSecret?: string | undefined
    /** The id token of the user's sign-in. A function is called for each token. */
    idToken: string | (() => string | Promise<string>)
  }
}

/** Exchanges the user's id token for an assertion (ID-JAG), and that for a token of the server's authorization server. */
export function enterpriseManaged(options: EnterpriseManagedOptions): Grant {
  return {
    clientId: options.clientId,
    issuer: options.issuer,
    async obtain(request) {
      const assertion = await exchangeIdentity(request, options.identityProvider)
      return redeem(request, options, assertion)
    },
  }
}

async function exchangeIdentity(
  { context, server, resource, scopes }: GrantRequest,
  { tokenEndpoint, issuer, clientId, clientSecret, idToken }: EnterpriseManagedOptions['identityProvider'],
): Promise<string> {
  const provider: AuthorizationServer = {
    issuer: issuer ?? new URL(tokenEndpoint).origin,
    token_endpoint: tokenEndpoint,
  }
  const client: Client = { client_id: clientId }
  const params = parametersOf(resource, scopes)
  params.set('requested_token_type', 'urn:ietf:params:oauth:token-type:id-jag')
  params.set('audience', server.issuer)
  params.set('subject_token', await textOf(idToken))
  params.set('subject_token_type', 'urn:ietf:params:oauth:token-type:id_token')
  const response = await genericTokenEndpointRequest(
    provider,
    client,
    clientSecret === undefined ? None() : secretBasic(clientSecret),
    'urn:ietf:params:oauth:grant-type:token-exchange',
    params,
    requestOptions(context),
  )
  const result = await processGenericTokenEndpointResponse(provider, client, response, {
    recognizedTokenTypes: { n_a: () => {} },
  })
  if (result.issued_token_type !== 'urn:ietf:params:oauth:token-type:id-jag') {
    throw new AuthError('The identity provider did not issue an ID-JAG', context.trace)
  }
  return result.access_token
}

async function redeem(
  { context, server, resource, scopes, dpop }: GrantRequest,
  { clientId, clientSecret }: { clientId: string; clientSecret?: string | undefined },
  assertion: string,
): Promise<TokenEndpointResponse> {
  const client: Client = { client_id: clientId }
  const params = parametersOf(resource, scopes)
  params.set('assertion', assertion)
  const authentication = secretAuthentication(clientSecret, server)
  return withNonce(dpop?.handle, async () =>
    processGenericTokenEndpointResponse(
      server,
      client,
      await genericTokenEndpointRequest(
        server,
        client,
        authentication,
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
        params,
        { ...requestOptions(context), ...(dpop && { DPoP: dpop.handle }) },
      ),
    ),
  )
}

function parametersOf(resource: string | undefined, scopes: readonly string[]): URLSearchParams {
  const params = new URLSearchParams()
  if (resource !== undefined) params.set('resource', resource)
  if (scopes.length > 0) params.set('scope', scopes.join(' '))
  return params
}

async function textOf(value: string | (() => string | Promise<string>)): Promise<string> {
  return typeof value === 'function' ? value() : value
}
