import { McpError } from '../errors.ts'

/**
 * Stores the messages of streams so that a client can resume one after a disconnect. The method names are those of the
 * official SDK.
 *
 * Every method may return a value or a promise. Anyone who knows an event id can replay its stream, so the caller of
 * the store checks first that the stream belongs to the client.
 */
export interface EventStore {
  /**
   * Stores one message of a stream and returns its event id. Ids are unique within the store, even after a stream was
   * forgotten. The message is JSON text, or empty text for the event that opens a stream; a JSON value is returned as
   * one.
   */
  storeEvent(streamId: string, message: unknown): string | Promise<string>
  /**
   * Replays the messages of the same stream that were stored after the event, in order, and returns the stream id.
   * Awaits each `send` before the next. Messages that are stored during the replay may be left out. Throws
   * `UnknownEventError` if the id is unknown or has expired, or if the replay would have a gap.
   */
  replayEventsAfter(lastEventId: string, to: EventReceiver): string | Promise<string>
  /**
   * Removes the stream with this id and the streams below it: `a/1` removes `a/1` and `a/1/x`, but not `a/10`. Pass a
   * session id to remove all streams of that session.
   */
  forget?(prefix: string): void | Promise<void>
}

/** Receives replayed messages. */
export interface EventReceiver {
  send(eventId: string, message: unknown): void | Promise<void>
}

/** The event is unknown or has expired, so its stream cannot be resumed from there. */
export class UnknownEventError extends McpError {
  override name = 'UnknownEventError'
  readonly eventId: string

  constructor(eventId: string, options?: ErrorOptions) {
    super('invalid-argument', 'Unknown event id: it may have expired, so the stream cannot be resumed from it', options)
    this.eventId = eventId
  }
}

/** The stored state of a session. */
export interface SessionRecord {
  id: string
  /** The owner of the session. Knowing the id is not enough to use it. */
  principal?: string | undefined
  /** Any JSON value. */
  state: unknown
  /** Milliseconds since 1970. */
  createdAt: number
}

/** Stores sessions. Records are copied on the way in and out. Every method may return a value or a promise. */
export interface SessionStore {
  /** Returns a session, or undefined if it does not exist. */
  get(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  /** Creates or replaces a session. It expires after `ttlMs` without another `set` or `touch`. */
  set(record: SessionRecord, ttlMs: number): void | Promise<void>
  /**
   * Replaces a record in one atomic step if it still equals `before`. Returns false, and does nothing, if it was
   * changed or removed. In a store without this method, one of two simultaneous changes may be lost.
   */
  replace?(record: SessionRecord, ttlMs: number, before: SessionRecord): boolean | Promise<boolean>
  /** Restarts the time to live. Returns false if the session does not exist. */
  touch(id: string, ttlMs: number): boolean | Promise<boolean>
  /** Removes a session. Returns false if it did not exist. */
  delete(id: string): boolean | Promise<boolean>
}

/**
 * Stores text values with a time to live, such as the codes and tokens that an authorization server issued. Every
 * method may return a value or a promise.
 */
export interface ValueStore {
  /** Returns a value, or undefined if it does not exist. */
  get(key: string): string | undefined | Promise<string | undefined>
  /** Creates or replaces a value. It expires after `ttlMs`. */
  set(key: string, value: string, ttlMs: number): void | Promise<void>
  /** Returns a value and removes it atomically: of several simultaneous callers, in any process, one gets it. */
  take(key: string): string | undefined | Promise<string | undefined>
  /** Removes a value. */
  delete(key: string): void | Promise<void>
}

/** Carries short messages between all subscribers that share it, in one process or in several. */
export interface Bus {
  /** Sends a message to all subscribers of a topic. */
  publish(topic: string, message: string): void | Promise<void>
  /**
   * Subscribes to a topic, including the messages of this process. Messages of one publisher arrive in order. Returns a
   * function that unsubscribes.
   */
  subscribe(topic: string, listener: (message: string) => void): (() => void) | Promise<() => void>
  /** Removes all subscriptions and closes connections. */
  close?(): void | Promise<void>
}

/** A task as shown in lists. Only `tasks/` knows the contents of `summary`. */
export interface TaskSummary {
  readonly id: string
  readonly owner: string
  /** The list that contains the task, or null if none does. */
  readonly listedFor: string | null
  /** Incremented by every change. */
  readonly version: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When the task is removed, in milliseconds since 1970. Null: never. An expired task is not run. */
  readonly expiresAt: number | null
  /** False once the task has ended. */
  readonly isOpen: boolean
  /** Short JSON text. Lists read nothing else of a task. */
  readonly summary: string
}

/** A stored task. */
export interface TaskEntry extends TaskSummary {
  /** JSON text. Only `tasks/` knows its contents. */
  readonly body: string
}

/** What is written together with a new or changed task. */
export interface TaskWriteOptions {
  /** JSON texts to append to the notes of the task. */
  readonly notes?: readonly string[] | undefined
  /** True to queue the task to run, or to continue. */
  readonly isReady?: boolean | undefined
  /** Default: no limits. */
  readonly limits?: TaskLimits | undefined
}

/**
 * How much a store keeps. Limits are checked atomically with the write. Finished tasks are evicted to make room, in the
 * order in which they finished. If that is not enough, `create` throws `overloaded`; open tasks and the task that just
 * finished are never evicted. Bytes are those of `body`, `summary` and notes.
 */
export interface TaskLimits {
  readonly maxOpenPerOwner: number
  readonly maxOpen: number
  readonly maxFinishedPerOwner: number
  readonly maxFinished: number
  readonly maxBytesPerOwner: number
  readonly maxBytes: number
}

/**
 * Stores tasks and hands them to workers. When a promise resolves, the change is durable and survives a crash of the
 * process, as far as the store itself outlives the process.
 */
export interface TaskStore {
  /** Stores a new task with version 1. Throws `overloaded` if the limits leave no room for it. */
  create(entry: TaskEntry, options?: TaskWriteOptions): Promise<void>
  /** Returns a task, or undefined if it does not exist. */
  get(id: string): Promise<TaskEntry | undefined>
  /**
   * Replaces the entry whose version is one less, atomically with everything in `options`. Returns false, and does
   * nothing, if there is no such entry because another writer was faster or the task is gone.
   */
  replace(entry: TaskEntry, options?: TaskWriteOptions): Promise<boolean>
  /** Returns the notes of a task in order; an empty list if the task does not exist. */
  notes(id: string): Promise<string[]>
  /** Returns one page of a list, oldest first. `after` may name a task that was removed meanwhile. */
  list(listedFor: string, options: { after?: TaskPosition | undefined; limit: number }): Promise<TaskSummary[]>
  /** Returns the number of open tasks of an owner, or of all owners. Reads a counter, so the cost is constant. */
  countOpen(owner?: string): Promise<number>
  /** Returns what the store holds, for monitoring. Without it, `metrics()` of `tasks()` knows only the number of open tasks. */
  usage?(): Promise<TaskStoreUsage>
  /**
   * Runs ready tasks. Owners take turns; within one owner the order is roughly oldest first. One worker at a time runs
   * a task, whatever processes share the store. If that process dies, or does not renew its lease within `leaseMs`,
   * another worker runs the task again. When `run` resolves, the task is no longer ready, unless it was made ready in
   * the meantime. When `run` rejects, the task is retried after a delay.
   */
  work(run: RunTask, options: WorkOptions): Promise<TaskStoreWorker>
  /** Calls the listener for every change of a task and every `publish`, by any process. Returns a function to stop. */
  watch(listener: (id: string, text?: string) => void): Promise<() => void>
  /** Sends text about a task to all watchers. It is not stored. */
  publish(id: string, text: string): void | Promise<void>
  /** Releases connections and files. */
  close?(): void | Promise<void>
}

/** What a task store holds, of all owners and processes. */
export interface TaskStoreUsage {
  readonly open: number
  /** Finished tasks. Those that expired may count until they are removed. */
  readonly finished: number
  /** Bytes of `body`, `summary` and notes. */
  readonly bytes: number
  /** Tasks that are ready and that no worker runs, those that wait for a retry included. */
  readonly queued: number
  /** When the oldest open task was created, in milliseconds since 1970. Undefined if no task is open. */
  readonly oldestOpenAt: number | undefined
}

/** The position of a task in a list. */
export type TaskPosition = Pick<TaskSummary, 'createdAt' | 'id'>

/**
 * Runs one task.
 * @param signal Aborts when the lease was lost and another worker has taken over the task.
 */
export type RunTask = (id: string, signal: AbortSignal) => Promise<void>

/** Options of `TaskStore.work`. */
export interface WorkOptions {
  /** Maximum number of tasks that run at the same time in this process. */
  concurrency: number
  /** How many of them may belong to one owner, so that long tasks do not block other owners. Default `concurrency`. */
  maxPerOwner?: number | undefined
  /** How long a lease lasts without renewal before another worker takes over. Workers renew it three times as often. */
  leaseMs: number
  /** Called with errors of the store. The worker continues. */
  onError(error: unknown): void
}

/** A worker that `TaskStore.work` started. */
export interface TaskStoreWorker {
  /** Takes no more tasks and waits for those that are running. */
  stop(): Promise<void>
}

/** A task that a client created and that had not ended when the client last saw it. */
export interface KnownTask {
  readonly taskId: string
  readonly tool: string
  /** Milliseconds since 1970, by the clock of the client. */
  readonly createdAt: number
}

/**
 * Stores the ids of the open tasks of a client, so that it can resume them after a restart. Use one store for each
 * server and user. Every method may return a value or a promise.
 */
export interface TaskIdStore {
  /** Adds a task. */
  add(task: KnownTask): void | Promise<void>
  /** Removes a task. */
  delete(taskId: string): void | Promise<void>
  /** Returns all tasks, oldest first. */
  list(): KnownTask[] | Promise<KnownTask[]>
}
