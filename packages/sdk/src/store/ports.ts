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
  /** Starts the time to live again. False when the session is not there. */
  touch(id: string, ttlMs: number): boolean | Promise<boolean>
  /** False when the session was not there. */
  delete(id: string): boolean | Promise<boolean>
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
