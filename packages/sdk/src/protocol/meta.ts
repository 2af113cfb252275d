import type { RequestId } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation } from './capabilities.ts'
import type { LoggingLevel } from './log-level.ts'

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
