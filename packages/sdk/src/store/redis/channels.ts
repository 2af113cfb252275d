import { deliver, type Subscription } from '../deliver.ts'
import type { Client } from './connections.ts'

export type Listener = (message: string) => void

/** Subscriptions of one connection, which ioredis renews when it had been lost. */
export class Channels {
  readonly #connect: () => Promise<Client>
  readonly #report: (error: unknown) => void
  readonly #channels = new Map<string, Channel>()
  #client: Promise<Client> | undefined

  constructor(connect: () => Promise<Client>, report: (error: unknown) => void) {
    this.#connect = connect
    this.#report = report
  }

  /** Hears a channel from when this resolves. Gives the way to stop. */
  async subscribe(name: string, listener: Listener): Promise<() => void> {
    this.#client ??= this.#open()
    const client = await this.#client
    const channel = this.#channels.get(name) ?? this.#join(client, name)
    // An object of its own, because a listener may subscribe twice.
    const subscription = { listener }
    channel.subscriptions.add(subscription)
    const stop = () => this.#leave(client, name, channel, subscription)
    try {
      await channel.joined
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  close(): void {
    this.#channels.clear()
  }

  async #open(): Promise<Client> {
    const client = await this.#connect()
    client.on('message', (name: string, message: string) =>
      deliver(this.#channels.get(name)?.subscriptions, message, this.#report),
    )
    return client
  }

  #join(client: Client, name: string): Channel {
    const channel = { subscriptions: new Set<Subscription>(), joined: client.subscribe(name) }
    this.#channels.set(name, channel)
    return channel
  }

  /** Commands of one connection are carried out in order, so who joins again meanwhile is not cut off. */
  #leave(client: Client, name: string, channel: Channel, subscription: Subscription): void {
    const { subscriptions } = channel
    subscriptions.delete(subscription)
    if (subscriptions.size > 0 || this.#channels.get(name) !== channel) return
    this.#channels.delete(name)
    client.unsubscribe(name).catch(() => {})
  }
}

interface Channel {
  readonly subscriptions: Set<Subscription>
  readonly joined: Promise<unknown>
}
