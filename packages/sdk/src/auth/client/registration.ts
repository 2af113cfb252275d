import type { AuthorizationServer, Client } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { isLoopbackUrl } from '../../net/address-policy.ts'
import { isObject } from '../../util/objects.ts'
import { type ClientKey, secretMethod } from './client-authentication.ts'
import { type AuthContext, messageOf, redacted } from './context.ts'

/** A client as an authorization server knows it. */
export interface RegisteredClient extends Client {
  /** `'given'` as an option, a metadata `'document'`, or `'registered'` dynamically. */
  readonly origin: 'given' | 'document' | 'registered'
  /** The redirect URL that it was registered with. */
  readonly redirectUrl?: string | undefined
}

export interface ClientIdentity extends ClientKey {
  /** The id of a client that you have registered. Default: from `clientMetadataUrl`, or registered dynamically. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly issuer?: string | undefined
  /** The URL of a Client ID Metadata Document. */
  readonly clientMetadataUrl?: string | undefined
  readonly clientName: string
  /** Called if the client cannot be registered in any other way. */
  readonly register?: ((server: AuthorizationServer) => ClientGiven | Promise<ClientGiven>) | undefined
}

export interface ClientGiven {
  clientId: string
  clientSecret?: string | undefined
}

/** 2025-11-25 authorization, client registration: the given client, the metadata document, dynamic registration, `register`. */
export async function findClient(
  context: AuthContext,
  server: AuthorizationServer,
  identity: ClientIdentity,
  redirectUrl: string,
  scope: string | undefined,
): Promise<RegisteredClient> {
  const { trace } = context
  if (identity.clientId !== undefined) {
    trace.done('registration', 'the given client id')
    return toClient(server, identity.clientId, identity, 'given')
  }
  trace.skipped('registration', 'no clientId')
  const problem = documentProblem(server, identity)
  if (problem === undefined) {
    trace.done('registration', `with the document ${identity.clientMetadataUrl}`)
    return {
      client_id: identity.clientMetadataUrl!,
      token_endpoint_auth_method: documentMethod(identity),
      origin: 'document',
      redirectUrl,
    }
  }
  trace.skipped('registration', problem)
  if (server.registration_endpoint) return register(context, server, identity, redirectUrl, scope)
  trace.skipped('registration', `${server.issuer} has no dynamic registration`)
  if (!identity.register) {
    throw new AuthError(
      `${server.issuer} does not know this client and has no dynamic registration. Register it there and pass clientId, or pass clientMetadataUrl`,
      trace,
    )
  }
  const { clientId, clientSecret } = await identity.register(server)
  return toClient(server, clientId, { clientSecret }, 'given')
}

/** How a client with a metadata document authenticates, as its document says. */
export function documentMethod({ privateKey }: ClientKey): 'none' | 'private_key_jwt' {
  return privateKey === undefined ? 'none' : 'private_key_jwt'
}

function documentProblem(server: AuthorizationServer, identity: ClientIdentity): string | undefined {
  if (identity.clientMetadataUrl === undefined) return 'no clientMetadataUrl'
  if (server.client_id_metadata_document_supported !== true) {
    return `${server.issuer} does not support client id metadata documents`
  }
  const isSigned = documentMethod(identity) === 'private_key_jwt'
  // RFC 8414, 2: the default is client_secret_basic.
  const isSupported = server.token_endpoint_auth_methods_supported?.includes('private_key_jwt')
  return isSigned && !isSupported ? `${server.issuer} does not support private_key_jwt` : undefined
}

function toClient(
  server: AuthorizationServer,
  clientId: string,
  { clientSecret: secret, privateKey }: Pick<ClientIdentity, 'clientSecret' | 'privateKey'>,
  origin: RegisteredClient['origin'],
): RegisteredClient {
  if (privateKey !== undefined) return { client_id: clientId, token_endpoint_auth_method: 'private_key_jwt', origin }
  if (secret === undefined) return { client_id: clientId, token_endpoint_auth_method: 'none', origin }
  return { client_id: clientId, client_secret: secret, token_endpoint_auth_method: secretMethod(server), origin }
}

async function register(
  context: AuthContext,
  server: AuthorizationServer,
  identity: ClientIdentity,
  redirectUrl: string,
  scope: string | undefined,
): Promise<RegisteredClient> {
  const { trace } = context
  const method = chooseMethod(server.token_endpoint_auth_methods_supported)
  const metadata = {
    client_name: identity.clientName,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    // 2026-07-28 authorization: servers allow loopback redirects to native applications only.
    application_type: isNative(redirectUrl) ? 'native' : 'web',
    ...(scope && { scope }),
  }
  const registered = await requestRegistration(context, server, metadata)
  trace.done('registration', `dynamically at ${server.registration_endpoint}`)
  return { token_endpoint_auth_method: method, ...registered, origin: 'registered', redirectUrl }
}

/** RFC 7591, parsed leniently: not every server sends all required members. */
export async function requestRegistration(
  context: AuthContext,
  server: AuthorizationServer,
  metadata: object,
): Promise<Client> {
  const { trace } = context
  const refuse = (said: string, cause?: unknown) => {
    const why = said.replace(/\p{Cc}+/gu, ' ').slice(0, 500)
    trace.failed('registration', why)
    return new AuthError(
      context.triesDefaultPaths
        ? `No login is offered: ${server.issuer} publishes no OAuth metadata, and did not register this client (${why}). If its operator issues tokens, send one in the Authorization header`
        : `${server.issuer} did not register this client: ${why}`,
      trace,
      cause === undefined ? {} : { cause: redacted(cause) },
    )
  }
  let response: Response
  try {
    response = await context.fetch(server.registration_endpoint!, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(metadata),
      redirect: 'manual',
    })
  } catch (cause) {
    throw refuse(messageOf(cause), cause)
  }
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && isObject(answer) && typeof answer.client_id === 'string') return answer as unknown as Client
  throw refuse([`HTTP ${response.status}`, ...textsOf(answer)].join(', '))
}

/** RFC 7591 3.2.2, or the JSON-RPC error of an MCP server that has nothing at this path. */
function textsOf(answer: unknown): string[] {
  const { error, error_description: description } = isObject(answer) ? answer : {}
  const parts = isObject(error) ? [error.message] : [error, description]
  return parts.filter((part) => typeof part === 'string')
}

export function chooseMethod(supported: readonly string[] | undefined): string {
  // RFC 8414, 2: the default is client_secret_basic.
  const known = supported ?? ['none', 'client_secret_basic']
  return ['none', 'client_secret_basic', 'client_secret_post'].find((method) => known.includes(method)) ?? 'none'
}

/** True if only an application on the user's machine can receive the redirect (RFC 8252). */
export function isNative(redirectUrl: string): boolean {
  const url = new URL(redirectUrl)
  return isLoopbackUrl(url) || !/^https?:$/.test(url.protocol)
}
