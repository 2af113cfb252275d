import { type EndpointResponse, jsonResponse } from '../../auth/http.ts'
import type { RegisteredClient } from './clients.ts'
import type { State } from './state.ts'
import type { Family } from './tokens.ts'

interface Issue {
  readonly family: Family
  readonly client: RegisteredClient | undefined
  readonly jkt: string | undefined
  /** A subset of the granted scopes. */
  readonly scope?: readonly string[] | undefined
  readonly resource?: readonly string[] | undefined
  /** Returned in the ID token. */
  readonly nonce?: string | undefined
  readonly withRefreshToken?: boolean | undefined
}

/** The response of the token endpoint (OAuth 2.1 section 3.2.3), with an ID token if the scope contains `openid`. */
export async function replyWithTokens(issue: Issue, state: State): Promise<EndpointResponse> {
  const { family, jkt } = issue
  const { tokens, settings } = state
  const { scope = family.grant.scope, resource = family.grant.resource } = issue
  const refreshToken = hasRefreshToken(issue, state) ? refreshTokenFor(issue, state) : undefined
  return jsonResponse({
    access_token: await tokens.issueAccessToken(family, { scope, resource, jkt }),
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
    expires_in: settings.accessTokenSeconds,
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(scope.includes('openid') && { id_token: await idToken(issue, state) }),
  })
}

function hasRefreshToken({ family, client, withRefreshToken }: Issue, { settings, faults }: State): boolean {
  if (!withRefreshToken || faults.noRefreshToken || !client?.grant_types.includes('refresh_token')) return false
  if (settings.refreshTokens === 'offline_access') return family.grant.scope.includes('offline_access')
  return settings.refreshTokens === 'always'
}

/** RFC 9449 section 5: the refresh token of a public client is bound to its key. Other clients authenticate anyway. */
function refreshTokenFor({ family, client, jkt }: Issue, { tokens }: State): string {
  return tokens.issueRefreshToken(family, client?.token_endpoint_auth_method === 'none' ? jkt : undefined)
}

function idToken({ family, nonce }: Issue, { keys, issuer, settings, tokens }: State): Promise<string> {
  const { sub, clientId } = family.grant
  const iat = tokens.now
  const exp = iat + settings.accessTokenSeconds
  return keys.sign({ iss: issuer, sub, aud: clientId, iat, exp, ...(nonce !== undefined && { nonce }) }, { typ: 'JWT' })
}
