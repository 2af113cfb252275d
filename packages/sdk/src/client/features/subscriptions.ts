import type { Listening } from '../../era/client.ts'
import type { Negotiated } from '../../era/negotiate.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { type Backoff, backoffMs, defaultBackoff } from '../../util/backoff.ts'
import { clock } from '../../util/clock.ts'
import { deferred } from '../../util/deferred.ts'
import type { Connection } from '../connection.ts'

/** A subscription to changes. It survives reconnects. */
export interface Subscription {
  /** The part of the filter that the server supports. */
  readonly honoured: SubscriptionFilter
  /** Resolves when the subscription has ended: you, the server or `client.close()` closed it. */
  readonly ended: Promise<void>
  /** Ends the subscription. */
  close(): Promise<void>
}

export interface SubscriptionsOptions {
  readonly connection: Connection
  /** Rejects if the server does not offer resources; undefined if it does. */
  requireResources(): Promise<void> | undefined
  /** Notifications may have been lost. */
  onGap(): void
  onError(error: unknown): void
}

interface OpenSubscription {
  readonly filter: SubscriptionFilter
  /** The stream on the connection in use. */
  listening: Listening
  startedAt: number
  /** How often in a row the stream was lost soon after it started. */
  losses: number
  end(): void
}

/** A stream that lasted this long resets the backoff. */
const stableAfterMs = 10_000
const listenBackoff: Backoff = { ...defaultBackoff, maxDelayMs: 30_000 }

/** Listens for changes, and opens the streams again when they are lost. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #open = new Map<Subscription, OpenSubscription>()
  /** Also those that the server has not confirmed yet. */
  readonly #resources = new Map<string, Promise<Subscription>>()

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  async listen(filter: SubscriptionFilter): Promise<Subscription> {
    const live = await this.#options.connection.ready()
    const ended = deferred<void>()
    const listening = await live.era.listen(live.link, filter)
    const open: OpenSubscription = { filter, listening, startedAt: clock.now(), losses: 0, end: ended.resolve }
    const subscription: Subscription = {
      ended: ended.promise,
      get honoured() {
        return open.listening.honoured
      },
      close: async () => {
        this.#open.delete(subscription)
        await open.listening.close()
        open.end()
      },
    }
    this.#open.set(subscription, open)
    this.#watch(subscription, open, live)
    return subscription
  }

  async subscribeResource(resource: string | { uri: string }): Promise<void> {
    const missing = this.#options.requireResources()
    if (missing) await missing
    const uri = typeof resource === 'string' ? resource : resource.uri
    const subscribing = this.#resources.get(uri) ?? this.listen({ resourceSubscriptions: [uri] })
    this.#resources.set(uri, subscribing)
    try {
      await subscribing
    } catch (error) {
      if (this.#resources.get(uri) === subscribing) this.#resources.delete(uri)
      throw error
    }
  }

  async unsubscribeResource(resource: string | { uri: string }): Promise<void> {
    const uri = typeof resource === 'string' ? resource : resource.uri
    const subscribing = this.#resources.get(uri)
    this.#resources.delete(uri)
    // If it failed, whoever subscribed knows.
    const subscription = await subscribing?.catch(() => undefined)
    await subscription?.close()
  }

  /** Subscribes again on a new connection, because subscriptions end with theirs (2026-07-28 subscriptions). */
  async reopen(live: Negotiated): Promise<void> {
    for (const [subscription, open] of this.#open) {
      open.listening = await live.era.listen(live.link, open.filter)
      open.startedAt = clock.now()
      this.#watch(subscription, open, live)
    }
  }

  /** Closes the streams. On revisions without streams of their own, subscriptions end with the session. */
  async closeStreams(live: Negotiated | undefined): Promise<void> {
    if (live?.era.facts.revision.lacks('subscriptions/listen') !== false) return
    for (const { listening } of this.#open.values()) await listening.close()
  }

  /** The client is closed. */
  end(): void {
    for (const { end } of this.#open.values()) end()
  }

  /** A stream that was lost is opened again. If the whole connection was lost, `reopen` does it. */
  #watch(subscription: Subscription, open: OpenSubscription, live: Negotiated): void {
    const { connection } = this.#options
    void open.listening.ended.then((how) => {
      if (how === 'closed' || connection.isClosing) {
        this.#open.delete(subscription)
        open.end()
      } else if (connection.live === live) void this.#listenAgain(subscription, open, live)
    })
  }

  /** Retries for as long as the client is open: the server may be away for a long time. */
  async #listenAgain(subscription: Subscription, open: OpenSubscription, live: Negotiated): Promise<void> {
    const { connection, onGap, onError } = this.#options
    if (clock.now() - open.startedAt > stableAfterMs) open.losses = 0
    for (let failures = 0; ; failures++) {
      await connection.pause(backoffMs(listenBackoff, open.losses++))
      if (connection.live !== live || !this.#open.has(subscription)) return
      try {
        const listening = await live.era.listen(live.link, open.filter)
        if (!this.#open.has(subscription)) return await listening.close()
        open.listening = listening
        open.startedAt = clock.now()
        onGap()
        return this.#watch(subscription, open, live)
      } catch (error) {
        if (failures === 0) onError(error)
      }
    }
  }
}
