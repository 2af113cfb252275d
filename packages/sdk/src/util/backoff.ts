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
}

export const defaultBackoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 5 }

/** Returns a random delay up to the current maximum (full jitter), so that clients do not retry in unison. */
export function backoffMs({ initialDelayMs, maxDelayMs, growth }: Backoff, attempt: number): number {
  return random.fraction() * Math.min(maxDelayMs, initialDelayMs * growth ** attempt)
}

/** The maximum delay of a timer. */
export const maxTimerMs = 2_147_483_647
