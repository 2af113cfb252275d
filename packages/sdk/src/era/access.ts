import { InsufficientScopeError, includesScopes } from '../protocol/scopes.ts'
import type { Call } from './call.ts'

/** The scopes of a caller. `'all'` stands for the local user of a stdio server, who may do everything. */
export type Granted = readonly string[] | 'all'

type Source = Pick<Call, 'stream' | 'link'>

const none: Granted = Object.freeze([])

/** The scopes of the token, over HTTP. On other transports the connection has one identity, or none. */
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

/**
 * Whether requests of this caller cannot be told from those of others: over HTTP, without an identity and without a session.
 * What belongs to one of them must not be listed.
 */
export function isIndistinct(source: Source): boolean {
  const { stream, link } = source
  return stream?.request !== undefined && principalOf(source) === undefined && link.transport.sessionId === undefined
}

export function isAllowed(granted: Granted, required: readonly string[] | undefined): boolean {
  return required === undefined || granted === 'all' || includesScopes(granted, required)
}

/** Throws an error that names the scopes the client has to request. */
export function checkAccess(source: Source, required: readonly string[] | undefined): void {
  if (required === undefined || isAllowed(grantedTo(source), required)) return
  throw new InsufficientScopeError(required, adviceFor(source))
}

/** Advice for the author of the program, if the client cannot request the scopes itself. */
function adviceFor({ stream, link }: Source): string | undefined {
  const request = stream?.request
  if (request)
    return request.auth === undefined ? 'The server does not check tokens: pass `auth` to serveHttp().' : undefined
  if (link.transport.auth === undefined) return 'This connection has no identity: pass `auth` to connect().'
  return 'The `auth` of this connection does not include it.'
}
