import type { TaskStore } from '../store/ports.ts'

/** How often clients are told to ask how a task stands. */
export interface Pace {
  readonly pollIntervalMs: number
}

/** Each open task adds this to the interval, so that all clients together ask about a thousand times a second. */
const perOpenTaskMs = 1

const longestMs = 30_000

/** Until the store is asked again how many tasks are open. Other processes create and end tasks too. */
const refreshMs = 1_000

/** The interval that clients are given: as configured, and longer while many tasks are open. */
export class PollPace implements Pace {
  readonly #store: Pick<TaskStore, 'countOpen'>
  readonly #configuredMs: number
  #open = 0
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(store: Pick<TaskStore, 'countOpen'>, configuredMs: number) {
    this.#store = store
    this.#configuredMs = configuredMs
  }

  get pollIntervalMs(): number {
    this.#refresh()
    return Math.max(this.#configuredMs, Math.min(Math.round(this.#open * perOpenTaskMs), longestMs))
  }

  created(): void {
    this.#open++
  }

  ended(): void {
    if (this.#open > 0) this.#open--
  }

  #refresh(): void {
    const now = performance.now()
    if (now - this.#askedAt < refreshMs) return
    this.#askedAt = now
    this.#store.countOpen().then(
      (open) => {
        this.#open = open
      },
      // The store is away; whoever asked for a task is told so. The last count is good enough meanwhile.
      () => {},
    )
  }
}
