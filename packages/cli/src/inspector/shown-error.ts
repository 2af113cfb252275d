import { HttpError, PeerError } from 'tenon'
import { describeError } from '../exit-codes.ts'
import type { ShownError } from './protocol.ts'

/** An error for the page. */
export function toShownError(error: unknown): ShownError {
  const { code, message } = describeError(error)
  const rpc = error instanceof PeerError ? { code: error.rpcCode, ...withData(error) } : undefined
  const hint = hints[code]
  return { code, message: message.slice(0, maxChars), ...(hint !== undefined && { hint }), ...(rpc && { rpc }) }
}

/** Whether a server refused a connection for lack of a valid token. */
export function isUnauthorized(error: unknown): boolean {
  if (error instanceof HttpError) return error.status === 401 || error.status === 403
  return describeError(error).code === 'auth'
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
