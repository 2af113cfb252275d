/** How often a comment is sent on an open event stream, in milliseconds. */
export const DEFAULT_SSE_KEEP_ALIVE_MS = 15_000

/** The longest interval of a timer. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Starts a timer that does not keep the process running.
 *
 * @param intervalMs Less than 1, or not a finite number: there is no timer.
 */
export function armSseKeepAlive(intervalMs: number, onTick: () => void): ReturnType<typeof setInterval> | undefined {
  if (!(intervalMs >= 1 && intervalMs < Number.POSITIVE_INFINITY)) return undefined
  const timer = setInterval(onTick, Math.min(intervalMs, maxTimerMs))
  timer.unref?.()
  return timer
}
