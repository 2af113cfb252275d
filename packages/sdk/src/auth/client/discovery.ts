import type { AuthorizationServer } from 'oauth4webapi'
import { isLoopbackUrl } from '../../net/addresses.ts'
import { guardedFetch } from '../../net/guarded-fetch.ts'
import type { SingleFetch } from '../../net/single-request.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import type { AuthContext, AuthFetch } from './context.ts'
import { fallbackServer, findAuthorizationServer, findResource } from './metadata.ts'

/** Who gives permission for a server, and for what. */
export interface Found {
  readonly server: AuthorizationServer
  readonly resource: string | undefined
  readonly scopesSupported: readonly string[]
}

/**
 * @param known Where the metadata was said to be before, for challenges that do not say it.
 * @param preferred The issuer that knows our client, where the server has several.
 */
export async function discover(
  context: AuthContext,
  challenge: Challenge | undefined,
  known?: string,
  preferred?: string,
): Promise<Found> {
  const metadata = await findResource(context, challenge?.params.resource_metadata ?? known)
  if (!metadata) {
    return { server: await fallbackServer(context), resource: undefined, scopesSupported: [] }
  }
  const issuers = metadata.authorizationServers
  const server = await findAuthorizationServer(context, issuers.find((issuer) => issuer === preferred) ?? issuers[0]!)
  return { server, resource: metadata.resource, scopesSupported: metadata.scopesSupported }
}

/** 2025-11-25 authorization, scope selection: what the challenge says, else all that the resource lists, else none. */
export function chooseScopes(
  { server, scopesSupported }: Found,
  challenge: Challenge | undefined,
  more: readonly string[],
  isMachine: boolean,
): string[] {
  const challenged = scopesIn(challenge?.params.scope)
  const chosen = new Set([...(challenged.length > 0 ? challenged : scopesSupported), ...more])
  // 2026-07-28 authorization, refresh tokens: only where the authorization server says that it knows it.
  const lasts = !isMachine && chosen.size > 0 && server.scopes_supported?.includes('offline_access')
  if (lasts) chosen.add('offline_access')
  return [...chosen]
}

/**
 * A server on this machine may name an authorization server on this machine; no other may lead us here.
 * @param fetch Makes the requests. Default: see `guardedFetch`.
 */
export function fetchFor(server: URL, fetch?: SingleFetch): AuthFetch {
  return guardedFetch({ fetch, allowLoopback: isLoopbackUrl(server) ? 'http' : false })
}
