import type { InspectorEvent, SavedTranscript } from '../../../src/inspector/protocol.ts'
import { BoundedList } from './bounded-list.ts'

const maxEvents = 300_000

/** The events of the page, as they go into a saved transcript. */
export class EventLog {
  readonly #events = new BoundedList<InspectorEvent>(maxEvents)
  #lastSeq = 0

  /** The number of the newest event. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Adds an event. Returns false for one that is there already, which happens after the stream was interrupted. */
  add(event: InspectorEvent): boolean {
    if (event.seq <= this.#lastSeq) return false
    this.#lastSeq = event.seq
    this.#events.push(event)
    return true
  }

  toTranscript(): SavedTranscript {
    return { format: 'tenon-inspector', version: 1, events: this.#events.items }
  }
}

/** Reads a saved transcript. Throws an error for the user if the text is something else. */
export function parseTranscript(text: string): SavedTranscript {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error('Not a transcript: the file is not JSON.', { cause })
  }
  if (!isTranscript(value)) throw new Error('Not a transcript: save one with "Save transcript" and load that file.')
  return value
}

function isTranscript(value: unknown): value is SavedTranscript {
  if (typeof value !== 'object' || value === null) return false
  if (!('format' in value) || value.format !== 'tenon-inspector' || !('version' in value) || value.version !== 1)
    return false
  return 'events' in value && Array.isArray(value.events) && value.events.every(isEvent)
}

function isEvent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'seq' in value && 'at' in value && 'kind' in value
}
