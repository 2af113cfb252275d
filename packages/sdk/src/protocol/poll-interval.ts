const shortestMs = 20
const defaultMs = 1_000
/** The longest poll interval, whatever a peer suggests. */
export const longestPollMs = 60_000

/** Returns the interval for polling a task: what the peer suggests, within limits. */
export function pollMs(suggested: unknown): number {
  return Math.min(Math.max(typeof suggested === 'number' ? suggested : defaultMs, shortestMs), longestPollMs)
}
