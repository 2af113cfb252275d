import { InsufficientScopeError, includesScopes } from '../util/scopes.ts'
import type { Call } from './call.ts'

/** The scopes that a caller holds. `'all'`: the local user of a stdio server, for whom nothing is guarded. */
export type Granted = readonly string[] | 'all'

type Source = Pick<Call, 'stream' | 'link'>

const none: Granted = Object.freeze([])

/** Over HTTP the request says what its token allows; elsewhere the connection has one identity, or none. */
export function grantedTo({ stream, link }: Source): Granted {
  const request = stream?.request
  if (request) return request.auth?.scopes ?? none
  return link.transport.isLocalUser ? 'all' : (link.transport.auth?.scopes ?? none)
}

/** Identifies the authenticated caller; undefined for anonymous callers. */
export function principalOf({ stream, link }: Source): string | undefined {
  const request = stream?.request
  return request ? request.principal : link.transport.principal
}

export function isAllowed(granted: Granted, required: readonly string[] | undefined): boolean {
  return required === undefined || granted === 'all' || includesScopes(granted, required)
}

/** Throws the error that tells the client which scopes to request. */
export function checkAccess(source: Source, required: readonly string[] | undefined): void {
  if (required === undefined || isAllowed(grantedTo(source), required)) return
  throw new InsufficientScopeError(required, wayOut(source))
}

/** Where there is no token to ask for, the author of the program has to give the caller an identity. */
function wayOut({ stream, link }: Source): string | undefined {
  const request = stream?.request
  if (request)
    return request.auth === undefined ? 'The server checks no tokens: pass `auth` to serveHttp().' : undefined
  if (link.transport.auth === undefined) return 'This connection has no identity: pass `auth` to connect().'
  return 'The identity of this connection, its `auth`, does not have it.'
}
