import type { OAuthProtectedResourceMetadata } from '@tenon/compat-v1/shared/auth.js'
import type { AuthorizationServerMetadata, OAuthClientMetadata } from './schemas.ts'

/** All scopes of the arguments, each once and in order. Undefined if there is none. */
export function computeScopeUnion(...scopes: ReadonlyArray<string | undefined>): string | undefined {
  const union = new Set(scopes.flatMap(scopesIn))
  return union.size > 0 ? [...union].join(' ') : undefined
}

/**
 * Whether `union` has a scope that `current` lacks. Then refreshing is not enough (RFC 6749, 6): pass `forceReauthorization` to
 * `auth`.
 */
export function isStrictScopeSuperset(union: string | undefined, current: string | undefined): boolean {
  const held = new Set(scopesIn(current))
  return scopesIn(union).some((scope) => !held.has(scope))
}

/**
 * The scope of a flow: that of the challenge, else all of the resource, else that of the client. `offline_access` is added if the
 * client said that it uses refresh tokens and the server offers it.
 */
export function determineScope(options: {
  requestedScope?: string
  resourceMetadata?: OAuthProtectedResourceMetadata
  authServerMetadata?: AuthorizationServerMetadata
  clientMetadata: OAuthClientMetadata
}): string | undefined {
  const { requestedScope, resourceMetadata, authServerMetadata, clientMetadata } = options
  const scope = requestedScope || resourceMetadata?.scopes_supported?.join(' ') || clientMetadata.scope
  const canRefresh =
    clientMetadata.grant_types?.includes('refresh_token') &&
    authServerMetadata?.scopes_supported?.includes('offline_access')
  return scope && canRefresh && !scope.split(' ').includes('offline_access') ? `${scope} offline_access` : scope
}

function scopesIn(text: string | undefined): string[] {
  return text?.split(/\s+/).filter((scope) => scope !== '') ?? []
}
