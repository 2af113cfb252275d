import type { ValueStore } from '../../store/ports.ts'
import type { Sealer } from '../../util/sealer.ts'

/** What strangers can cause to be kept, before anybody has signed in. */
const passing: ReadonlySet<string> = new Set(['form', 'login'])

/** A store whose values nobody can read, change or exchange but those who have the secrets. */
export class Vault {
  readonly #store: ValueStore
  readonly #sealer: Sealer
  readonly #passing: ValueStore

  /** @param passing For what strangers cause, where that must not push out the rest. Default: the same. */
  constructor(store: ValueStore, sealer: Sealer, passing: ValueStore = store) {
    this.#store = store
    this.#sealer = sealer
    this.#passing = passing
  }

  async get<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#open(key, await this.#storeOf(kind).get(key))
  }

  /** Of several who ask, one gets it. */
  async take<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#open(key, await this.#storeOf(kind).take(key))
  }

  async set(kind: string, id: string, value: unknown, ttlMs: number): Promise<void> {
    const key = keyOf(kind, id)
    await this.#storeOf(kind).set(key, await this.#sealer.seal(value, key), ttlMs)
  }

  async delete(kind: string, id: string): Promise<void> {
    await this.#storeOf(kind).delete(keyOf(kind, id))
  }

  #storeOf(kind: string): ValueStore {
    return passing.has(kind) ? this.#passing : this.#store
  }

  async #open<T>(key: string, sealed: string | undefined): Promise<T | undefined> {
    if (sealed === undefined) return undefined
    return (await this.#sealer.open(sealed, key)) as T | undefined
  }
}

function keyOf(kind: string, id: string): string {
  return `broker/${kind}/${id}`
}
