import type { ValueStore } from '../../store/ports.ts'
import type { Sealer } from '../../util/seal.ts'

/** A store whose values nobody can read, change or exchange but those who have the secrets. */
export class Vault {
  readonly #store: ValueStore
  readonly #sealer: Sealer

  constructor(store: ValueStore, sealer: Sealer) {
    this.#store = store
    this.#sealer = sealer
  }

  async get<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#open(key, await this.#store.get(key))
  }

  /** Of several who ask, one gets it. */
  async take<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#open(key, await this.#store.take(key))
  }

  async set(kind: string, id: string, value: unknown, ttlMs: number): Promise<void> {
    const key = keyOf(kind, id)
    await this.#store.set(key, await this.#sealer.seal(value, key), ttlMs)
  }

  async delete(kind: string, id: string): Promise<void> {
    await this.#store.delete(keyOf(kind, id))
  }

  async #open<T>(key: string, sealed: string | undefined): Promise<T | undefined> {
    if (sealed === undefined) return undefined
    return (await this.#sealer.open(sealed, key)) as T | undefined
  }
}

function keyOf(kind: string, id: string): string {
  return `broker/${kind}/${id}`
}
