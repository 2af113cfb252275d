import type { LoggedEvent } from './event-log.ts'
import type { InspectorFact } from './protocol.ts'

/** What an event describes. */
export interface Subject {
  /** Events with the same key describe the same thing: the newest one counts. Undefined if the thing has ended. */
  readonly key?: string | undefined
  /** Events about everything that begins with this text are obsolete. */
  readonly ends?: string | undefined
  /** Everything that begins with this text is finished: a page that is behind still needs it, other pages do not. */
  readonly finishes?: string | undefined
  readonly isTask?: boolean | undefined
}

/** Returns what an event describes; undefined for events that only report something. */
export function subjectOf(fact: InspectorFact): Subject | undefined {
  switch (fact.kind) {
    case 'server-added':
    case 'server-state':
    case 'roots':
      return { key: `server ${fact.server} ${fact.kind} ` }
    case 'server-removed':
      return { key: `server ${fact.server} removed `, ends: `server ${fact.server} ` }
    case 'list': {
      const list = `server ${fact.server} list ${fact.list} `
      return { key: `${list}${fact.offset}`, ...(fact.offset === 0 && { ends: list }) }
    }
    case 'task':
      return { key: `server ${fact.server} task ${fact.task.taskId}`, isTask: true }
    case 'operation':
      return { key: `operation ${fact.operation} started` }
    case 'operation-ended':
      return { key: `operation ${fact.operation} ended`, finishes: `operation ${fact.operation} ` }
    case 'question':
      return { key: `question ${fact.question} asked` }
    case 'question-ended':
      return { key: `question ${fact.question} ended`, finishes: `question ${fact.question} ` }
    default:
      return undefined
  }
}

/** How many tasks are kept after their events were dropped from the log. */
const maxTasks = 1_000

/** How many finished operations and questions are kept, and how many characters their ends may have. The newest always stays. */
const maxFinished = { count: 1_000, chars: 16 * 1024 * 1024 }

/**
 * The part of dropped events that a page needs to show the current state: the servers, their lists, and what is running or
 * ended a short while ago. Without the ends, a page that reads slower than a server sends would show an operation as running
 * for ever. Events have to be added in order.
 */
export class KeptEvents {
  /** Ordered by number. */
  readonly #events = new Map<string, LoggedEvent>()
  readonly #tasks = new Set<string>()
  /** Beginnings of the keys of finished things, oldest first, with the length of the event that finished them. */
  readonly #finished = new Map<string, number>()
  #finishedChars = 0

  /** Keeps an event that the log drops, if it still matters. */
  add(event: LoggedEvent): void {
    const { key, ends, finishes, isTask } = event.subject ?? {}
    if (ends !== undefined) this.#deleteAll(ends)
    if (key === undefined) return
    // A map keeps the position of a key that it has already.
    this.#delete(key)
    this.#events.set(key, event)
    if (isTask) this.#tasks.add(key)
    const [oldest] = this.#tasks
    if (this.#tasks.size > maxTasks && oldest !== undefined) this.#delete(oldest)
    if (finishes !== undefined) this.#finish(finishes, event.line.length)
  }

  /** Returns the events, oldest first. */
  all(): Iterable<LoggedEvent> {
    return this.#events.values()
  }

  /** Returns the event with this number. */
  find(seq: number): LoggedEvent | undefined {
    for (const event of this.#events.values()) if (event.seq === seq) return event
    return undefined
  }

  #finish(beginning: string, chars: number): void {
    this.#finished.set(beginning, chars)
    this.#finishedChars += chars
    for (const [oldest, oldestChars] of this.#finished) {
      const isWithin = this.#finished.size <= maxFinished.count && this.#finishedChars <= maxFinished.chars
      if (isWithin || oldest === beginning) break
      this.#finished.delete(oldest)
      this.#finishedChars -= oldestChars
      this.#deleteAll(oldest)
    }
  }

  #deleteAll(beginning: string): void {
    for (const key of this.#events.keys()) if (key.startsWith(beginning)) this.#delete(key)
  }

  #delete(key: string): void {
    this.#events.delete(key)
    this.#tasks.delete(key)
  }
}
