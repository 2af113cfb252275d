import {
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { isSecureUrl } from '../../net/address-policy.ts'
import { authenticationOf } from './client-authentication.ts'
import { type AuthContext, messageOf, redacted, requestOptions } from './context.ts'
import { withNonce } from './credentials.ts'
import type { DpopKey } from './dpop.ts'
import type { RegisteredClient } from './registration.ts'

/**
 * A pending authorization of a user: everything that is needed to complete it. It can be serialized as JSON, so that another
 * process can complete it. Keep it secret.
 */
export interface Flow {
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  readonly redirectUrl: string
  readonly codeVerifier: string
  readonly state: string
  readonly resource: string | undefined
  readonly scopes: readonly string[]
}

export interface FlowRequest {
  readonly context: AuthContext
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  readonly redirectUrl: string
  readonly resource: string | undefined
  readonly scopes: readonly string[]
}

/** Creates the URL of the page to send the user to. */
export async function beginFlow(request: FlowRequest): Promise<{ url: URL; flow: Flow }> {
  const { context, server, client, redirectUrl, resource, scopes } = request
  const page = pageOf(server, context)
  // 2025-11-25 authorization: a server that does not announce PKCE must not be used.
  if (!server.code_challenge_methods_supported?.includes('S256')) {
    throw new AuthError(
      `${server.issuer} does not announce support for PKCE with S256, which is required`,
      context.trace,
    )
  }
  const codeVerifier = generateRandomCodeVerifier()
  const state = generateRandomState()
  const params: Record<string, string> = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUrl,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    state,
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  for (const [name, value] of Object.entries(params)) page.searchParams.set(name, value)
  context.trace.done('authorization', `${page.origin}${page.pathname}, scope ${JSON.stringify(scopes.join(' '))}`)
  return { url: page, flow: { server, client, redirectUrl, codeVerifier, state, resource, scopes } }
}

/** The URL comes from the authorization server, so only https:, or http: on this machine, is opened in a browser. */
function pageOf({ authorization_endpoint: endpoint, issuer }: AuthorizationServer, { trace }: AuthContext): URL {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) {
    throw new AuthError(`The metadata of ${issuer} has no authorization endpoint`, trace)
  }
  const page = new URL(endpoint)
  if (isSecureUrl(page)) return page
  throw new AuthError(`The authorization endpoint of ${issuer} is not an https: URL`, trace)
}

/** Exchanges the authorization code that the user came back with, after checking that it belongs to this flow. */
export async function completeFlow(
  context: AuthContext,
  flow: Flow,
  params: URLSearchParams,
  dpop: DpopKey | undefined,
): Promise<TokenEndpointResponse> {
  const { server, client, redirectUrl, codeVerifier, resource } = flow
  const checked = checkAnswer(context, flow, params)
  try {
    const response = await withNonce(dpop?.handle, async () =>
      processAuthorizationCodeResponse(
        server,
        client,
        await authorizationCodeGrantRequest(
          server,
          client,
          authenticationOf(client, context),
          checked,
          redirectUrl,
          codeVerifier,
          {
            ...requestOptions(context),
            ...(resource !== undefined && { additionalParameters: { resource } }),
            ...(dpop && { DPoP: dpop.handle }),
          },
        ),
      ),
    )
    context.trace.done('token', `from ${server.token_endpoint}`)
    return response
  } catch (cause) {
    context.trace.failed('token', messageOf(cause))
    throw new AuthError(`${server.issuer} did not issue a token: ${messageOf(cause)}`, context.trace, {
      cause: redacted(cause),
    })
  }
}

/** Checks `state` and `iss` first (RFC 9207): an answer from someone else is neither used nor shown. */
function checkAnswer(
  { trace }: AuthContext,
  { server, client, state }: Flow,
  params: URLSearchParams,
): URLSearchParams {
  try {
    // RFC 9207, 2.4: an empty `iss` is another issuer, too.
    if (params.has('iss') && params.get('iss') !== server.issuer) throw new Error('`iss` is another issuer')
    return validateAuthResponse(server, client, params, state)
  } catch (cause) {
    const said = (cause as { error?: unknown }).error
    const why =
      typeof said === 'string' ? `the authorization server answered ${JSON.stringify(said)}` : messageOf(cause)
    trace.failed('authorization', why)
    throw new AuthError(`The user came back without authorization: ${why}`, trace, { cause: redacted(cause) })
  }
}
