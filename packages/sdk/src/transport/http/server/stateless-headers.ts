import { RpcCode } from '../../../errors.ts'
import { Fault, kindOf, type RpcRequest } from '../../../jsonrpc/message.ts'
import { metaKeys } from '../../../protocol/meta.ts'
import { capabilitiesProblem, invalidVersion } from '../../../protocol/meta-check.ts'
import { type HeaderReader, standardHeadersProblem } from '../../../protocol/mirrored-headers.ts'
import { isObject, type JsonObject } from '../../../util/objects.ts'
import { trimWhitespace } from '../../../util/trim-whitespace.ts'
import { Refusal } from './call.ts'
import type { Revisions } from './revisions.ts'

/**
 * Whether a POST belongs to the stateless era: the version header or the body's own `_meta` says so, never the method's
 * name. A stray notification or answer decides nothing.
 */
export function isModern(revisions: Revisions, version: string | undefined, value: unknown): boolean {
  if (version !== undefined && isStateless(revisions, version)) return true
  return metaOf(value)?.[metaKeys.protocolVersion] !== undefined
}

/**
 * The checks of 2026-07-28 streamable-http that come before the method is looked up; throws a `Refusal`. The body has the
 * last word in everything (2026-07-28 basic, `_meta`), so a header that disagrees with it is refused: someone on the way
 * may have acted on the header.
 */
export function checkModern(revisions: Revisions, value: unknown, headers: HeaderReader): 'request' | 'notification' {
  const kind = Array.isArray(value)
    ? new Fault(RpcCode.InvalidRequest, 'This revision has no batches: send one message at a time')
    : kindOf(value)
  if (kind instanceof Fault) throw new Refusal(400, kind.code, kind.message, kind.id)
  if (kind === 'response') throw new Refusal(400, RpcCode.InvalidRequest, 'This revision has no responses of clients')
  if (kind === 'notification') return kind
  checkRequest(revisions, value as RpcRequest, headers)
  return kind
}

function checkRequest(revisions: Revisions, request: RpcRequest, headers: HeaderReader): void {
  const { id, method, params } = request
  const said = versionOf(headers)
  const meta = metaOf(request) ?? {}
  const version = meta[metaKeys.protocolVersion]
  if (typeof version !== 'string') throw new Refusal(400, RpcCode.InvalidParams, invalidVersion, id)
  const isServed = isStateless(revisions, version)
  const missing = isServed ? capabilitiesProblem(meta) : undefined
  if (missing !== undefined) throw new Refusal(400, RpcCode.InvalidParams, missing, id)
  if (said === undefined) throw mismatch(request, 'The header MCP-Protocol-Version is missing')
  if (said !== version) throw mismatch(request, 'The header MCP-Protocol-Version is not the version in the body')
  // A version that is not served is refused by the era, which knows what to offer instead.
  const problem = isServed ? standardHeadersProblem(method, params, headers, true) : undefined
  if (problem !== undefined) throw new Refusal(400, RpcCode.HeaderMismatch, problem, id)
}

/** What the version header says, if it is there. */
export function versionOf(headers: HeaderReader): string | undefined {
  const said = headers.header('mcp-protocol-version')
  return said === undefined ? undefined : trimWhitespace(said)
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
