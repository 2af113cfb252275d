import { signal } from '@preact/signals'

/**
 * Tells components that a view model changed. A model changes its plain data in place for each event and marks itself;
 * subscribers are notified once per batch of events, so that many events cost one render.
 */
export class Changes {
  readonly #version = signal(0)
  #isDirty = false

  mark(): void {
    this.#isDirty = true
  }

  publish(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    this.#version.value++
  }

  /** Subscribes the component that renders now. Returns a number that differs after each change. */
  watch(): number {
    return this.#version.value
  }
}
