import { random } from './random.ts'
/** How often to retry, and how long to wait before each retry. */
export interface Backoff {
  /** The maximum delay before the first retry. */
  readonly initialDelayMs: number
  /** The maximum delay before any retry. */
  readonly maxDelayMs: number
  /** The factor by which the maximum delay grows with each retry. */
  readonly growth: number
  /** How many retries to make before giving up. */
  readonly maxRetries: number
  /** Whether the delay is a random part of its maximum, so that clients do not retry in unison. Default true. */
  readonly jitter?: boolean | undefined
}

export const defaultBackoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 5 }

/** Returns the delay before a retry: a random part of the current maximum (full jitter), or all of it. */
export function backoffMs({ initialDelayMs, maxDelayMs, growth, jitter = true }: Backoff, attempt: number): number {
  const maxMs = Math.min(maxDelayMs, initialDelayMs * growth ** attempt)
  return jitter ? random.fraction() * maxMs : maxMs
}

/** The maximum delay of a timer. */
export const maxTimerMs = 2_147_483_647
