import type { ValueStore } from '../../store/ports.ts'
import type { Sealer } from '../../util/sealer.ts'

/** Kinds of values that strangers can create before anyone has signed in. */
const temporaryKinds: ReadonlySet<string> = new Set(['form', 'login'])

/** Encrypts values, so that only holders of the secrets can read, change or swap them. */
export class EncryptedStore {
  readonly #store: ValueStore
  readonly #sealer: Sealer
  readonly #temporary: ValueStore

  /** @param temporary Holds values that strangers can create, so that they cannot evict the others. Default: `store`. */
  constructor(store: ValueStore, sealer: Sealer, temporary: ValueStore = store) {
    this.#store = store
    this.#sealer = sealer
    this.#temporary = temporary
  }

  async get<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#decrypt(key, await this.#storeOf(kind).get(key))
  }

  /** Returns and removes a value. Of several concurrent calls, only one gets it. */
  async take<T>(kind: string, id: string): Promise<T | undefined> {
    const key = keyOf(kind, id)
    return this.#decrypt(key, await this.#storeOf(kind).take(key))
  }

  async set(kind: string, id: string, value: unknown, ttlMs: number): Promise<void> {
    const key = keyOf(kind, id)
    await this.#storeOf(kind).set(key, await this.#sealer.seal(value, key), ttlMs)
  }

  async delete(kind: string, id: string): Promise<void> {
    await this.#storeOf(kind).delete(keyOf(kind, id))
  }

  #storeOf(kind: string): ValueStore {
    return temporaryKinds.has(kind) ? this.#temporary : this.#store
  }

  async #decrypt<T>(key: string, sealed: string | undefined): Promise<T | undefined> {
    if (sealed === undefined) return undefined
    return (await this.#sealer.open(sealed, key)) as T | undefined
  }
}

function keyOf(kind: string, id: string): string {
  return `broker/${kind}/${id}`
}
