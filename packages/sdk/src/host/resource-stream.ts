import type { Client } from '../client/client.ts'
import type { Subscription } from '../client/features/subscriptions.ts'

export interface ResourceStreamOptions {
  readonly client: Client
  /** The resources that have to be on the stream. */
  wanted(): Iterable<string>
  onError(error: unknown): void
}

/**
 * One stream for all subscribed resources of a server whose requests stand alone. Each stream costs a request that stays open, and
 * servers limit their number. If the resources change, another stream replaces it.
 */
export class ResourceStream {
  readonly #options: ResourceStreamOptions
  #stream: Subscription | undefined
  #uris: ReadonlySet<string> = new Set()
  #failures = new Map<string, unknown>()
  #last: Promise<void> = Promise.resolve()
  /** Changes at the same time need one new stream. */
  #next: Promise<void> | undefined

  constructor(options: ResourceStreamOptions) {
    this.#options = options
  }

  /** Resolves when the stream is up to date. Rejects if the server refused this resource. */
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
    const added = [...wanted].filter((uri) => !this.#uris.has(uri))
    if (added.length === 0 && wanted.size === this.#uris.size) return
    if (added.length > 1 && (await this.#replace(wanted)) === undefined) return
    const kept = [...this.#uris].filter((uri) => wanted.has(uri))
    if (added.length === 0) await this.#replace(new Set(kept))
    for (const uri of added) {
      const failure = await this.#replace(new Set([...kept, uri]))
      if (failure) this.#failures.set(uri, failure.error)
      else kept.push(uri)
    }
  }

  async #replace(uris: ReadonlySet<string>): Promise<{ error: unknown } | undefined> {
    const { client, onError } = this.#options
    const before = this.#stream
    try {
      this.#stream = uris.size > 0 ? await client.listen({ resourceSubscriptions: [...uris] }) : undefined
    } catch (error) {
      return { error }
    }
    this.#uris = uris
    // Afterwards, so that no update is missed.
    before?.close().catch(onError)
    return undefined
  }
}
