import { ErrorCode } from '../../../errors.ts'
import {
  classify,
  Fault,
  isBatch,
  isRequest,
  type MessageKind,
  type Params,
  type ReceivedKind,
  type RpcNotification,
  type RpcRequest,
} from '../../../jsonrpc/message.ts'
import type { Endpoint, PeerLink, RevisionFacts } from '../../../protocol/endpoint.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import { callerMetaProblem, invalidVersion, metaKeys } from '../../../protocol/meta.ts'
import { type HeaderReader, standardHeadersProblem } from '../../../protocol/mirrored-headers.ts'
import { revisionWithoutHeader } from '../../../protocol/revisions/index.ts'
import { isObject, type JsonObject } from '../../../util/objects.ts'
import { trimWhitespace } from '../../../util/trim-whitespace.ts'
import { Refusal, refusedCode } from './call.ts'
import type { HttpOptions } from './options.ts'

/**
 * Checks the version header of a request of the handshake era; throws a `Refusal`. An unsupported version is a 400, a missing
 * header means the oldest revision with Streamable HTTP (2025-06-18 transports, protocol version header).
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

/** Checks `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`, which are optional in this era; throws a `Refusal`. */
export function checkStandardHeaders(
  { standardHeaders: mode = 'validate' }: HttpOptions,
  endpoint: Endpoint,
  value: unknown,
  kind: PostedKind,
  headers: HttpRequest,
): void {
  if (mode === 'ignore') return
  if (kind === 'batch') return checkBatchHeaders(headers, mode)
  if (kind !== 'request' && kind !== 'notification') return
  const { id, method, params = noParams } = value as RpcRequest | (RpcNotification & { id?: undefined })
  const required = mode === 'require'
  const problem =
    standardHeadersProblem(method, params, headers, required) ??
    endpoint.headersProblem?.(method, params, headers, required)
  // The code that the draft of these headers used, before 2026-07-28 assigned another.
  if (problem !== undefined) throw new Refusal(400, -32001, problem, id)
}

/** These headers describe one message. A proxy that acts on them would not see the other messages of a batch. */
function checkBatchHeaders({ headers }: HttpRequest, mode: 'validate' | 'require'): void {
  const present = Object.keys(headers).find((name) => /^mcp-(?:method$|name$|param-)/.test(name))
  if (present === undefined && mode === 'validate') return
  const problem =
    present === undefined
      ? 'This server requires the header Mcp-Method, which a batch cannot have'
      : `The header ${present} cannot describe a batch`
  throw new Refusal(400, -32001, `${problem}. Send each message of the batch in a request of its own.`, null)
}

const noParams: Params = Object.freeze({})

/** Whether a message opens a session. A malformed `initialize` opens one too: that session sends the error and ends. */
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
    return unsupportedVersion(revisions, ErrorCode.UnsupportedProtocolVersion, String(requested), id)
  }
  if (version !== undefined) return unsupportedVersion(revisions, ErrorCode.UnsupportedProtocolVersion, version, id)
  const supported = revisions.ids
  const message = `The header MCP-Protocol-Version is missing. Supported versions: ${supported.join(', ')}.`
  const refusal = new Refusal(400, ErrorCode.HeaderMismatch, message, id)
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

/** The kind of a message that was posted, before it is known which peer sent it. */
export type PostedKind = MessageKind | 'batch'

/** Classifies the body of a POST. */
export function classifyPosted(value: unknown): PostedKind {
  return Array.isArray(value) ? 'batch' : classify(value)
}

/** The kind as the link receives it. The members of a batch are classified now, because only the link knows its limits. */
export function kindFor(link: PeerLink, value: unknown, kind: PostedKind): ReceivedKind {
  return kind === 'batch' ? link.classify(value) : kind
}

/** Whether a POST contains only notifications and responses, so that it is answered with 202. */
export function expectsNoResponse(kind: ReceivedKind): boolean {
  if (isBatch(kind)) return kind.every((member) => expectsNoResponse(member.kind))
  return kind === 'notification' || kind === 'response'
}

/** The protocol revisions that a server serves, as HTTP looks them up. */
export class Revisions {
  readonly #byId: ReadonlyMap<string, RevisionFacts>
  readonly #newestHandshake: RevisionFacts | undefined

  constructor(newestFirst: readonly RevisionFacts[]) {
    this.#byId = new Map(newestFirst.map((revision) => [revision.id, revision]))
    this.#newestHandshake = newestFirst.find(({ era }) => era === 'handshake')
  }

  /** Newest first. */
  get ids(): string[] {
    return [...this.#byId.keys()]
  }

  get hasHandshake(): boolean {
    return this.#newestHandshake !== undefined
  }

  /** Undefined for a version that is not served. */
  eraOf(version: string): RevisionFacts['era'] | undefined {
    return this.#byId.get(version)?.era
  }

  /** Whether an error about an unreadable message goes without `id`; false for a version that is not served. */
  omitsUnknownId(version: string | undefined): boolean {
    return version !== undefined && this.#byId.get(version)?.omitsUnknownId === true
  }

  /** The revision that a request of the handshake era outside of any session is treated as. Call it only if `hasHandshake`. */
  assumedHandshake(version: string = revisionWithoutHeader): RevisionFacts {
    const found = this.#byId.get(version)
    return found?.era === 'handshake' ? found : this.#newestHandshake!
  }
}

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
    throw new Refusal(400, ErrorCode.InvalidRequest, 'Batches are not supported in this protocol revision')
  }
  if (kind instanceof Fault) throw new Refusal(400, kind.code, kind.message, kind.id)
  if (kind === 'response') {
    throw new Refusal(400, ErrorCode.InvalidRequest, 'Clients cannot send responses in this protocol revision')
  }
  if (isRequest(value, kind)) checkRequest(revisions, value, headers)
  else checkNotification(value as RpcNotification, headers)
  return kind
}

/** Notifications need no headers, but one that is present must match. */
function checkNotification({ method, params }: RpcNotification, headers: HeaderReader): void {
  const problem = standardHeadersProblem(method, params, headers, false)
  if (problem !== undefined) throw new Refusal(400, ErrorCode.HeaderMismatch, problem)
}

function checkRequest(revisions: Revisions, request: RpcRequest, headers: HeaderReader): void {
  const { id, method, params } = request
  const stated = versionOf(headers)
  const meta = metaOf(request) ?? {}
  const version = meta[metaKeys.protocolVersion]
  if (typeof version !== 'string') throw new Refusal(400, ErrorCode.InvalidParams, invalidVersion, id)
  const isServed = isStateless(revisions, version)
  const invalid = isServed ? callerMetaProblem(meta) : undefined
  if (invalid !== undefined) throw new Refusal(400, ErrorCode.InvalidParams, invalid, id)
  if (stated === undefined) throw mismatch(request, 'The header MCP-Protocol-Version is missing')
  if (stated !== version)
    throw mismatch(request, 'The header MCP-Protocol-Version does not match the version in the body')
  // A version that is not served is refused by the era, which lists the versions that are.
  const problem = isServed ? standardHeadersProblem(method, params, headers, true) : undefined
  if (problem !== undefined) throw new Refusal(400, ErrorCode.HeaderMismatch, problem, id)
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
  return new Refusal(400, ErrorCode.HeaderMismatch, message, id)
}
