import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import type { Store } from './store.ts'

/** How long one turn may take, so that the page answers to the user between two turns. */
const turnMs = 10
/** How often the page is drawn at most while events arrive. */
const publishMs = 60

/** Applies events in turns. A server that sends without end fills the queue, but never blocks the page. */
export class Inlet {
  readonly #store: Store
  readonly #schedule: (turn: () => void) => void
  #queue: InspectorEvent[] = []
  #next = 0
  #isScheduled = false
  #publishedAt = Number.NEGATIVE_INFINITY
  #isPublishing = false

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
    this.#publish()
    this.#wake()
  }

  /** Notifies the components, at once after a pause, else when the time has come: drawing takes longer than applying. */
  #publish(): void {
    if (this.#isPublishing) return
    const waitMs = this.#publishedAt + publishMs - performance.now()
    const publish = () => {
      this.#isPublishing = false
      this.#publishedAt = performance.now()
      this.#store.publish()
    }
    if (waitMs <= 0) return publish()
    this.#isPublishing = true
    setTimeout(publish, waitMs)
  }
}

/** Before the next frame, or soon if the page is in the background, where frames stop. */
function nextTurn(turn: () => void): void {
  if (document.hidden) setTimeout(turn, 50)
  else requestAnimationFrame(turn)
}
