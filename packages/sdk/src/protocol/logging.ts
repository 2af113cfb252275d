import type { NotificationParams, RequestParams } from './base.ts'
import type { LoggingLevel } from './log-level.ts'

/** Params of `logging/setLevel`. Until 2025-11-25. */
export interface SetLevelParams extends RequestParams {
  level: LoggingLevel
}

/** Params of `notifications/message`. */
export interface LoggingMessageParams extends NotificationParams {
  level: LoggingLevel
  logger?: string
  /** Any JSON value. */
  data: unknown
}
