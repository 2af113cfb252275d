type Listener<T> = (event: T) => void

/** A minimal typed event emitter. `on` returns a function that removes the listener. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  /** @param onError Receives errors that listeners throw. They affect neither other listeners nor the emitter. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  on<K extends keyof Events>(name: K, listener: Listener<Events[K]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener as Listener<never>)
    return () => void listeners.delete(listener as Listener<never>)
  }

  hasListeners(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as Listener<Events[K]>)(event)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
