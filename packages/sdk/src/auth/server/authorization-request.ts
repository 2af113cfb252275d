import { type AuthReply, redirectTo } from '../http.ts'
import { isSameResource } from '../resource/same-resource.ts'
import type { AuthorizationRequest, Backend } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
import { type Params, toScopes } from './params.ts'
import { chooseRedirectUri } from './redirect-uris.ts'

/** Where the answer goes, which is known before the rest of a request is looked at. */
export interface WayBack {
  readonly redirectUri: string
  readonly state: string | undefined
}

/** What throws here is told to the person: nobody is sent anywhere before it is certain where to (OAuth 2.1, 4.1.2.1). */
export async function findWayBack(params: Params, backend: Backend): Promise<WayBack & { client: OAuthClient }> {
  const client = await backend.findClient(params.need('client_id'))
  if (!client) throw invalidClient('There is no such client; the application has to register again')
  const redirectUri = chooseRedirectUri(client.redirect_uris, params.get('redirect_uri'), client.application_type)
  const state = params.all('state')[0]
  const { maxStateBytes = Number.POSITIVE_INFINITY } = backend
  if (state !== undefined && new TextEncoder().encode(state).length > maxStateBytes) {
    throw new OAuthError('invalid_request', `state has at most ${maxStateBytes} bytes`)
  }
  return { client, redirectUri, state }
}

/** What throws here is told to the client. PKCE with S256 is not a choice (2025-11-25 authorization code protection). */
export function readAuthorizationRequest(
  way: WayBack & { client: OAuthClient },
  params: Params,
  backend: Pick<Backend, 'scopesSupported' | 'resource'>,
): AuthorizationRequest {
  // A repeated one is an error.
  params.get('state')
  if (params.need('response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type is code')
  const codeChallenge = params.need('code_challenge')
  if (params.get('code_challenge_method') !== 'S256') {
    throw new OAuthError('invalid_request', 'code_challenge_method is S256')
  }
  if (!/^[\w-]{43}$/.test(codeChallenge)) throw new OAuthError('invalid_request', 'code_challenge is no S256 challenge')
  const scopes = toScopes(params.get('scope'))
  const { scopesSupported } = backend
  if (scopesSupported && !scopes.every((name) => scopesSupported.includes(name))) {
    throw new OAuthError('invalid_scope', `scope is some of: ${scopesSupported.join(' ')}`)
  }
  return { ...way, scopes, codeChallenge, resource: readResource(params, backend) }
}

/** RFC 8707: the server that tokens are wanted for. */
export function readResource(params: Params, { resource: own }: Pick<Backend, 'resource'>): string | undefined {
  const asked = params.all('resource')
  for (const resource of asked) {
    const isAbsolute = URL.canParse(resource) && !resource.includes('#')
    if (!isAbsolute) throw new OAuthError('invalid_target', 'resource is an absolute URI without fragment')
    if (own !== undefined && !isSameResource(own, resource)) {
      throw new OAuthError('invalid_target', `Tokens are given out for ${own} only`)
    }
  }
  if (own === undefined && asked.length > 1) throw new OAuthError('invalid_target', 'resource was sent more than once')
  return own ?? asked[0]
}

/** The answer to the client, by way of the browser; with `iss` in every one of them, errors too (RFC 9207). */
export function sendBack(
  { redirectUri, state }: WayBack,
  answer: Readonly<Record<string, string>>,
  issuer: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): AuthReply {
  return redirectTo(wayBackUrl({ redirectUri, state }, answer, issuer), headers)
}

export function wayBackUrl(
  { redirectUri, state }: WayBack,
  answer: Readonly<Record<string, string>>,
  issuer: string | undefined,
): string {
  const params = { ...answer, ...(state !== undefined && { state }), ...(issuer !== undefined && { iss: issuer }) }
  const target = new URL(redirectUri)
  for (const [name, value] of Object.entries(params)) target.searchParams.set(name, value)
  return target.href
}
