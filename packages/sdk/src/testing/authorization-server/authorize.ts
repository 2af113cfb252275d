import { askedResource, askedScope, toScopes } from './asked.ts'
import type { AuthorizationRequest } from './authorization-requests.ts'
import type { RegisteredClient } from './clients.ts'
import { type Call, type Params, Refusal, type Reply } from './http.ts'
import { errorPage, loginPage } from './pages.ts'
import { matchesRedirectUri } from './redirect-uris.ts'
import type { Endpoint, State } from './state.ts'

/** The authorization code flow with PKCE, S256 only (OAuth 2.1 section 4.1). */
export const authorize: Endpoint = async (call, state) => {
  try {
    const ticket = call.method === 'POST' ? call.params.get('ticket') : undefined
    return await (ticket === undefined ? begin(call, state) : decide(ticket, call.params, state))
  } catch (error) {
    // Where to send the user back to is not known for certain, so nobody is sent anywhere (OAuth 2.1 section 4.1.2.1).
    if (error instanceof Refusal) return errorPage(error)
    throw error
  }
}

async function begin({ params }: Call, state: State): Promise<Reply> {
  const client = await state.clients.find(params.need('client_id'))
  const redirectUri = redirectUriOf(client, params.get('redirect_uri'))
  const way = { redirectUri, state: params.all('state')[0] }
  try {
    if (state.faults.authorizationError) throw new Refusal(state.faults.authorizationError, 'As the test wants it')
    const request = { ...way, ...readRequest(client, params, state) }
    if (state.settings.login === 'page') return loginPage(request, state.requests.wait(request), state.settings.users)
    const { users } = state.settings
    const user = users.find((name) => name === params.get('login_hint')) ?? users[0]!
    return allow(request, user, request.scope, state)
  } catch (error) {
    if (error instanceof Refusal) return refuse(way, error, state)
    throw error
  }
}

/** What a person said on the page. */
function decide(ticket: string, params: Params, state: State): Reply {
  const request = state.requests.resume(ticket)
  if (!request)
    throw new Refusal('invalid_request', 'This page was answered before, or has waited too long. Start again.')
  if (params.get('decision') !== 'allow')
    return refuse(request, new Refusal('access_denied', 'The user said no'), state)
  const user = state.settings.users.find((name) => name === params.get('user'))
  if (user === undefined) return refuse(request, new Refusal('access_denied', 'There is no such user'), state)
  const scope = request.scope.filter((name) => params.all('scope').includes(name))
  return allow(request, user, scope, state)
}

function readRequest(
  client: RegisteredClient,
  params: Params,
  { settings }: State,
): Omit<AuthorizationRequest, 'redirectUri' | 'state'> {
  // A repeated one is an error.
  params.get('state')
  if (params.need('response_type') !== 'code') throw new Refusal('unsupported_response_type', 'response_type is code')
  if (!client.grant_types.includes('authorization_code')) {
    throw new Refusal('unauthorized_client', 'The client is not registered for the grant type authorization_code')
  }
  const codeChallenge = params.need('code_challenge')
  if (params.get('code_challenge_method') !== 'S256') {
    throw new Refusal('invalid_request', 'code_challenge_method is S256')
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

function redirectUriOf(client: RegisteredClient, given: string | undefined): string {
  const registered = client.redirect_uris
  if (given === undefined && registered.length === 1) return registered[0]!
  if (given === undefined) throw new Refusal('invalid_request', 'redirect_uri is missing')
  if (registered.some((uri) => matchesRedirectUri(uri, given, client.application_type))) return given
  throw new Refusal('invalid_request', 'redirect_uri is not one that the client registered')
}

function allow(request: AuthorizationRequest, sub: string, scope: readonly string[], state: State): Reply {
  const { client, resource } = request
  const { grantedScope } = state.faults
  const granted = grantedScope === undefined ? scope : toScopes(grantedScope)
  const code = state.requests.issueCode(request, { sub, clientId: client.client_id, scope: granted, resource })
  return sendBack(request, { code }, state)
}

function refuse(way: WayBack, { error, message }: Refusal, state: State): Reply {
  return sendBack(way, { error, error_description: message }, state)
}

type WayBack = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

function sendBack(way: WayBack, answer: Record<string, string>, { settings, issuer, faults }: State): Reply {
  const target = new URL(way.redirectUri)
  const params = {
    ...answer,
    ...(way.state !== undefined && { state: way.state }),
    // RFC 9207: in every answer, errors too.
    ...(settings.issParameter && { iss: issuer }),
    ...faults.redirect,
  }
  for (const [name, value] of Object.entries(params)) if (value !== null) target.searchParams.set(name, value)
  // 303, so that a form that was sent to us is not sent on (RFC 9700 section 4.12).
  return { status: 303, headers: { location: target.href, 'cache-control': 'no-store' }, body: '' }
}
