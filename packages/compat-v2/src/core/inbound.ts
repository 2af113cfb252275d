import { callerMetaProblem } from 'tenon'
import { isObject } from 'tenon/internal'
import { CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY } from './constants.ts'
import { isModernProtocolVersion } from './era.ts'
import { ProtocolErrorCode, UnsupportedProtocolVersionError } from './errors.ts'
import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } from './guards.ts'
import type { JSONRPCNotification, JSONRPCRequest, MessageClassification } from './types.ts'

/** The parts of an HTTP request that decide which era it belongs to. */
export interface InboundHttpRequest {
  httpMethod: string
  protocolVersionHeader?: string
  mcpMethodHeader?: string
  mcpNameHeader?: string
  /** The parsed body. */
  body?: unknown
}

export type InboundLegacyRouteReason = 'http-method' | 'initialize' | 'no-claim' | 'notification' | 'batch' | 'response'

/** A request of a handshake revision. */
export interface InboundLegacyRoute {
  kind: 'legacy'
  reason: InboundLegacyRouteReason
  requestedVersion?: string
}

/** A request of 2026-07-28. */
export type InboundModernRoute =
  | { kind: 'modern'; messageKind: 'request'; message: JSONRPCRequest; classification: MessageClassification }
  | { kind: 'modern'; messageKind: 'notification'; message: JSONRPCNotification; classification: MessageClassification }

/** The checks, in the order in which they run. */
export type InboundValidationRung =
  | 'http-method'
  | 'jsonrpc-shape'
  | 'era-classification'
  | 'envelope'
  | 'method-registry'
  | 'request-params'
  | 'standard-header-validation'
  | 'client-capabilities'
  | 'param-header-validation'

/** A request that no era can serve. */
export interface InboundLadderRejection {
  kind: 'reject'
  rung: InboundValidationRung
  /** A stable name of the reason. */
  cell: string
  httpStatus: number
  code: number
  message: string
  data?: unknown
  settled: boolean
}

export type InboundClassificationOutcome = InboundLegacyRoute | InboundModernRoute | InboundLadderRejection

/** The error code of a header that disagrees with the body. */
export const headerMismatchCode = -32020

/** Decides which era an HTTP request belongs to. The body decides; a header that disagrees is refused. */
export function classifyInboundRequest(request: InboundHttpRequest): InboundClassificationOutcome {
  if (request.httpMethod.toUpperCase() !== 'POST') return { kind: 'legacy', reason: 'http-method' }
  const { body } = request
  const version = trimmed(request.protocolVersionHeader)
  const method = trimmed(request.mcpMethodHeader)
  if (Array.isArray(body)) return classifyBatch(body)
  if (isJSONRPCResponse(body)) return { kind: 'legacy', reason: 'response' }
  if (isJSONRPCRequest(body)) return classifyRequest(body, version, method)
  if (isJSONRPCNotification(body)) return classifyNotification(body, version, method)
  return invalidRequest('invalid-json-rpc-body', 'Bad Request: the request body is not a valid JSON-RPC message')
}

function classifyBatch(body: readonly unknown[]): InboundClassificationOutcome {
  if (body.length === 0) return invalidRequest('empty-batch', 'Bad Request: empty JSON-RPC batch')
  for (const member of body) {
    if (claims(member)) {
      return invalidRequest(
        'batch-with-modern-element',
        'Bad Request: JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later',
      )
    }
    if (!isJSONRPCRequest(member) && !isJSONRPCNotification(member) && !isJSONRPCResponse(member)) {
      return invalidRequest('batch-with-invalid-element', 'Bad Request: JSON-RPC batch contains an invalid message')
    }
  }
  return { kind: 'legacy', reason: 'batch' }
}

function classifyRequest(
  message: JSONRPCRequest,
  header: string | undefined,
  methodHeader: string | undefined,
): InboundClassificationOutcome {
  const meta = metaOf(message)
  const isModernHeader = header !== undefined && isModernProtocolVersion(header)
  if (message.method === 'initialize' && !hasValidModernEnvelope(meta)) {
    return classifyInitialize(message, header, isModernHeader)
  }
  if (!claims(message)) {
    if (isModernHeader) return missingEnvelope(meta, header)
    return { kind: 'legacy', reason: 'no-claim', ...(header !== undefined && { requestedVersion: header }) }
  }
  const problem = envelopeProblem(meta ?? {})
  if (problem) return invalidEnvelope('envelope-invalid', problem)
  const version = meta?.[PROTOCOL_VERSION_META_KEY] as string
  if (header !== undefined && header !== version) {
    return versionMismatch(
      'header-body-version-mismatch',
      header,
      `the body envelope names protocol version ${version}`,
    )
  }
  if (methodHeader !== undefined && methodHeader !== message.method) {
    return methodMismatch('method-header-mismatch', methodHeader, `the body names method ${message.method}`)
  }
  return { kind: 'modern', messageKind: 'request', message, classification: toClassification(version) }
}

function classifyInitialize(
  { params }: JSONRPCRequest,
  header: string | undefined,
  isModernHeader: boolean,
): InboundClassificationOutcome {
  if (isModernHeader) {
    return mismatch(
      'initialize-with-modern-header',
      header!,
      'an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header',
    )
  }
  const requested = params?.protocolVersion
  return {
    kind: 'legacy',
    reason: 'initialize',
    ...(typeof requested === 'string' && { requestedVersion: requested }),
  }
}

function classifyNotification(
  message: JSONRPCNotification,
  header: string | undefined,
  methodHeader: string | undefined,
): InboundClassificationOutcome {
  const isModernHeader = header !== undefined && isModernProtocolVersion(header)
  const hasClaim = claims(message)
  if (!hasClaim && !isModernHeader) {
    return { kind: 'legacy', reason: 'notification', ...(header !== undefined && { requestedVersion: header }) }
  }
  const claimed = hasClaim ? metaOf(message)?.[PROTOCOL_VERSION_META_KEY] : header
  if (typeof claimed !== 'string') {
    const problem = { key: PROTOCOL_VERSION_META_KEY, problem: 'expected a protocol version string' }
    return invalidEnvelope('notification-envelope-invalid', problem)
  }
  if (header !== undefined && header !== claimed) {
    const says = `the notification envelope names protocol version ${claimed}`
    return versionMismatch('notification-header-body-version-mismatch', header, says)
  }
  const classification = toClassification(claimed)
  if (classification.era === 'modern' && methodHeader !== undefined && methodHeader !== message.method) {
    const says = `the notification body names method ${message.method}`
    return methodMismatch('notification-method-header-mismatch', methodHeader, says)
  }
  return { kind: 'modern', messageKind: 'notification', message, classification }
}

/** The refusal of a legacy request by an endpoint that serves 2026-07-28 only; undefined for what can be ignored. */
export function refuseLegacy(
  { reason, requestedVersion: requested }: InboundLegacyRoute,
  supported: readonly string[],
): InboundLadderRejection | undefined {
  switch (reason) {
    case 'http-method':
      return reject('http-method', 'modern-only-method-not-allowed', -32000, 'Method not allowed.', undefined, 405)
    case 'batch':
      return invalidRequest(
        'modern-only-batch-not-supported',
        'Bad Request: JSON-RPC batches are not supported by this endpoint',
      )
    case 'response':
      return invalidRequest(
        'modern-only-response-post',
        'Bad Request: JSON-RPC responses cannot be posted to this endpoint',
      )
    case 'notification':
      return undefined
    default: {
      const cell = 'modern-only-missing-envelope'
      if (requested === undefined) {
        const message = 'Unsupported protocol version: the request did not name a protocol version'
        const code = ProtocolErrorCode.UnsupportedProtocolVersion
        return reject('era-classification', cell, code, message, { supported: [...supported] })
      }
      const error = new UnsupportedProtocolVersionError({ supported: [...supported], requested })
      return reject('era-classification', cell, error.code, error.message, error.data)
    }
  }
}

interface EnvelopeProblem {
  key: string
  problem: string
}

function envelopeProblem(meta: Record<string, unknown>): EnvelopeProblem | undefined {
  for (const key of [PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY]) {
    if (!(key in meta)) return { key, problem: 'missing' }
  }
  if (typeof meta[PROTOCOL_VERSION_META_KEY] !== 'string') {
    return { key: PROTOCOL_VERSION_META_KEY, problem: 'expected a string' }
  }
  const problem = callerMetaProblem(meta)
  if (problem === undefined) return undefined
  const key = Object.keys(meta).find((name) => problem.includes(name)) ?? '_meta'
  return { key, problem }
}

function missingEnvelope(meta: Record<string, unknown> | undefined, header: string): InboundLadderRejection {
  const required = [PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY]
  const missing = meta ? required.filter((key) => !(key in meta)) : ['_meta']
  return reject(
    'envelope',
    'modern-header-without-claim',
    ProtocolErrorCode.InvalidParams,
    `Invalid params: the MCP-Protocol-Version header names protocol revision ${header}, but the request is missing ` +
      `the required per-request envelope key(s): ${missing.join(', ')}`,
    { envelope: { missing } },
  )
}

/** Whether a message names the revision that it is written in. */
export function claims(message: unknown): boolean {
  const meta = metaOf(message)
  return meta !== undefined && PROTOCOL_VERSION_META_KEY in meta
}

export function metaOf(message: unknown): Record<string, unknown> | undefined {
  const params = isObject(message) ? message.params : undefined
  const meta = isObject(params) ? params._meta : undefined
  return isObject(meta) ? meta : undefined
}

export function hasValidModernEnvelope(meta: Record<string, unknown> | undefined): boolean {
  if (!meta || envelopeProblem(meta)) return false
  return isModernProtocolVersion(meta[PROTOCOL_VERSION_META_KEY] as string)
}

function toClassification(revision: string): MessageClassification {
  return { era: isModernProtocolVersion(revision) ? 'modern' : 'legacy', revision }
}

function trimmed(header: string | undefined): string | undefined {
  return header?.replace(/^[ \t]+|[ \t]+$/g, '')
}

function reject(
  rung: InboundValidationRung,
  cell: string,
  code: number,
  message: string,
  data?: unknown,
  httpStatus = 400,
): InboundLadderRejection {
  return { kind: 'reject', rung, cell, httpStatus, code, message, ...(data !== undefined && { data }), settled: true }
}

function invalidRequest(cell: string, message: string): InboundLadderRejection {
  return reject('jsonrpc-shape', cell, ProtocolErrorCode.InvalidRequest, message)
}

function invalidEnvelope(cell: string, problem: EnvelopeProblem): InboundLadderRejection {
  const message = `Invalid _meta envelope for protocol revision 2026-07-28: ${problem.key}: ${problem.problem}`
  return reject('envelope', cell, ProtocolErrorCode.InvalidParams, message, { envelope: problem })
}

/** A header that disagrees with the body is refused, because a proxy may have acted on the header. */
export function mismatch(
  cell: string,
  header: string,
  body: string,
  rung: InboundValidationRung = 'era-classification',
): InboundLadderRejection {
  const message = `Bad Request: the request headers and body disagree: ${body}`
  return reject(rung, cell, headerMismatchCode, message, { mismatch: { header, body } })
}

function versionMismatch(cell: string, header: string, says: string): InboundLadderRejection {
  return mismatch(cell, header, `${says} but the MCP-Protocol-Version header names ${header}`)
}

function methodMismatch(cell: string, header: string, says: string): InboundLadderRejection {
  return mismatch(cell, header, `${says} but the Mcp-Method header names ${header}`)
}
