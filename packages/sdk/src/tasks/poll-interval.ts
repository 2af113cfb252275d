import type { TaskStore } from '../store/ports.ts'
import { clock } from '../util/clock.ts'

/** How often clients should poll a task. */
export interface PollInterval {
  readonly pollIntervalMs: number
}

/** Each open task adds this to the interval, so that all clients together send about a thousand requests per second. */
const perOpenTaskMs = 1

const maxIntervalMs = 30_000

/** How long the number of open tasks is cached. Other processes create and end tasks too. */
const refreshMs = 1_000

/** The configured interval, or a longer one while many tasks are open. */
export class AdaptivePollInterval implements PollInterval {
  readonly #store: Pick<TaskStore, 'countOpen'>
  readonly #configuredMs: number
  #open = 0
  #refreshedAt = Number.NEGATIVE_INFINITY

  constructor(store: Pick<TaskStore, 'countOpen'>, configuredMs: number) {
    this.#store = store
    this.#configuredMs = configuredMs
  }

  get pollIntervalMs(): number {
    this.#refresh()
    return Math.max(this.#configuredMs, Math.min(Math.round(this.#open * perOpenTaskMs), maxIntervalMs))
  }

  taskCreated(): void {
    this.#open++
  }

  taskEnded(): void {
    if (this.#open > 0) this.#open--
  }

  #refresh(): void {
    const now = clock.monotonic()
    if (now - this.#refreshedAt < refreshMs) return
    this.#refreshedAt = now
    this.#store.countOpen().then(
      (open) => {
        this.#open = open
      },
      // Requests report that the store is unavailable. Until it is back, the last count is good enough.
      () => {},
    )
  }
}
