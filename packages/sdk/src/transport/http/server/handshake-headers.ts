import { RpcCode } from '../../../errors.ts'
import { isRequest, type RpcRequest } from '../../../jsonrpc/message.ts'
import { type HeaderReader, standardHeadersProblem } from '../../../protocol/mirrored-headers.ts'
import { isObject } from '../../../util/objects.ts'
import { Refusal, refusedCode } from './call.ts'
import type { HttpOptions } from './options.ts'
import type { PostedKind } from './posted-kind.ts'
import type { Revisions } from './revisions.ts'

/**
 * Checks the version header of a request of the handshake era; throws a `Refusal`. An unsupported version is a 400, a missing
 * header means the oldest revision with HTTP (2025-06-18 transports, protocol version header).
 * @param value The message of a POST; undefined for GET and DELETE.
 */
export function checkHandshakeVersion(
  revisions: Revisions,
  version: string | undefined,
  value?: unknown,
  kind?: PostedKind,
): void {
  const id = isRequest(value, kind) ? value.id : undefined
  if (!revisions.hasHandshake) throw handshakeNotServed(revisions, version, value, id)
  if (version === undefined || revisions.eraOf(version) === 'handshake') return
  throw unsupportedVersion(revisions, refusedCode, version, id ?? null)
}

/** Checks `Mcp-Method` and `Mcp-Name`, which are optional in this era; throws a `Refusal`. */
export function checkStandardHeaders(
  { standardHeaders: mode = 'validate' }: HttpOptions,
  value: unknown,
  kind: PostedKind,
  headers: HeaderReader,
): void {
  if (mode === 'ignore' || !isRequest(value, kind)) return
  const isAbsent = headers.header('mcp-method') === undefined && headers.header('mcp-name') === undefined
  if (isAbsent && mode === 'validate') return
  const problem = standardHeadersProblem(value.method, value.params, headers, mode === 'require')
  // The code that the draft of these headers used, before 2026-07-28 assigned another.
  if (problem !== undefined) throw new Refusal(400, -32001, problem, value.id)
}

/** Whether a message opens a session. An `initialize` with a fault opens one too, which answers it and ends. */
export function isInitialize(value: unknown): boolean {
  return isObject(value) && value.method === 'initialize' && value.id !== undefined
}

function handshakeNotServed(
  revisions: Revisions,
  version: string | undefined,
  value: unknown,
  id: RpcRequest['id'] | undefined,
): Refusal {
  if (isInitialize(value)) {
    const requested = (value as RpcRequest).params?.protocolVersion
    return unsupportedVersion(revisions, RpcCode.UnsupportedProtocolVersion, String(requested), id)
  }
  if (version !== undefined) return unsupportedVersion(revisions, RpcCode.UnsupportedProtocolVersion, version, id)
  const supported = revisions.ids
  const message = `The header MCP-Protocol-Version is missing. Supported versions: ${supported.join(', ')}.`
  const refusal = new Refusal(400, RpcCode.HeaderMismatch, message, id)
  refusal.data = { supported }
  return refusal
}

function unsupportedVersion(
  revisions: Revisions,
  code: number,
  version: string,
  id: RpcRequest['id'] | null | undefined,
): Refusal {
  const supported = revisions.ids
  const refusal = new Refusal(
    400,
    code,
    `Unsupported protocol version. Supported versions: ${supported.join(', ')}.`,
    id,
  )
  refusal.data = { supported, requested: version.slice(0, 100) }
  return refusal
}
