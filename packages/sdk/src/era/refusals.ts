import { ProtocolError, RpcCode } from '../errors.ts'
import type { Revision } from '../protocol/revision.ts'

export function methodNotFound(method: string): ProtocolError {
  return new ProtocolError(RpcCode.MethodNotFound, `Method not found: ${method.slice(0, 100)}`)
}

/** Names what is on offer, so that a client of another age fails with the way out in hand. */
export function unsupportedVersion(requested: string, offered: readonly Revision[]): ProtocolError {
  return refusal(RpcCode.UnsupportedProtocolVersion, 'Unsupported protocol version', requested, offered)
}

/** An `initialize` without any version; a version that is merely unknown is answered with one that is served. */
export function impossibleVersion(requested: unknown, offered: readonly Revision[]): ProtocolError {
  return refusal(RpcCode.InvalidParams, 'params.protocolVersion must be a version', requested, offered)
}

/** 2026-07-28 has no initialize; the versions are named all the same, for the client that comes with it. */
export function noHandshake(requested: unknown, offered: readonly Revision[]): ProtocolError {
  return refusal(RpcCode.MethodNotFound, 'There is no initialize in this revision', requested, offered)
}

function refusal(code: number, what: string, requested: unknown, offered: readonly Revision[]): ProtocolError {
  const supported = offered.map((revision) => revision.id)
  const asked = typeof requested === 'string' ? requested.slice(0, 100) : requested
  return new ProtocolError(code, `${what}; it speaks ${supported.join(', ')}`, { supported, requested: asked })
}
