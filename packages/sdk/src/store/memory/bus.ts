import { warnOnce } from '../../util/warn.ts'
import { deliver, type Subscription } from '../deliver.ts'
import type { Bus } from '../ports.ts'

/** Options of `MemoryBus`. */
export interface MemoryBusOptions {
  /** Called with errors that listeners throw. Default: logs a warning once per process. */
  onError?: ((error: unknown) => void) | undefined
}

/** A message bus within one process. `publish` calls the listeners synchronously. */
export class MemoryBus implements Bus {
  readonly #topics = new Map<string, Set<Subscription>>()
  readonly #onError: (error: unknown) => void
  readonly #queue: Array<{ topic: string; message: string }> = []
  #isPublishing = false

  constructor(options: MemoryBusOptions = {}) {
    this.#onError = options.onError ?? warnAboutListener
  }

  publish(topic: string, message: string): void {
    this.#queue.push({ topic, message })
    // Messages that a listener publishes are queued, so that all listeners receive them in the same order.
    if (this.#isPublishing) return
    this.#isPublishing = true
    try {
      for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
        deliver(this.#topics.get(next.topic), next.message, this.#onError)
      }
    } finally {
      this.#isPublishing = false
    }
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    const subscriptions = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, subscriptions)
    const subscription = { listener }
    subscriptions.add(subscription)
    return () => {
      subscriptions.delete(subscription)
      if (subscriptions.size === 0 && this.#topics.get(topic) === subscriptions) this.#topics.delete(topic)
    }
  }

  /** Removes all subscriptions. */
  close(): void {
    for (const subscriptions of this.#topics.values()) subscriptions.clear()
    this.#topics.clear()
  }
}

function warnAboutListener(error: unknown): void {
  warnOnce('bus-listener', `A bus listener threw an error: ${error}. Pass "onError" to receive all such errors.`)
}
