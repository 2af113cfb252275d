import { McpError } from '../errors.ts'

/**
 * Keeps what was sent on streams so that they can be resumed. The names are those users know.
 *
 * Every method may answer at once or with a promise. Whoever knows an event id can replay its stream, so the caller
 * checks that the stream belongs to whom it talks to before anything is sent on.
 */
export interface EventStore {
  /**
   * Keeps one message of a stream and names it. Ids are unique in the store, also after a stream was forgotten. The
   * message is JSON text, or empty text for the event that opens a stream; a JSON value is given back as one.
   */
  storeEvent(streamId: string, message: unknown): string | Promise<string>
  /**
   * Replays in order what was kept after the event, on the same stream only, and gives the stream's id. Each `send` is
   * over before the next begins. What is stored meanwhile need not be among it. Fails with `UnknownEvent` for an id it
   * does not know (any more), and rather than leave a gap.
   */
  replayEventsAfter(lastEventId: string, to: EventReceiver): string | Promise<string>
  /**
   * Forgets the stream of this id and those whose ids continue it after a slash: `a/1` is `a/1` and `a/1/x`, never
   * `a/10`. So a session's id forgets all its streams.
   */
  forget?(prefix: string): void | Promise<void>
}

/** Takes what is replayed. */
export interface EventReceiver {
  send(eventId: string, message: unknown): void | Promise<void>
}

/** The store does not know the event (any more), so what followed it cannot be told. */
export class UnknownEvent extends McpError {
  override name = 'UnknownEvent'
  readonly eventId: string

  constructor(eventId: string, options?: ErrorOptions) {
    super('invalid-argument', 'The event is not known, or no longer: its stream cannot be resumed there', options)
    this.eventId = eventId
  }
}

/** A session as it is kept between requests. */
export interface SessionRecord {
  id: string
  /** Whom the session belongs to; an id alone is never permission. */
  principal?: string | undefined
  /** Any JSON value. */
  state: unknown
  /** Milliseconds since 1970. */
  createdAt: number
}

/** Keeps sessions. Records go in and come out as copies. Every method may answer at once or with a promise. */
export interface SessionStore {
  get(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  /** Creates or replaces; gone after `ttlMs` without another `set` or `touch`. */
  set(record: SessionRecord, ttlMs: number): void | Promise<void>
  /**
   * Replaces a record that still equals `before`, in one step. False, and nothing is done, when it was changed or is gone.
   * Without this method, one of two changes that are made at the same time may be lost.
   */
  replace?(record: SessionRecord, ttlMs: number, before: SessionRecord): boolean | Promise<boolean>
  /** Starts the time to live again. False when the session is not there. */
  touch(id: string, ttlMs: number): boolean | Promise<boolean>
  /** False when the session was not there. */
  delete(id: string): boolean | Promise<boolean>
}

/**
 * Keeps texts under names for a time: what an authorization server has given out. Every method may answer at once or with a
 * promise.
 */
export interface ValueStore {
  get(key: string): string | undefined | Promise<string | undefined>
  /** Creates or replaces; gone after `ttlMs`. */
  set(key: string, value: string, ttlMs: number): void | Promise<void>
  /** Gives it and removes it in one step: of several who ask at once, in whatever process, one gets it. */
  take(key: string): string | undefined | Promise<string | undefined>
  delete(key: string): void | Promise<void>
}

/** Carries short messages between everyone who shares it, in one process or in many. */
export interface Bus {
  publish(topic: string, message: string): void | Promise<void>
  /**
   * Hears the topic from now on, also what this process publishes. Messages of one publisher come in order. Gives the
   * way to stop.
   */
  subscribe(topic: string, listener: (message: string) => void): (() => void) | Promise<() => void>
  close?(): void | Promise<void>
}

/** A task as a list shows it. What `summary` says is known to `tasks/` alone. */
export interface TaskSummary {
  readonly id: string
  /** Whom it belongs to. */
  readonly owner: string
  /** The list that it is in; null: it is in none. */
  readonly listedFor: string | null
  /** One more with every change. */
  readonly version: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** From then on it is not found any more, and is not run. Null: never. */
  readonly expiresAt: number | null
  /** False once it has ended. */
  readonly isOpen: boolean
  /** JSON text, and short: lists read nothing else of a task. */
  readonly summary: string
}

/** A task as it is kept. */
export interface TaskEntry extends TaskSummary {
  /** JSON text. What it says is known to `tasks/` alone. */
  readonly body: string
}

/** What happens together with a change of a task. */
export interface TaskChange {
  /** Appended to what was noted of it; JSON texts. */
  readonly notes?: readonly string[] | undefined
  /** It can run, or can go on. */
  readonly isReady?: boolean | undefined
  /** Default: no limits. */
  readonly limits?: TaskLimits | undefined
}

/**
 * How much a store keeps, checked in one step with the change that asks for it. Finished tasks make room, those that finished
 * first go first. Where that is not enough, `create` fails with `overloaded`; a task that is open or that just finished is
 * always kept. Bytes are those of `body`, `summary` and notes.
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
 * Keeps tasks, and gives them to workers. What a method promises holds when its promise resolves, also if the process dies
 * right then (as far as the store outlives it).
 */
export interface TaskStore {
  /** Keeps a new task of version 1. Fails with `overloaded` where the limits of the change leave no room for it. */
  create(entry: TaskEntry, change?: TaskChange): Promise<void>
  get(id: string): Promise<TaskEntry | undefined>
  /**
   * Puts an entry in the place of the one whose version is one less, with everything else in one step. False, and nothing
   * is done, when there is no such entry: somebody was faster, or it is gone.
   */
  replace(entry: TaskEntry, change?: TaskChange): Promise<boolean>
  /** Everything that was noted, in order; nothing for a task that is not there. */
  notes(id: string): Promise<string[]>
  /** One page of a list, the oldest first, after the task `after` where it is given; one that is gone still has its place. */
  list(listedFor: string, options: { after?: TaskPlace | undefined; limit: number }): Promise<TaskSummary[]>
  /** How many tasks are open: those of an owner, or all. A counter, so that it costs the same however many there are. */
  countOpen(owner?: string): Promise<number>
  /**
   * Runs tasks that are ready: in turn one of each owner that has some, and of one owner about the oldest first. A task is run by one worker at a time, whatever processes share the
   * store; when its process dies, or is not heard of for `leaseMs`, it is run again by another. When `run` resolves the
   * task is not ready any more, unless it was made ready in the meantime. When `run` rejects it is run again after a pause.
   */
  work(run: RunTask, options: WorkOptions): Promise<TaskWorker>
  /** Hears of every change of a task and of what is said about one, by whichever process, from now on. */
  watch(listener: (id: string, said?: string) => void): Promise<() => void>
  /** Says something about a task to everyone who watches. It is not kept. */
  say(id: string, text: string): void | Promise<void>
  close?(): void | Promise<void>
}

/** Where a task stands in the list of its owner. */
export type TaskPlace = Pick<TaskSummary, 'createdAt' | 'id'>

/** @param signal Aborts when the task was given to another worker, because this one was not heard of for too long. */
export type RunTask = (id: string, signal: AbortSignal) => Promise<void>

export interface WorkOptions {
  /** Tasks that run at the same time in this process. */
  concurrency: number
  /** How many of them may be of one owner, so that others need not wait for long tasks to end. Default `concurrency`. */
  maxPerOwner?: number | undefined
  /** How long a worker may be silent before its tasks are given to another. It reports about three times as often. */
  leaseMs: number
  /** Told what goes wrong in the store meanwhile; the worker goes on. */
  onError(error: unknown): void
}

export interface TaskWorker {
  /** Takes no more tasks, and waits for those that run. */
  stop(): Promise<void>
}
