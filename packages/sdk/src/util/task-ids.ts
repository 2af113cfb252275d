/** A task that a client created and has not seen end. */
export interface KnownTask {
  readonly taskId: string
  readonly tool: string
  /** Milliseconds since 1970, by the clock of the client. */
  readonly createdAt: number
}

/**
 * Keeps the ids of a client's open tasks, so that it can come back to them after a restart. Use one for each server and user.
 * Every method may answer at once or with a promise.
 */
export interface TaskIdStore {
  add(task: KnownTask): void | Promise<void>
  delete(taskId: string): void | Promise<void>
  /** The oldest first. */
  list(): KnownTask[] | Promise<KnownTask[]>
}
