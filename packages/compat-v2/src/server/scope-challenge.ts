import type { AuthInfo, JSONRPCRequest } from '../core/types.ts'

/** The OAuth scopes that a caller has to obtain first. */
export interface ScopeChallenge {
  scopes: readonly [string, ...string[]]
  errorDescription?: string
}

/** Decides whether a request needs more scopes than its token has. */
export type ScopeChallengeHandler = (context: {
  request: JSONRPCRequest
  authInfo?: AuthInfo
}) => ScopeChallenge | undefined | Promise<ScopeChallenge | undefined>

/** Requires all of these scopes. Requests without a token are left to the authentication in front of the server. */
export function requireScopes(...scopes: readonly [string, ...string[]]): ScopeChallengeHandler {
  if (scopes.length === 0) throw new TypeError('requireScopes must contain at least one scope')
  return ({ authInfo }) =>
    authInfo && !scopes.every((scope) => authInfo.scopes.includes(scope)) ? { scopes } : undefined
}
