import { ClosedError, PeerError, McpError as TenonError, TimeoutError } from 'tenon/jsonrpc'
import { ErrorCode, McpError } from './errors.ts'

/** The part of a request's options that its errors name. */
interface Limits {
  readonly timeout: number
  readonly maxTotalTimeout?: number | undefined
}

/** Converts an error of Tenon to the one that programs of SDK 1.x expect. Other errors are returned unchanged. */
export function toMcpError(error: unknown, { timeout, maxTotalTimeout }: Limits): unknown {
  if (error instanceof PeerError) return McpError.fromError(error.rpcCode, error.message, error.data)
  if (error instanceof ClosedError) return new McpError(ErrorCode.ConnectionClosed, 'Connection closed')
  if (error instanceof TimeoutError) return timedOut(error, timeout, maxTotalTimeout)
  if (error instanceof TenonError && error.code === 'cancelled') return cancelled(error.cause)
  if (error instanceof TenonError && error.code === 'invalid-response')
    return new McpError(ErrorCode.InvalidRequest, error.message)
  return error
}

function timedOut({ timeoutMs }: TimeoutError, timeout: number, maxTotalTimeout: number | undefined): McpError {
  if (maxTotalTimeout !== undefined && timeoutMs === maxTotalTimeout && timeoutMs !== timeout) {
    const data = { maxTotalTimeout, totalElapsed: timeoutMs }
    return new McpError(ErrorCode.RequestTimeout, 'Maximum total timeout exceeded', data)
  }
  return new McpError(ErrorCode.RequestTimeout, 'Request timed out', { timeout })
}

/** @param reason The reason of the signal that cancelled the request. */
function cancelled(reason: unknown): McpError {
  return reason instanceof McpError ? reason : new McpError(ErrorCode.RequestTimeout, String(reason))
}
