import { type EndpointResponse, redirectResponse } from '../../auth/http.ts'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { type Params, toScopes } from '../../auth/server/params.ts'
import { chooseRedirectUri } from '../../auth/server/redirect-uris.ts'
import { askedResource, askedScope } from './asked.ts'
import type { AuthorizationRequest } from './authorization-requests.ts'
import type { RegisteredClient } from './clients.ts'
import type { Call } from './http.ts'
import { errorPage, loginPage } from './pages.ts'
import type { Endpoint, State } from './state.ts'

/** The authorization code flow with PKCE, S256 only (OAuth 2.1 section 4.1). */
export const authorize: Endpoint = async (call, state) => {
  try {
    const ticket = call.method === 'POST' ? call.params.get('ticket') : undefined
    return await (ticket === undefined ? begin(call, state) : decide(ticket, call.params, state))
  } catch (error) {
    // The redirect URI is not trusted yet, so the error is shown instead of redirected (OAuth 2.1 section 4.1.2.1).
    if (error instanceof OAuthError) return errorPage(error)
    throw error
  }
}

async function begin({ params }: Call, state: State): Promise<EndpointResponse> {
  const client = await state.clients.find(params.require('client_id'))
  const redirectUri = chooseRedirectUri(client.redirect_uris, params.get('redirect_uri'), client.application_type)
  const way = { redirectUri, state: params.all('state')[0] }
  try {
    if (state.faults.authorizationError) throw new OAuthError(state.faults.authorizationError, 'Injected fault')
    const request = { ...way, ...readRequest(client, params, state) }
    if (state.settings.login === 'page') return loginPage(request, state.requests.wait(request), state.settings.users)
    const { users } = state.settings
    const user = users.find((name) => name === params.get('login_hint')) ?? users[0]!
    return allow(request, user, request.scope, state)
  } catch (error) {
    if (error instanceof OAuthError) return refuse(way, error, state)
    throw error
  }
}

/** Handles the decision of the user on the login page. */
function decide(ticket: string, params: Params, state: State): EndpointResponse {
  const request = state.requests.resume(ticket)
  if (!request) throw new OAuthError('invalid_request', 'This page was already submitted or has expired. Start again.')
  if (params.get('decision') !== 'allow')
    return refuse(request, new OAuthError('access_denied', 'The user denied access'), state)
  const user = state.settings.users.find((name) => name === params.get('user'))
  if (user === undefined) return refuse(request, new OAuthError('access_denied', 'Unknown user'), state)
  const scope = request.scope.filter((name) => params.all('scope').includes(name))
  return allow(request, user, scope, state)
}

function readRequest(
  client: RegisteredClient,
  params: Params,
  { settings }: State,
): Omit<AuthorizationRequest, 'redirectUri' | 'state'> {
  // Throws if the parameter is repeated.
  params.get('state')
  if (params.require('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code')
  if (!client.grant_types.includes('authorization_code')) {
    throw new OAuthError('unauthorized_client', 'The client is not registered for the grant type authorization_code')
  }
  const codeChallenge = params.require('code_challenge')
  if (params.get('code_challenge_method') !== 'S256') {
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
  }
  return {
    client,
    scope: askedScope(params, client.scope, settings),
    resource: askedResource(params, settings),
    codeChallenge,
    jkt: params.get('dpop_jkt'),
    nonce: params.get('nonce'),
  }
}

function allow(request: AuthorizationRequest, sub: string, scope: readonly string[], state: State): EndpointResponse {
  const { client, resource } = request
  const { grantedScope } = state.faults
  const granted = grantedScope === undefined ? scope : toScopes(grantedScope)
  const code = state.requests.issueCode(request, { sub, clientId: client.client_id, scope: granted, resource })
  return sendBack(request, { code }, state)
}

function refuse(way: WayBack, { errorCode: error, message }: OAuthError, state: State): EndpointResponse {
  return sendBack(way, { error, error_description: message }, state)
}

type WayBack = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

function sendBack(way: WayBack, answer: Record<string, string>, { settings, issuer, faults }: State): EndpointResponse {
  const target = new URL(way.redirectUri)
  const params = {
    ...answer,
    ...(way.state !== undefined && { state: way.state }),
    // RFC 9207: in every response, also in errors.
    ...(settings.issParameter && { iss: issuer }),
    ...faults.redirect,
  }
  for (const [name, value] of Object.entries(params)) if (value !== null) target.searchParams.set(name, value)
  return redirectResponse(target.href)
}
