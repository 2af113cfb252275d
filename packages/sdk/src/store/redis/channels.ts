import { deliver, type Subscription } from '../deliver.ts'
import type { Client } from './connections.ts'

/** Receives the messages of a channel. */
export type Listener = (message: string) => void

/** The subscriptions of one connection. After a reconnect, ioredis restores them. */
export class Channels {
  readonly #connect: () => Promise<Client>
  readonly #report: (error: unknown) => void
  readonly #channels = new Map<string, Channel>()
  #client: Promise<Client> | undefined

  constructor(connect: () => Promise<Client>, report: (error: unknown) => void) {
    this.#connect = connect
    this.#report = report
  }

  /** Subscribes to a channel, effective when the promise resolves. Returns a function that unsubscribes. */
  async subscribe(name: string, listener: Listener): Promise<() => void> {
    this.#client ??= this.#open()
    const client = await this.#client
    const channel = this.#channels.get(name) ?? this.#join(client, name)
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

  /** Commands on one connection run in order, so a new subscription in the meantime is not cancelled. */
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
