import type { AuthorizationServer } from 'oauth4webapi'
import { isLoopbackUrl } from '../../net/addresses.ts'
import { guardedFetch } from '../../net/guarded-fetch.ts'
import type { FetchLike } from '../../net/send.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import type { AuthContext, AuthFetch } from './context.ts'
import { fallbackServer, findAuthorizationServer, findResource } from './metadata.ts'

/** The result of discovery: the authorization server of an MCP server, and the resource to request tokens for. */
export interface Discovery {
  readonly server: AuthorizationServer
  readonly resource: string | undefined
  readonly scopesSupported: readonly string[]
}

/**
 * Finds the authorization server of an MCP server.
 *
 * @param known The URL of the resource metadata in an earlier challenge, for challenges without one.
 * @param preferred The issuer to prefer if the server names several.
 */
export async function discover(
  context: AuthContext,
  challenge: Challenge | undefined,
  known?: string,
  preferred?: string,
): Promise<Discovery> {
  const metadata = await findResource(context, challenge?.params.resource_metadata ?? known)
  if (!metadata) {
    return { server: await fallbackServer(context), resource: undefined, scopesSupported: [] }
  }
  const issuers = metadata.authorizationServers
  const server = await findAuthorizationServer(context, issuers.find((issuer) => issuer === preferred) ?? issuers[0]!)
  return { server, resource: metadata.resource, scopesSupported: metadata.scopesSupported }
}

/** 2025-11-25 authorization, scope selection: the scopes of the challenge, else all that the resource lists, else none. */
export function chooseScopes(
  { server, scopesSupported }: Discovery,
  challenge: Challenge | undefined,
  more: readonly string[],
  isUnattended: boolean,
): string[] {
  const challenged = scopesIn(challenge?.params.scope)
  const chosen = new Set([...(challenged.length > 0 ? challenged : scopesSupported), ...more])
  // 2026-07-28 authorization, refresh tokens: only if the authorization server lists the scope.
  const wantsRefresh = !isUnattended && chosen.size > 0 && server.scopes_supported?.includes('offline_access')
  if (wantsRefresh) chosen.add('offline_access')
  return [...chosen]
}

/**
 * A `fetch` for the authorization server of this MCP server. Only a server on this machine may name an authorization server on
 * this machine.
 *
 * @param fetch Sends the requests. Default: see `guardedFetch`.
 */
export function fetchFor(server: URL, fetch?: FetchLike): AuthFetch {
  return guardedFetch({ fetch, allowLoopback: isLoopbackUrl(server) ? 'http' : false })
}
