import type { Call } from '../../era/call.ts'
import type { AuthInfo } from '../../protocol/auth-info.ts'

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
