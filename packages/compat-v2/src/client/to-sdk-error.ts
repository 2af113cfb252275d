import { HttpError } from 'tenon/client'
import { ClosedError, McpError, PeerError, TimeoutError } from 'tenon/jsonrpc'
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '../core/errors.ts'

/** Converts an error of a request to the classes of this package. Errors of the program stay as they are. */
export function toSdkError(error: unknown, limits: { timeout: number; maxTotalTimeout?: number | undefined }): unknown {
  if (error instanceof PeerError) return ProtocolError.fromError(error.rpcCode, error.message, error.data)
  if (error instanceof TimeoutError) return toTimeout(error, limits)
  if (error instanceof ClosedError) return new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed')
  if (error instanceof HttpError) return toHttpError(error)
  if (error instanceof McpError && error.code === 'cancelled') return toCancelled(error.cause)
  if (error instanceof McpError && error.code === 'invalid-response') {
    return new SdkError(SdkErrorCode.InvalidResult, error.message)
  }
  return error
}

/** The error of a call that the program aborted. */
export function toCancelled(reason: unknown): SdkError {
  return reason instanceof SdkError ? reason : new SdkError(SdkErrorCode.RequestTimeout, String(reason))
}

function toTimeout(
  { timeoutMs }: TimeoutError,
  { timeout, maxTotalTimeout }: { timeout: number; maxTotalTimeout?: number | undefined },
): SdkError {
  if (maxTotalTimeout === undefined || timeoutMs !== maxTotalTimeout || timeoutMs === timeout) {
    return new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out', { timeout })
  }
  const data = { maxTotalTimeout, totalElapsed: maxTotalTimeout }
  return new SdkError(SdkErrorCode.RequestTimeout, 'Maximum total timeout exceeded', data)
}

/**
 * Converts a failed HTTP request. What the provider of tokens, or `fetch`, threw stays as it is.
 * @param maxRetries How often a broken stream is opened again.
 */
export function toHttpError(error: HttpError, maxRetries = 2): Error {
  const { status, statusText = '', method, outcome, cause, body, message } = error
  const { contentType } = error as { contentType?: string }
  if (method === 'GET' && outcome === 'unknown' && (cause === undefined || cause instanceof HttpError)) {
    return new Error(`Maximum reconnection attempts (${maxRetries}) exceeded.`)
  }
  if (outcome === 'unknown' && status !== undefined) return new Error(`SSE stream disconnected: ${rootOf(error)}`)
  if (cause instanceof Error && !(cause instanceof HttpError)) return cause
  if (contentType !== undefined) {
    const what = `Unexpected content type: ${contentType || null}`
    return new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, what, { contentType })
  }
  if (status === undefined) return error
  const data = { status, statusText, text: body ?? '' }
  return new SdkHttpError(...describeRefusal(method, statusText, body ?? message), data)
}

/** The attempt that failed, if an error says that a stream could not be opened again. */
export function failedAttemptOf(error: unknown): HttpError | undefined {
  return error instanceof HttpError && error.outcome === 'refused' && error.cause instanceof HttpError
    ? error.cause
    : undefined
}

/** The error that `fetch` or a stream of it threw. */
function rootOf(error: HttpError): unknown {
  const { cause } = error
  return cause instanceof HttpError ? rootOf(cause) : (cause ?? error)
}

function describeRefusal(method: string | undefined, statusText: string, body: string): [SdkErrorCode, string] {
  if (method === 'GET') {
    return [SdkErrorCode.ClientHttpFailedToOpenStream, `Failed to open SSE stream: ${statusText}`]
  }
  if (method === 'DELETE') {
    return [SdkErrorCode.ClientHttpFailedToTerminateSession, `Failed to terminate session: ${statusText}`]
  }
  return [SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${body}`]
}
