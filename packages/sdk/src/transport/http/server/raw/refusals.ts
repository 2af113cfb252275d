import { ErrorCode } from '../../../../errors.ts'
import { Refusal, refusedCode, sessionNotFoundCode } from '../call.ts'

// Clients and proxies written for the official SDK compare these texts, so they stay as they are there.

export const notFound = (): Refusal => new Refusal(404, sessionNotFoundCode, 'Session not found', null)

export const notInitialized = (): Refusal => refuse(400, 'Bad Request: Server not initialized')

export const missingSessionId = (): Refusal => refuse(400, 'Bad Request: Mcp-Session-Id header is required')

export const alreadyInitialized = (): Refusal => invalidRequest('Invalid Request: Server already initialized')

export const severalInitializations = (): Refusal =>
  invalidRequest('Invalid Request: Only one initialization request is allowed')

export const batchTooLarge = (max: number): Refusal =>
  invalidRequest(`Invalid Request: Batch must not exceed ${max} messages`)

export const invalidJson = (): Refusal => new Refusal(400, ErrorCode.ParseError, 'Parse error: Invalid JSON', null)

export const invalidMessage = (): Refusal =>
  new Refusal(400, ErrorCode.ParseError, 'Parse error: Invalid JSON-RPC message', null)

export const unsupportedVersion = (version: string, supported: readonly string[]): Refusal =>
  refuse(400, `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported.join(', ')})`)

export const bothTypesRequired = (): Refusal =>
  refuse(406, 'Not Acceptable: Client must accept both application/json and text/event-stream')

export const eventStreamRequired = (): Refusal => refuse(406, 'Not Acceptable: Client must accept text/event-stream')

export const jsonRequired = (): Refusal => refuse(415, 'Unsupported Media Type: Content-Type must be application/json')

export const bodyTooLarge = (maxBytes: number): Refusal =>
  new Refusal(
    413,
    refusedCode,
    `Payload Too Large: Request body must not exceed ${maxBytes} bytes`,
    null,
    // The rest of the body stays unread, so the connection cannot be reused.
    { connection: 'close' },
  )

export const streamOpen = (): Refusal => refuse(409, 'Conflict: Only one SSE stream is allowed per session')

export const eventStreamConnected = (): Refusal => refuse(409, 'Conflict: Stream already has an active connection')

export const unknownEvent = (): Refusal => refuse(400, 'Invalid event ID format')

export const replayFailed = (): Refusal => refuse(500, 'Error replaying events')

export const foreignHost = (host: string | undefined): Refusal => refuse(403, `Invalid Host header: ${host}`)

export const foreignOrigin = (origin: string): Refusal => refuse(403, `Invalid Origin header: ${origin}`)

export const methodNotAllowed = (): Refusal =>
  new Refusal(405, refusedCode, 'Method not allowed.', null, { allow: 'GET, POST, DELETE' })

/** The answer to a POST that failed for a reason of ours or of the program. */
export function failed(error: unknown): Refusal {
  const refusal = new Refusal(400, ErrorCode.ParseError, 'Parse error', null)
  refusal.data = String(error)
  return refusal
}

export function noConnection(requestId: unknown): Error {
  return new Error(`No connection established for request ID: ${String(requestId)}`)
}

function refuse(status: number, message: string): Refusal {
  return new Refusal(status, refusedCode, message, null)
}

function invalidRequest(message: string): Refusal {
  return new Refusal(400, ErrorCode.InvalidRequest, message, null)
}
