import { metaKeys } from './meta.ts'

/** Params that run a request as a task. */
export interface TaskAugmentation {
  /** 2025-11-25 only. */
  task?: TaskRequest
}

/** Runs a request as a task. 2025-11-25 only. */
export interface TaskRequest {
  /** Requested lifetime of the task, in milliseconds. */
  ttl?: number
}

/**
 * Adds the task that a message belongs to (2025-11-25 tasks, related task).
 * @param related As it came in a message of the peer, or `{ taskId }`.
 */
export function withRelatedTask<T extends { _meta?: unknown }>(message: T, related: unknown): T {
  return { ...message, _meta: { ...(message._meta as object), [metaKeys.relatedTask]: related } }
}
