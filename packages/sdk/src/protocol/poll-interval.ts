const shortestMs = 20
const defaultMs = 1_000
/** A peer that wishes to be asked more rarely is asked so often. */
export const longestPollMs = 60_000

/** How long to wait before asking again how a task stands: as its peer wishes, within reason. */
export function pollMs(wished: unknown): number {
  return Math.min(Math.max(typeof wished === 'number' ? wished : defaultMs, shortestMs), longestPollMs)
}
