import { clock } from './clock.ts'
/** How long to wait before the next try, and how often to try. */
export interface Backoff {
  /** The longest that the first wait may be. */
  readonly initialDelayMs: number
  /** The longest that any wait may be. */
  readonly maxDelayMs: number
  /** By how much each wait may be longer than the one before. */
  readonly growth: number
  /** Tries after the first before giving up. */
  readonly maxRetries: number
}

export const defaultBackoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 5 }

/** Full jitter: anything from nothing to the bound, so that clients that failed together do not come back together. */
export function backoffMs({ initialDelayMs, maxDelayMs, growth }: Backoff, attempt: number): number {
  return Math.random() * Math.min(maxDelayMs, initialDelayMs * growth ** attempt)
}

/** `Retry-After` (RFC 9110, 10.2.3) is a number of seconds or a date; undefined when it is neither. */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now())
}

/** Timers cannot be set for longer. */
export const maxTimerMs = 2_147_483_647
