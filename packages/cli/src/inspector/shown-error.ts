import { HttpError, PeerError } from 'tenon'
import { describeError, isAuthorizationError } from '../exit-codes.ts'
import type { ShownError } from './protocol.ts'

/** An error for the page. */
export function toShownError(error: unknown): ShownError {
  const { code, message: found } = describeError(error)
  const message = needsLogin(error) ? 'The server requires a login.' : found
  const rpc = error instanceof PeerError ? { code: error.rpcCode, ...withData(error) } : undefined
  const hint = hints[code]
  return { code, message: message.slice(0, maxChars), ...(hint !== undefined && { hint }), ...(rpc && { rpc }) }
}

/** Whether a server refused a connection for lack of a valid token. */
export function isUnauthorized(error: unknown): boolean {
  if (error instanceof HttpError) return error.status === 401 || error.status === 403
  return describeError(error).code === 'auth'
}

/**
 * Why a server that requires authorization cannot be used, for the page.
 * @returns Undefined if the user has simply not logged in yet.
 */
export function toLoginError(error: unknown, headers: Readonly<Record<string, string>>): ShownError | undefined {
  const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  if (!needsLogin(error)) return toShownError(error)
  return hasToken ? { ...toShownError(error), message: 'The server does not accept the token.' } : undefined
}

/** The message is for authors of clients: it names functions of the library. */
function needsLogin(error: unknown): boolean {
  return isAuthorizationError(error) && error.message.startsWith('Login required')
}

const maxChars = 20_000

/** The hints of the command line name its options, which the page does not have. */
const hints: Readonly<Record<string, string>> = {
  'spawn-failed': 'Pass a URL, a command such as "node server.js", a file, or the name of a server in a config file.',
  auth: 'Log in, or connect with a header such as "Authorization: Bearer <token>".',
}

function withData({ data }: PeerError): { data?: unknown } {
  return data === undefined ? {} : { data }
}
