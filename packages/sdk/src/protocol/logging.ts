import type { NotificationParams, RequestParams } from './base.ts'

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

/** Log levels in order of increasing severity, as in RFC 5424. */
export const loggingLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** The severity of a log message; {@link loggingLevels} has the order. */
export type LoggingLevel = (typeof loggingLevels)[number]

/** Returns whether a level reaches the threshold. No level reaches `undefined`. */
export function isAtLeast(level: LoggingLevel, threshold: LoggingLevel | undefined): boolean {
  return threshold !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(threshold)
}
