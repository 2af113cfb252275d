import type { EventLog } from './event-log.ts'
import type { InspectorFact } from './protocol.ts'
import { RateLimit } from './rate-limit.ts'

/** More events than that are left out, so that a server that never stops does not make the page useless. */
const limits = { burst: 10_000, perSecond: 1_000 }

/** An event says how many were left out at most this much later. */
const reportMs = 250

/** Logs what a server causes by itself, as often as a page can show it. */
export class ServerFacts {
  readonly #server: string
  readonly #log: EventLog
  readonly #limit = new RateLimit(limits)
  #timer: NodeJS.Timeout | undefined

  constructor(server: string, log: EventLog) {
    this.#server = server
    this.#log = log
  }

  /**
   * Logs an event, unless there are too many.
   * @param fact The event, or a function that makes it: events that are left out should cost nothing.
   */
  add(fact: InspectorFact | (() => InspectorFact)): void {
    if (this.#limit.take()) {
      this.#report()
      this.#log.append(typeof fact === 'function' ? fact() : fact)
    } else this.#timer ??= setTimeout(() => this.#report(), reportMs).unref()
  }

  #report(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const count = this.#limit.takeLeftOut()
    if (count > 0) this.#log.append({ kind: 'left-out', server: this.#server, count })
  }
}
