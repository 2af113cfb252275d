import { ErrorCode, isResourceNotFound, McpError, ProtocolError } from '../../errors.ts'

/** The error for a resource that does not exist, or that the caller may not see: the two must not differ. */
export function resourceNotFound(uri: string): ProtocolError {
  return new ProtocolError(ErrorCode.ResourceNotFound, `Resource not found: ${uri.slice(0, 200)}`, { uri })
}

/**
 * Replaces errors of the host and of servers about a resource that does not exist. Those of the host name servers that the caller may
 * not know, and those of servers have the URI and the error code of their side.
 */
export function toResourceError(error: unknown, uri: string): unknown {
  return isUnknown(error) || isResourceNotFound(error) ? resourceNotFound(uri) : error
}

/** Replaces the error of the host about an unknown prompt or template, which suggests names that the caller may not know. */
export function toReferenceError(error: unknown): unknown {
  return isUnknown(error) ? new ProtocolError(ErrorCode.InvalidParams, 'Unknown prompt or resource template') : error
}

/** Whether an error of the host says that a name or URI does not exist. */
export function isUnknown(error: unknown): boolean {
  return error instanceof McpError && error.code === 'invalid-argument'
}
