import type { ValueStore } from '../ports.ts'
import type { Connections } from './connections.ts'
import type { Keys } from './keys.ts'
import { toTtl } from './sessions.ts'

/** Stores values in Redis, which removes expired ones. */
export class RedisValueStore implements ValueStore {
  readonly #connections: Connections
  readonly #keys: Keys

  constructor(connections: Connections, keys: Keys) {
    this.#connections = connections
    this.#keys = keys
  }

  async get(key: string): Promise<string | undefined> {
    const client = await this.#connections.commands()
    return (await client.get(this.#keys.value(key))) ?? undefined
  }

  async set(key: string, value: string, ttlMs: number): Promise<void> {
    const client = await this.#connections.commands()
    await client.set(this.#keys.value(key), value, 'PX', toTtl(ttlMs))
  }

  async take(key: string): Promise<string | undefined> {
    const client = await this.#connections.commands()
    return (await client.getdel(this.#keys.value(key))) ?? undefined
  }

  async delete(key: string): Promise<void> {
    const client = await this.#connections.commands()
    await client.del(this.#keys.value(key))
  }
}
