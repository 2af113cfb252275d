/**
 * The names of all keys and channels in Redis. All have the same hash tag, because scripts access several keys at once,
 * which in a cluster must be on one node. BullMQ requires the same.
 */
export class Keys {
  /** The prefix of every name. */
  readonly root: string
  /** The ids of ready tasks, scored by when to check that they have a job. */
  readonly due: string
  /** The number of the newest event. */
  readonly lastEvent: string
  /** The channel for changes of tasks. */
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

  /** The tasks of a list, scored by creation time. */
  list(listedFor: string): string {
    return `${this.root}:list:${listedFor}`
  }

  /** The open tasks of an owner, or of all owners, scored by expiry. */
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

  /** The streams whose ids have the same first segment, scored by expiry. */
  streams(group: string): string {
    return `${this.root}:streams:${group}`
  }

  topic(topic: string): string {
    return `${this.root}:topic:${topic}`
  }
}
