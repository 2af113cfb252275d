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
