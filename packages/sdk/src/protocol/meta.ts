import { ErrorCode, ProtocolError } from '../errors.ts'
import type { RequestId } from '../jsonrpc/message.ts'
import { isObject, type JsonObject } from '../util/objects.ts'
import type { ClientCapabilities, Implementation } from './capabilities.ts'
import { type LoggingLevel, loggingLevels } from './logging.ts'
import { id, mustBe, optionalObject } from './value-checks.ts'

/** The `_meta` keys that the specification defines. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  relatedTask: 'io.modelcontextprotocol/related-task',
  modelImmediateResponse: 'io.modelcontextprotocol/model-immediate-response',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
  baggage: 'baggage',
} as const

/** Identifies the request that a progress notification belongs to; numbers are integers. */
export type ProgressToken = string | number

/** Arbitrary metadata; `meta-key.ts` has the grammar of the keys. */
export interface Meta {
  [key: string]: unknown
}

/** `_meta` of request params. */
export interface RequestMeta extends Meta {
  /** Requests progress notifications with this token. */
  progressToken?: ProgressToken
  /** Since 2026-07-28, and required there. */
  [metaKeys.protocolVersion]?: string
  /** Since 2026-07-28, and required there. */
  [metaKeys.clientCapabilities]?: ClientCapabilities
  /** Since 2026-07-28. */
  [metaKeys.clientInfo]?: Implementation
  /** Since 2026-07-28, deprecated from the start; when absent, the server sends no log messages. */
  [metaKeys.logLevel]?: LoggingLevel
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
  /** W3C Trace Context. Since 2026-07-28. */
  [metaKeys.traceparent]?: string
  /** W3C Trace Context. Since 2026-07-28. */
  [metaKeys.tracestate]?: string
  /** W3C Baggage. Since 2026-07-28. */
  [metaKeys.baggage]?: string
}

/** `_meta` of notification params. */
export interface NotificationMeta extends Meta {
  /** The `subscriptions/listen` request that this notification belongs to. Since 2026-07-28. */
  [metaKeys.subscriptionId]?: RequestId
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
}

/** `_meta` of a result. */
export interface ResultMeta extends Meta {
  /** Since 2026-07-28. */
  [metaKeys.serverInfo]?: Implementation
  /** On the result of `subscriptions/listen`. Since 2026-07-28. */
  [metaKeys.subscriptionId]?: RequestId
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
  /** Text for the model while a task runs, on the result that creates the task. 2025-11-25 only. */
  [metaKeys.modelImmediateResponse]?: string
}

/** The task that a message belongs to. 2025-11-25 only. */
export interface RelatedTask {
  taskId: string
}

/** The members of `_meta` that describe the caller of a stateless request, besides the version. */
export interface CallerMeta {
  readonly [metaKeys.clientCapabilities]: ClientCapabilities
  readonly [metaKeys.clientInfo]?: Implementation | undefined
  readonly [metaKeys.logLevel]?: LoggingLevel | undefined
}

/** Describes what is wrong with the `_meta` of a request in any revision; undefined if nothing is. */
export function requestMetaProblem({ _meta }: Readonly<Record<string, unknown>>): string | undefined {
  if (_meta === undefined) return undefined
  if (!isObject(_meta)) return mustBe('params._meta', 'an object', _meta)
  const token = _meta.progressToken
  return token === undefined ? undefined : id(token, 'params._meta.progressToken')
}

/** The same for a notification, in which a progress token has no meaning. */
export function notificationMetaProblem({ _meta }: Readonly<Record<string, unknown>>): string | undefined {
  return optionalObject(_meta, 'params._meta')
}

/** Describes why `_meta` of a request does not describe its caller, as 2026-07-28 requires; undefined if it does. */
export function callerMetaProblem(meta: Readonly<Record<string, unknown>>): string | undefined {
  return capabilitiesProblem(meta) ?? logLevelProblem(meta) ?? clientInfoProblem(meta)
}

/** Throws the error response if `_meta` does not describe the caller (2026-07-28 basic). */
export function checkCallerMeta(meta: JsonObject): asserts meta is JsonObject & CallerMeta {
  const problem = callerMetaProblem(meta)
  if (problem !== undefined) throw new ProtocolError(ErrorCode.InvalidParams, problem)
}

export const invalidVersion = /* @__PURE__ */ memberMustBe(metaKeys.protocolVersion, 'a string')

function capabilitiesProblem(meta: Readonly<JsonObject>): string | undefined {
  return isObject(meta[metaKeys.clientCapabilities])
    ? undefined
    : memberMustBe(metaKeys.clientCapabilities, 'an object')
}

function logLevelProblem(meta: Readonly<JsonObject>): string | undefined {
  const level = meta[metaKeys.logLevel]
  if (level === undefined || loggingLevels.some((known) => known === level)) return undefined
  return memberMustBe(metaKeys.logLevel, `one of ${loggingLevels.join(', ')}`)
}

function clientInfoProblem(meta: Readonly<JsonObject>): string | undefined {
  const info = meta[metaKeys.clientInfo]
  if (info === undefined) return undefined
  const isValid = isObject(info) && typeof info.name === 'string' && typeof info.version === 'string'
  return isValid ? undefined : memberMustBe(metaKeys.clientInfo, 'an object with a name and a version')
}

function memberMustBe(key: string, type: string): string {
  return `params._meta["${key}"] must be ${type}`
}
