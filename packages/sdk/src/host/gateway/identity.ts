import type { Call } from '../../era/call.ts'
import type { AuthInfo } from '../../protocol/auth-info.ts'
import { accountOf } from '../../util/account.ts'

type Source = Pick<Call, 'stream' | 'link'>

/** Callers that cannot be told apart. */
export const anonymous = 'anonymous'

/**
 * Names who sent a request: a session of the transport, an authenticated user, or a connection of its own, such as stdio.
 * Connections and subscriptions belong to one of them.
 */
export function identityOf({ stream, link }: Source): string {
  const { sessionId } = link.transport
  if (sessionId !== undefined) return `session ${sessionId}`
  const request = stream?.request
  if (!request) return `local ${numberOf(link)}`
  return request.principal === undefined ? anonymous : `user ${request.principal}`
}

/**
 * Names who sent a request in the audit log: the user, if there is one, also in a session. The id of a session is a secret, so
 * only its beginning is recorded. Nothing is kept apart by this name.
 */
export function recordedNameOf(source: Source): string {
  const account = accountOf(source.stream?.request ?? source.link.transport)
  if (account && !account.isAddress) return `user ${account.name}`
  const { sessionId } = source.link.transport
  return sessionId === undefined ? identityOf(source) : `session ${sessionId.slice(0, 8)}`
}

/**
 * Names who receives the updates of a subscription: a caller, or one stream of an anonymous caller. Updates for one such stream
 * must not reach another.
 */
export function audienceOf(source: Source): string {
  const identity = identityOf(source)
  return identity === anonymous ? `${anonymous} ${numberOf(source.link)}` : identity
}

/** The token of the caller, or the identity of its connection. */
export function authOf({ stream, link }: Source): AuthInfo | undefined {
  return stream?.request ? stream.request.auth : link.transport.auth
}

const numbers = new WeakMap<object, number>()
let count = 0

function numberOf(link: object): number {
  const number = numbers.get(link) ?? ++count
  numbers.set(link, number)
  return number
}
