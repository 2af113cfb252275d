import { ErrorCode, ProtocolError } from '../errors.ts'
import type { Revision } from '../protocol/revision.ts'

export function methodNotFound(method: string): ProtocolError {
  return new ProtocolError(ErrorCode.MethodNotFound, `Method not found: ${method.slice(0, 100)}`)
}

/** Lists the supported versions, so that the client can choose one of them. */
export function unsupportedVersion(requested: string, offered: readonly Revision[]): ProtocolError {
  return versionError(ErrorCode.UnsupportedProtocolVersion, 'Unsupported protocol version', requested, offered)
}

/** For an `initialize` without a version. An unknown version is not an error: the server answers with one it supports. */
export function invalidVersion(requested: unknown, offered: readonly Revision[]): ProtocolError {
  return versionError(ErrorCode.InvalidParams, 'params.protocolVersion must be a protocol version', requested, offered)
}

/** 2026-07-28 has no `initialize`. The error lists the versions, for clients that expect one. */
export function noHandshake(requested: unknown, offered: readonly Revision[]): ProtocolError {
  return versionError(ErrorCode.MethodNotFound, 'Method not found: initialize', requested, offered)
}

function versionError(code: number, what: string, requested: unknown, offered: readonly Revision[]): ProtocolError {
  const supported = offered.map((revision) => revision.id)
  const sent = typeof requested === 'string' ? requested.slice(0, 100) : requested
  return new ProtocolError(code, `${what}. Supported versions: ${supported.join(', ')}.`, {
    supported,
    requested: sent,
  })
}
