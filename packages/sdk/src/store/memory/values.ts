import { clock } from '../../util/clock.ts'
import type { ValueStore } from '../ports.ts'

/** Options of `MemoryValueStore`. */
export interface MemoryValueStoreOptions {
  /** Maximum number of values. Beyond it the value that was set first is removed. Default 100,000. */
  maxValues?: number | undefined
  /** Maximum size of all keys and values, counted as two bytes per character. Default 64 MiB. */
  maxBytes?: number | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/** Number of `set` calls between two sweeps for expired values. */
const valuesBetweenSweeps = 1_000

/**
 * Keeps values in the memory of this process. They are lost when it exits. Expired ones are removed on access, without
 * timers.
 */
export class MemoryValueStore implements ValueStore {
  readonly #maxValues: number
  readonly #maxBytes: number
  readonly #now: () => number
  /** In the order in which they were set. */
  readonly #values = new Map<string, StoredValue>()
  #bytes = 0
  #untilSweep = valuesBetweenSweeps

  constructor(options: MemoryValueStoreOptions = {}) {
    this.#maxValues = options.maxValues ?? 100_000
    this.#maxBytes = options.maxBytes ?? 64 * 1024 * 1024
    this.#now = options.now ?? (() => clock.now())
  }

  /** Current number of values and bytes, including expired values that were not removed yet. */
  get usage(): { values: number; bytes: number } {
    return { values: this.#values.size, bytes: this.#bytes }
  }

  get(key: string): string | undefined {
    const stored = this.#values.get(key)
    if (!stored || this.#now() < stored.expiresAt) return stored?.text
    this.delete(key)
    return undefined
  }

  set(key: string, value: string, ttlMs: number): void {
    this.delete(key)
    if (--this.#untilSweep <= 0) this.#sweep()
    this.#values.set(key, { text: value, expiresAt: this.#now() + ttlMs })
    this.#bytes += (key.length + value.length) * 2
    this.#makeRoom()
  }

  take(key: string): string | undefined {
    const value = this.get(key)
    this.delete(key)
    return value
  }

  delete(key: string): void {
    const stored = this.#values.get(key)
    if (!stored) return
    this.#values.delete(key)
    this.#bytes -= (key.length + stored.text.length) * 2
  }

  #makeRoom(): void {
    for (const key of this.#values.keys()) {
      if (this.#values.size <= this.#maxValues && this.#bytes <= this.#maxBytes) return
      this.delete(key)
    }
  }

  #sweep(): void {
    this.#untilSweep = valuesBetweenSweeps
    const now = this.#now()
    for (const [key, { expiresAt }] of this.#values) if (now >= expiresAt) this.delete(key)
  }
}

interface StoredValue {
  readonly text: string
  readonly expiresAt: number
}
