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
import { isLoopbackUrl } from '../../net/addresses.ts'
import { type AuthContext, messageOf, plain } from './context.ts'
import type { DpopKey } from './dpop.ts'
import { requestOptions } from './http-options.ts'
import type { RegisteredClient } from './registration.ts'
import { authenticationOf, withNonce } from './tokens.ts'

/**
 * An authorization that the user is to give: everything that its second half needs. It is JSON, so that the second half may
 * happen in another process; and secret.
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

/** The page to send the user to. */
export async function beginFlow(request: FlowRequest): Promise<{ url: URL; flow: Flow }> {
  const { context, server, client, redirectUrl, resource, scopes } = request
  const page = pageOf(server, context)
  // 2025-11-25 authorization: without a word about PKCE a server must not be used.
  if (!server.code_challenge_methods_supported?.includes('S256')) {
    throw new AuthError(
      `${server.issuer} does not say that it supports PKCE with S256, which is required`,
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

/** A page for a browser comes from a stranger: nothing but https, or http on this machine, is opened. */
function pageOf({ authorization_endpoint: endpoint, issuer }: AuthorizationServer, { trace }: AuthContext): URL {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) {
    throw new AuthError(`${issuer} names no authorization endpoint`, trace)
  }
  const page = new URL(endpoint)
  if (page.protocol === 'https:' || (page.protocol === 'http:' && isLoopbackUrl(page))) return page
  throw new AuthError(`The authorization endpoint of ${issuer} is no https: URL, and is not opened`, trace)
}

/** Redeems what the user came back with, after it was checked that it is the answer to this very flow. */
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
    throw new AuthError(`${server.issuer} gave no token: ${messageOf(cause)}`, context.trace, { cause: plain(cause) })
  }
}

/** `state` and `iss` first (RFC 9207): what came from someone else is neither used nor shown. */
function checkAnswer(
  { trace }: AuthContext,
  { server, client, state }: Flow,
  params: URLSearchParams,
): URLSearchParams {
  try {
    // RFC 9207, 2.4: also an empty one is another.
    if (params.has('iss') && params.get('iss') !== server.issuer) throw new Error('iss names another issuer')
    return validateAuthResponse(server, client, params, state)
  } catch (cause) {
    const said = (cause as { error?: unknown }).error
    const why =
      typeof said === 'string' ? `the authorization server answered ${JSON.stringify(said)}` : messageOf(cause)
    trace.failed('authorization', why)
    throw new AuthError(`The user came back without permission: ${why}`, trace, { cause: plain(cause) })
  }
}
