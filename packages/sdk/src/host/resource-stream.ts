import type { Client } from '../client/client.ts'
import type { Subscription } from '../client/features/subscriptions.ts'
import { McpError } from '../errors.ts'

export interface ResourceStreamOptions {
  readonly client: Client
  /** The resources that have to be subscribed to. */
  wanted(): Iterable<string>
  onError(error: unknown): void
}

interface OpenStream {
  readonly subscription: Subscription
  readonly uris: ReadonlySet<string>
}

/**
 * The subscribed resources of a server whose requests stand alone. Each stream costs a request that stays open, and servers limit
 * their number, so a new stream also takes over the resources of those that are not larger: there are few, and subscribing to
 * many resources one after the other does not send the whole list each time.
 */
export class ResourceStream {
  readonly #options: ResourceStreamOptions
  #streams: readonly OpenStream[] = []
  #failures = new Map<string, unknown>()
  #last: Promise<void> = Promise.resolve()
  /** Changes at the same time need one new stream. */
  #next: Promise<void> | undefined

  constructor(options: ResourceStreamOptions) {
    this.#options = options
  }

  /** Resolves when the streams are up to date. Rejects if the server refused this resource. */
  async update(uri: string): Promise<void> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined
      return this.#apply(new Set(this.#options.wanted()))
    })
    this.#last = this.#next
    await this.#next
    if (this.#failures.has(uri)) throw this.#failures.get(uri)
  }

  /** If the server refuses the resources, it may accept all but one. */
  async #apply(wanted: ReadonlySet<string>): Promise<void> {
    this.#failures = new Map()
    for (const stream of this.#streams) {
      const kept = [...stream.uris].filter((uri) => wanted.has(uri))
      if (kept.length < stream.uris.size) await this.#replace([stream], kept)
    }
    const known = new Set(this.#streams.flatMap(({ uris }) => [...uris]))
    const added = [...wanted].filter((uri) => !known.has(uri))
    if (added.length === 0 || (added.length > 1 && (await this.#add(added)) === undefined)) return
    for (const uri of added) {
      const failure = await this.#add([uri])
      if (failure) this.#failures.set(uri, failure.error)
    }
  }

  #add(added: readonly string[]): Promise<{ error: unknown } | undefined> {
    const uris = [...added]
    const replaced: OpenStream[] = []
    for (const stream of [...this.#streams].sort((a, b) => a.uris.size - b.uris.size)) {
      if (stream.uris.size > uris.length) break
      replaced.push(stream)
      uris.push(...stream.uris)
    }
    return this.#replace(replaced, uris)
  }

  async #replace(before: readonly OpenStream[], uris: readonly string[]): Promise<{ error: unknown } | undefined> {
    const { client, onError } = this.#options
    const others = this.#streams.filter((stream) => !before.includes(stream))
    try {
      const opened = uris.length > 0 ? await this.#open(client, uris) : undefined
      this.#streams = opened ? [...others, opened] : others
    } catch (error) {
      return { error }
    }
    // Afterwards, so that no update is missed.
    for (const { subscription } of before) subscription.close().catch(onError)
    return undefined
  }

  async #open(client: Client, wanted: readonly string[]): Promise<OpenStream> {
    const subscription = await client.listen({ resourceSubscriptions: [...wanted] })
    const uris = new Set(subscription.honoured.resourceSubscriptions)
    for (const uri of wanted) if (!uris.has(uri)) this.#failures.set(uri, notOffered(uri))
    return { subscription, uris }
  }
}

/** The error for a resource whose updates a server does not send. */
export function notOffered(uri: string): McpError {
  return new McpError('capability-missing', `the server does not send updates of ${uri.slice(0, 200)}`)
}
