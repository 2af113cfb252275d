import { RpcCode } from '../../../errors.ts'
import { Fault, isRequest, type RpcRequest } from '../../../jsonrpc/message.ts'
import { metaKeys } from '../../../protocol/meta.ts'
import { capabilitiesProblem, invalidVersion } from '../../../protocol/meta-check.ts'
import { type HeaderReader, standardHeadersProblem } from '../../../protocol/mirrored-headers.ts'
import { isObject, type JsonObject } from '../../../util/objects.ts'
import { trimWhitespace } from '../../../util/trim-whitespace.ts'
import { Refusal } from './call.ts'
import type { PostedKind } from './posted-kind.ts'
import type { Revisions } from './revisions.ts'

/**
 * Whether a POST belongs to the stateless era: the version header or the `_meta` of the body says so, never the name of the
 * method. A notification or response without either belongs to the handshake era.
 */
export function isStatelessPost(revisions: Revisions, version: string | undefined, value: unknown): boolean {
  if (version !== undefined && isStateless(revisions, version)) return true
  return metaOf(value)?.[metaKeys.protocolVersion] !== undefined
}

/**
 * Runs the checks of 2026-07-28 streamable-http that come before the method is looked up; throws a `Refusal`. A header that
 * disagrees with the body is refused, because a proxy may have acted on the header while we act on the body.
 */
export function checkStatelessPost(
  revisions: Revisions,
  value: unknown,
  kind: PostedKind,
  headers: HeaderReader,
): 'request' | 'notification' {
  if (kind === 'batch') {
    throw new Refusal(400, RpcCode.InvalidRequest, 'Batches are not supported in this protocol revision')
  }
  if (kind instanceof Fault) throw new Refusal(400, kind.code, kind.message, kind.id)
  if (kind === 'response') {
    throw new Refusal(400, RpcCode.InvalidRequest, 'Clients cannot send responses in this protocol revision')
  }
  if (isRequest(value, kind)) checkRequest(revisions, value, headers)
  return kind
}

function checkRequest(revisions: Revisions, request: RpcRequest, headers: HeaderReader): void {
  const { id, method, params } = request
  const stated = versionOf(headers)
  const meta = metaOf(request) ?? {}
  const version = meta[metaKeys.protocolVersion]
  if (typeof version !== 'string') throw new Refusal(400, RpcCode.InvalidParams, invalidVersion, id)
  const isServed = isStateless(revisions, version)
  const missing = isServed ? capabilitiesProblem(meta) : undefined
  if (missing !== undefined) throw new Refusal(400, RpcCode.InvalidParams, missing, id)
  if (stated === undefined) throw mismatch(request, 'The header MCP-Protocol-Version is missing')
  if (stated !== version)
    throw mismatch(request, 'The header MCP-Protocol-Version does not match the version in the body')
  // A version that is not served is refused by the era, which lists the versions that are.
  const problem = isServed ? standardHeadersProblem(method, params, headers, true) : undefined
  if (problem !== undefined) throw new Refusal(400, RpcCode.HeaderMismatch, problem, id)
}

/** The value of the version header, if there is one. */
export function versionOf(headers: HeaderReader): string | undefined {
  const stated = headers.header('mcp-protocol-version')
  return stated === undefined ? undefined : trimWhitespace(stated)
}

function isStateless(revisions: Revisions, version: string): boolean {
  return revisions.eraOf(version) === 'stateless'
}

function metaOf(value: unknown): JsonObject | undefined {
  const params = isObject(value) ? value.params : undefined
  const meta = isObject(params) ? params._meta : undefined
  return isObject(meta) ? meta : undefined
}

function mismatch({ id }: RpcRequest, message: string): Refusal {
  return new Refusal(400, RpcCode.HeaderMismatch, message, id)
}
