import { KeptEvents, type Subject, subjectOf } from './kept-events.ts'
import type { InspectorEvent, InspectorFact, WireMessage } from './protocol.ts'

/** Limits of an `EventLog`. */
export interface EventLogOptions {
  /** How many events are kept. Default 100,000. */
  readonly maxEvents?: number | undefined
  /** How many characters of JSON all events may have. Default 256 Mi. */
  readonly maxChars?: number | undefined
  /** The same for the complete texts of events that are shortened in the log. Default 128 Mi. */
  readonly maxCompleteChars?: number | undefined
}

/** A part of the log as JSON lines. */
export interface LogPart {
  readonly text: string
  /** The number of the last event in `text`. */
  readonly last: number
}

/** An event of the log as JSON text. */
export interface LoggedEvent {
  readonly seq: number
  /** With a line break at the end. */
  readonly line: string
  /** What it describes; undefined if it only reports something. */
  readonly subject: Subject | undefined
}

/** A longer message is shortened in the log. */
export const maxMessageChars = 256 * 1024

/** What is left of a message that is shortened. */
const shortenedChars = 16 * 1024

/**
 * Everything that happened, in order, with limited memory. The oldest events are dropped first; what a page needs to show the
 * current state is kept.
 */
export class EventLog {
  readonly #options: Required<EventLogOptions>
  readonly #kept = new KeptEvents()
  readonly #listeners = new Set<() => void>()
  /** Complete texts of events that are shortened, oldest first. */
  readonly #complete = new Map<number, string>()
  #completeChars = 0
  #events: LoggedEvent[] = []
  /** Events before this index were dropped. */
  #head = 0
  #chars = 0
  #last = 0

  constructor(options: EventLogOptions = {}) {
    const { maxEvents = 100_000, maxChars = 256 * mebi, maxCompleteChars = 128 * mebi } = options
    this.#options = { maxEvents, maxChars, maxCompleteChars }
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last
  }

  /** Appends an event, and returns its number. */
  append(fact: InspectorFact): number {
    const seq = ++this.#last
    const at = performance.timeOrigin + performance.now()
    const text = JSON.stringify(fact)
    if (fact.kind === 'message' && text.length > maxMessageChars) this.#addShortened(seq, at, fact, text)
    else this.#add(seq, at, fact, text)
    for (const listener of [...this.#listeners]) listener()
    return seq
  }

  /** Returns an event as JSON, complete if the log still has all of it. Undefined if it was dropped. */
  find(seq: number): string | undefined {
    const complete = this.#complete.get(seq)
    if (complete !== undefined) return complete
    const found = this.#events[this.#head + seq - this.#firstSeq] ?? this.#kept.find(seq)
    return found?.seq === seq ? found.line.trimEnd() : undefined
  }

  /**
   * Returns events after `after` as JSON lines, about `maxChars` of them; undefined if there are none.
   * @param isComplete Whether shortened events are returned with everything that the log still has of them.
   */
  read(after: number, maxChars: number, isComplete = false): LogPart | undefined {
    const lines: string[] = []
    let chars = 0
    let last = after
    const take = ({ seq, line }: LoggedEvent) => {
      const complete = isComplete ? this.#complete.get(seq) : undefined
      const text = complete === undefined ? line : `${complete}\n`
      lines.push(text)
      chars += text.length
      last = seq
      return chars < maxChars
    }
    let isOpen = true
    if (after < this.#firstSeq - 1) {
      for (const event of this.#kept.all()) if (isOpen && event.seq > after) isOpen = take(event)
    }
    let index = this.#head + Math.max(0, after + 1 - this.#firstSeq)
    while (isOpen && index < this.#events.length) isOpen = take(this.#events[index++]!)
    return lines.length === 0 ? undefined : { text: lines.join(''), last }
  }

  /** Calls a function after each event. Returns a function that stops it. */
  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The number of the oldest event that was not dropped. */
  get #firstSeq(): number {
    return this.#events[this.#head]?.seq ?? this.#last + 1
  }

  #addShortened(seq: number, at: number, fact: WireMessage, text: string): void {
    const beginning = (JSON.stringify(fact.message) ?? '').slice(0, shortenedChars)
    const shortened: WireMessage = { ...fact, message: beginning.replace(/[\ud800-\udbff]$/, ''), isShortened: true }
    this.#complete.set(seq, toJson(seq, at, text))
    this.#completeChars += text.length
    for (const [oldest, complete] of this.#complete) {
      if (this.#completeChars <= this.#options.maxCompleteChars) break
      this.#complete.delete(oldest)
      this.#completeChars -= complete.length
    }
    this.#add(seq, at, shortened, JSON.stringify(shortened))
  }

  #add(seq: number, at: number, fact: InspectorFact, text: string): void {
    const line = `${toJson(seq, at, text)}\n`
    this.#events.push({ seq, line, subject: subjectOf(fact) })
    this.#chars += line.length
    const { maxEvents, maxChars } = this.#options
    // The newest event always stays, however large it is.
    while (this.#size > 1 && (this.#size > maxEvents || this.#chars > maxChars)) this.#dropOldest()
  }

  get #size(): number {
    return this.#events.length - this.#head
  }

  #dropOldest(): void {
    const dropped = this.#events[this.#head++]!
    this.#chars -= dropped.line.length
    this.#kept.add(dropped)
    const complete = this.#complete.get(dropped.seq)
    if (complete !== undefined) {
      this.#complete.delete(dropped.seq)
      this.#completeChars -= complete.length
    }
    if (this.#head < compactAt || this.#head < this.#size) return
    this.#events = this.#events.slice(this.#head)
    this.#head = 0
  }
}

const mebi = 1024 * 1024

/** Dropped events are removed from the array in groups. */
const compactAt = 1_000

function toJson(seq: number, at: number, fact: string): string {
  const head = { seq, at } satisfies Pick<InspectorEvent, 'seq' | 'at'>
  return `${JSON.stringify(head).slice(0, -1)},${fact.slice(1)}`
}
