/**
 * Names of everything in Redis. All of it carries one hash tag, because scripts touch several keys at once and in a
 * cluster those must be on one node; BullMQ asks for the same.
 */
export class Keys {
  /** What every name begins with. */
  readonly root: string
  /** Ids of tasks that are ready, by when to look whether there is a job for them. */
  readonly due: string
  /** The last number given to an event. */
  readonly lastEvent: string
  /** The channel of all changes of tasks. */
  readonly changes: string

  constructor(prefix: string) {
    this.root = `{${prefix}}`
    this.due = `${this.root}:due`
    this.lastEvent = `${this.root}:last-event`
    this.changes = `${this.root}:changes`
  }

  task(id: string): string {
    return `${this.root}:task:${id}`
  }

  notes(id: string): string {
    return `${this.root}:notes:${id}`
  }

  /** The tasks of a list, by when they were made. */
  list(listedFor: string): string {
    return `${this.root}:list:${listedFor}`
  }

  /** The open tasks of an owner, or all, by when they expire. */
  open(owner?: string): string {
    return owner === undefined ? `${this.root}:open` : `${this.root}:open:${owner}`
  }

  session(id: string): string {
    return `${this.root}:session:${id}`
  }

  value(key: string): string {
    return `${this.root}:value:${key}`
  }

  events(streamId: string): string {
    return `${this.root}:events:${streamId}`
  }

  /** The streams whose ids begin alike up to the first slash, by when they expire. */
  streams(group: string): string {
    return `${this.root}:streams:${group}`
  }

  topic(topic: string): string {
    return `${this.root}:topic:${topic}`
  }
}
