import type { Client } from '../client/client.ts'
import type { TokenBucket } from '../util/token-bucket.ts'
import { notOffered, ResourceStream } from './resource-stream.ts'
import { UpdateQueue } from './update-queue.ts'

/** A subscribed resource, or a part of it, changed. */
export interface ResourceUpdate {
  readonly uri: string
  /** The subscribed resource, if `uri` is a part of it. */
  readonly partOf?: string | undefined
}

type Listener = (update: ResourceUpdate) => void

export interface ServerSubscriptionsOptions {
  /** Runs work with a connected client. */
  use(work: (client: Client) => Promise<void>): Promise<void>
  /** The notifications that this server may cause. */
  readonly updateBudget: TokenBucket
  /** The last subscription ended. */
  onEmpty(): void
  /** The server sends more updates than are passed on. */
  onFlood(): void
  onError(error: unknown): void
}

/** The subscriptions to resources of one server. They survive the loss of its connection. */
export class ServerSubscriptions {
  readonly #options: ServerSubscriptionsOptions
  readonly #listeners = new Map<string, Set<Listener>>()
  /** How many subscribed URIs have each length. */
  readonly #lengths = new Map<number, number>()
  readonly #updates: UpdateQueue
  /** What the server of this connection was told, and the requests that tell it: for one URI, one at a time. */
  #subscribed = new Set<string>()
  #requests = new Map<string, Promise<void>>()
  #client: Client | undefined
  #stream: ResourceStream | undefined
  /** Whether a connection was lost since the first subscription, so that updates may be missing. */
  #hasGap = false

  constructor(options: ServerSubscriptionsOptions) {
    this.#options = options
    const { updateBudget: budget, onFlood } = options
    const deliver = (uri: string) => this.#updated(uri)
    this.#updates = new UpdateQueue({ budget, deliver, subscribed: () => this.#listeners, onFlood })
  }

  /** Whether the connection has to stay open. */
  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  /** @returns A function that ends the subscription. */
  async add(uri: string, given: Listener): Promise<() => Promise<void>> {
    const listener: Listener = (update) => given(update)
    const listeners = this.#listeners.get(uri) ?? new Set()
    if (listeners.size === 0) this.#countLength(uri, 1)
    this.#listeners.set(uri, listeners.add(listener))
    try {
      await this.#options.use((client) => this.#tell(client, uri))
    } catch (error) {
      await this.#remove(uri, listener)
      throw error
    }
    return () => this.#remove(uri, listener)
  }

  /** A connection was opened. Subscriptions ended with the one before. */
  connected(client: Client): void {
    this.#client = client
    this.#subscribed = new Set()
    this.#requests = new Map()
    const { onError } = this.#options
    const wanted = () => this.#listeners.keys()
    this.#stream = client.rules?.multiRoundTrip ? new ResourceStream({ client, wanted, onError }) : undefined
    client.on('resourceUpdated', ({ uri }) => this.isEmpty || this.#updates.add(uri))
    client.on('updatesMissed', () => this.#updateAll())
    for (const uri of this.#listeners.keys()) this.#tell(client, uri).catch(onError)
    if (this.#hasGap) this.#updateAll()
    this.#hasGap = false
  }

  /** The connection was lost. */
  lost(): void {
    this.#client = undefined
    this.#hasGap = !this.isEmpty
  }

  async #remove(uri: string, listener: Listener): Promise<void> {
    const listeners = this.#listeners.get(uri)
    listeners?.delete(listener)
    if (listeners?.size !== 0) return
    this.#listeners.delete(uri)
    this.#countLength(uri, -1)
    if (this.#client) await this.#tell(this.#client, uri).catch(this.#options.onError)
    if (this.isEmpty) this.#options.onEmpty()
  }

  /** Tells the server whether there are listeners. Two requests at a time could be handled in the wrong order. */
  async #tell(client: Client, uri: string): Promise<void> {
    if (client === this.#client && this.#stream) return this.#stream.update(uri)
    const requests = this.#requests
    const before = requests.get(uri)
    const request = before ? before.catch(() => {}).then(() => this.#request(client, uri)) : this.#request(client, uri)
    requests.set(uri, request)
    try {
      await request
    } finally {
      if (requests.get(uri) === request) requests.delete(uri)
    }
  }

  async #request(client: Client, uri: string): Promise<void> {
    // A newer connection has told its server about all subscriptions.
    if (client !== this.#client) return
    const subscribed = this.#subscribed
    const isWanted = this.#listeners.has(uri)
    if (isWanted === subscribed.has(uri)) return
    if (isWanted) {
      // A client without this capability sends nothing.
      if (!client.getServerCapabilities()?.resources?.subscribe) throw notOffered(uri)
      await client.subscribeResource(uri)
      subscribed.add(uri)
    } else {
      subscribed.delete(uri)
      await client.unsubscribeResource(uri)
    }
  }

  /**
   * 2025-11-25 resources: the updated resource may be a part of the subscribed one.
   * @returns The number of listeners.
   */
  #updated(uri: string): number {
    let count = 0
    // A caller may have thousands of subscriptions, but their URIs have few lengths.
    for (const length of this.#lengths.keys()) {
      const subscribed = length <= uri.length ? uri.slice(0, length) : undefined
      const listeners = subscribed === undefined ? undefined : this.#listeners.get(subscribed)
      for (const listener of [...(listeners ?? [])]) {
        listener(subscribed === uri ? { uri } : { uri, partOf: subscribed })
        count++
      }
    }
    return count
  }

  #countLength({ length }: string, by: 1 | -1): void {
    const count = (this.#lengths.get(length) ?? 0) + by
    if (count > 0) this.#lengths.set(length, count)
    else this.#lengths.delete(length)
  }

  #updateAll(): void {
    for (const [uri, listeners] of this.#listeners) for (const listener of [...listeners]) listener({ uri })
  }
}
