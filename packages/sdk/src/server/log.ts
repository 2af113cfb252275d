import type { Call } from '../era/call.ts'
import { warnLate } from '../era/warn-late.ts'
import { isAtLeast, type LoggingLevel, type LoggingMessageParams } from '../protocol/logging.ts'
import { clock } from '../util/clock.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import { warnOnce } from '../util/warn.ts'
import type { Context } from './context.ts'

/** Log messages beyond this rate are dropped (2025-11-25 logging, rate limiting). */
const burst = 200
const perSecond = 100

export type LogMethod = (data: unknown, logger?: string) => void

/** Sends log messages to the client, with one method per level. Messages below the level that the client requested are not sent. */
export interface Log extends Record<LoggingLevel, LogMethod> {}

/** Filters log messages before they are sent: returns the message, a copy without sensitive data, or undefined to drop it. */
export type LogFilter = (message: LoggingMessageParams, ctx: Context | undefined) => LoggingMessageParams | undefined

/** @param threshold Called for each message, because a session may change its level. */
export function createLog(
  call: Call,
  threshold: () => LoggingLevel | undefined,
  filter?: (message: LoggingMessageParams) => LoggingMessageParams | undefined,
): Log {
  let bucket: TokenBucket | undefined
  const at =
    (level: LoggingLevel): LogMethod =>
    (data, logger) => {
      if (!isAtLeast(level, threshold())) return
      if (call.ended) return warnLate('log', call)
      bucket ??= createLogBucket()
      if (!takeLog(bucket)) return
      // `data` is required, and JSON omits undefined.
      const params = { level, ...(logger !== undefined && { logger }), data: data === undefined ? null : data }
      const allowed = filter ? filter(params) : params
      if (allowed) call.notify('notifications/message', { ...allowed })
    }
  return {
    debug: at('debug'),
    info: at('info'),
    notice: at('notice'),
    warning: at('warning'),
    error: at('error'),
    critical: at('critical'),
    alert: at('alert'),
    emergency: at('emergency'),
  }
}

/** Creates the rate limit of one request or server. */
export function createLogBucket(): TokenBucket {
  return new TokenBucket(burst, perSecond, clock.now())
}

/** Returns whether another message may be sent now. */
export function takeLog(bucket: TokenBucket): boolean {
  if (bucket.take(clock.now())) return true
  warnOnce('log-rate', `More than ${perSecond} log messages per second: the excess is dropped.`)
  return false
}
