import type { TaskHandle } from 'tenon/client'

/** A task as `--json` prints it. */
export function describeTask({ id, newest }: TaskHandle) {
  const { status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = newest
  return { id, status, statusMessage, createdAt, lastUpdatedAt, ttlMs }
}
