import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import type { Store } from './store.ts'

/** How long one turn may take, so that the page answers to the user between two turns. */
const turnMs = 10
/** How often the page is drawn while events wait. */
const publishMs = 100

/** Applies events in turns. A server that sends without end fills the queue, but never blocks the page. */
export class Inlet {
  readonly #store: Store
  readonly #schedule: (turn: () => void) => void
  #queue: InspectorEvent[] = []
  #next = 0
  #isScheduled = false
  #publishedAt = 0

  constructor(store: Store, schedule: (turn: () => void) => void = nextTurn) {
    this.#store = store
    this.#schedule = schedule
  }

  push(events: readonly InspectorEvent[]): void {
    for (const event of events) this.#queue.push(event)
    this.#wake()
  }

  /** The number of events that wait. A reader that sees many waits before it reads on. */
  get waiting(): number {
    return this.#queue.length - this.#next
  }

  #wake(): void {
    if (this.#isScheduled || this.waiting === 0) return
    this.#isScheduled = true
    this.#schedule(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    const deadline = performance.now() + turnMs
    while (this.#next < this.#queue.length) {
      const event = this.#queue[this.#next++]
      if (event) this.#store.apply(event)
      if (this.#next % 32 === 0 && performance.now() >= deadline) break
    }
    if (this.waiting === 0) {
      this.#queue = []
      this.#next = 0
    }
    // While more waits, drawing every turn would take longer than reading.
    if (this.waiting === 0 || deadline - this.#publishedAt > publishMs) {
      this.#publishedAt = deadline
      this.#store.publish()
    }
    this.#wake()
  }
}

/** Before the next frame, or soon if the page is in the background, where frames stop. */
function nextTurn(turn: () => void): void {
  if (document.hidden) setTimeout(turn, 50)
  else requestAnimationFrame(turn)
}
