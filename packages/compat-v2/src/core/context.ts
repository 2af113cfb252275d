import type { StandardSchemaV1 } from './standard-schema.ts'
import type { TransportSendOptions } from './transport.ts'
import type {
  AuthInfo,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  LoggingLevel,
  Notification,
  Progress,
  Request,
  RequestId,
  RequestMeta,
  RequestMetaEnvelope,
  RequestMethod,
  ResultTypeMap,
} from './types.ts'

export type ProgressCallback = (progress: Progress) => void

/** Options of every protocol object. */
export type ProtocolOptions = {
  /** The revisions that this side supports, in order of preference. */
  supportedProtocolVersions?: string[]
  /** Rejects requests that need a capability which the other side did not declare. Default false. */
  enforceStrictCapabilities?: boolean
  /** Notifications without params that are sent once per tick, however often they are requested. */
  debouncedNotificationMethods?: string[]
}

/** Options of one outgoing request. */
export type RequestOptions = {
  onprogress?: ProgressCallback
  /** Cancels the request and notifies the other side. */
  signal?: AbortSignal
  /** Milliseconds to wait for the response. Default 60,000. */
  timeout?: number
  /** Whether progress starts the timeout again. Default false. */
  resetTimeoutOnProgress?: boolean
  /** Milliseconds to wait in total, even with progress. Default: no limit. */
  maxTotalTimeout?: number
  /** Returns an `input_required` result as it is, instead of answering it. */
  allowInputRequired?: boolean
} & TransportSendOptions

export type NotificationOptions = {
  /** The request of the other side that the notification belongs to. */
  relatedRequestId?: RequestId
}

/** Returns what an earlier round of the same request stored: the decoded value, or the text if nothing decodes it. */
export type RequestStateAccessor = <T = unknown>() => T | undefined

/** What a handler knows about the request that it answers. */
export type BaseContext = {
  sessionId?: string
  mcpReq: {
    id: RequestId
    method: string
    _meta?: RequestMeta
    /** What the request says about its sender (2026-07-28). */
    envelope?: Partial<RequestMetaEnvelope>
    /** The answers of the client to an earlier `input_required` result. */
    inputResponses?: Record<string, unknown>
    /** Keys of answers that were malformed. */
    droppedInputResponseKeys?: string[]
    requestState: RequestStateAccessor
    signal: AbortSignal
    /** Sends a request that belongs to this one. */
    send: {
      <M extends RequestMethod>(
        request: { method: M; params?: Record<string, unknown> },
        options?: RequestOptions,
      ): Promise<ResultTypeMap[M]>
      <T extends StandardSchemaV1>(
        request: Request,
        resultSchema: T,
        options?: RequestOptions,
      ): Promise<StandardSchemaV1.InferOutput<T>>
    }
    /** Sends a notification that belongs to this request. */
    notify: (notification: Notification) => Promise<void>
  }
  http?: {
    authInfo?: AuthInfo
  }
}

/** The context of handlers in a server. */
export type ServerContext = BaseContext & {
  mcpReq: {
    /** Sends a log message that belongs to this request, if the client wants messages of its level. */
    log: (level: LoggingLevel, data: unknown, logger?: string) => Promise<void>
    /** Asks the user. Not available on 2026-07-28, where a handler returns `inputRequired(...)`. */
    elicitInput: (
      params: ElicitRequestFormParams | ElicitRequestURLParams,
      options?: RequestOptions,
    ) => Promise<ElicitResult>
    /** Asks the model of the client. Not available on 2026-07-28, where a handler returns `inputRequired(...)`. */
    requestSampling: (
      params: CreateMessageRequestParams,
      options?: RequestOptions,
    ) => Promise<CreateMessageResult | CreateMessageResultWithTools>
  }
  http?: {
    req?: globalThis.Request
    closeSSE?: () => void
    closeStandaloneSSE?: () => void
  }
}

/** The context of handlers in a client. */
export type ClientContext = BaseContext
