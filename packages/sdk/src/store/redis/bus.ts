import type { Bus } from '../ports.ts'
import type { Channels } from './channels.ts'
import type { Connections } from './connections.ts'
import type { Keys } from './keys.ts'

/** A message bus for all processes that share the Redis. A process misses messages while it is disconnected. */
export class RedisBus implements Bus {
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #keys: Keys

  constructor(connections: Connections, channels: Channels, keys: Keys) {
    this.#connections = connections
    this.#channels = channels
    this.#keys = keys
  }

  async publish(topic: string, message: string): Promise<void> {
    const client = await this.#connections.commands()
    await client.publish(this.#keys.topic(topic), message)
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<() => void> {
    return this.#channels.subscribe(this.#keys.topic(topic), listener)
  }
}
