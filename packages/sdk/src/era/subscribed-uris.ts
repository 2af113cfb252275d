import { ErrorCode, ProtocolError } from '../errors.ts'
import type { Caller } from '../protocol/caller.ts'
import { accountOf } from '../util/account.ts'
import type { Call } from './call.ts'

export interface UriLimits {
  readonly maxUris: number
  readonly maxCharacters: number
}

const perCaller: UriLimits = { maxUris: 20_000, maxCharacters: 4_000_000 }
const total: UriLimits = { maxUris: 500_000, maxCharacters: 64_000_000 }

/** Follows the subscriptions of one session or stream. */
export interface SubscriptionFollower {
  /** Updates for this audience reach it. */
  readonly audience: string
  /**
   * @returns A promise if someone else has to confirm the subscription. The client waits for it; if it rejects, the client gets
   * the error and is not subscribed.
   */
  added(uri: string): Promise<void> | void
  removed(uri: string): void
}

/**
 * The resources that clients subscribed to, over all sessions and streams of a server. Each URI is stored once, however many
 * subscribers it has. The memory that one caller can use is bounded.
 */
export class SubscribedUris {
  readonly #entries = new Map<string, { readonly uri: string; count: number }>()
  readonly #callers = new Map<unknown, Usage>()
  readonly #total = new Usage()
  readonly #limits: { readonly perCaller: UriLimits; readonly total: UriLimits }
  /** Called for each new session or stream that subscribes. Default: nothing follows subscriptions. */
  follow: ((call: Pick<Call, 'stream' | 'link'>, caller: Caller) => SubscriptionFollower) | undefined

  constructor(limits = { perCaller, total }) {
    this.#limits = limits
  }

  /** Number of subscriptions. Several clients with the same resource count several times. */
  get size(): number {
    return this.#total.uris
  }

  /** Creates an empty set that counts towards the limit of the caller: its principal, else its address, else its connection. */
  createSet(call: Pick<Call, 'stream' | 'link'>, caller: Caller): UriSet {
    const { stream, link } = call
    const account = accountOf(stream?.request ?? link.transport)
    return new UriSet(this, account ? `${account.isAddress} ${account.name}` : link, this.follow?.(call, caller))
  }

  /** Called by `UriSet`. Returns the shared copy of the URI. Throws if there are too many, unless `mustFit` is set. */
  add(caller: unknown, uri: string, mustFit: boolean): string {
    const usage = this.#callers.get(caller) ?? new Usage()
    if (!mustFit) {
      usage.check(uri, this.#limits.perCaller, 'One caller can subscribe')
      this.#total.check(uri, this.#limits.total, 'All callers together can subscribe')
    }
    usage.add(uri, 1)
    this.#total.add(uri, 1)
    this.#callers.set(caller, usage)
    const entry = this.#entries.get(uri) ?? { uri, count: 0 }
    entry.count++
    this.#entries.set(entry.uri, entry)
    return entry.uri
  }

  /** Called by `UriSet`. */
  delete(caller: unknown, uri: string): void {
    const usage = this.#callers.get(caller)!
    usage.add(uri, -1)
    this.#total.add(uri, -1)
    if (usage.uris === 0) this.#callers.delete(caller)
    const entry = this.#entries.get(uri)!
    if (--entry.count === 0) this.#entries.delete(uri)
  }
}

/** The resources that one session or stream subscribed to. */
export class UriSet {
  readonly #all: SubscribedUris
  readonly #caller: unknown
  readonly #follower: SubscriptionFollower | undefined
  readonly #uris = new Set<string>()
  /** Subscriptions that are not confirmed yet. */
  readonly #confirming = new Map<string, Promise<void>>()

  constructor(all: SubscribedUris, caller: unknown, follower?: SubscriptionFollower | undefined) {
    this.#all = all
    this.#caller = caller
    this.#follower = follower
  }

  get audience(): string | undefined {
    return this.#follower?.audience
  }

  get size(): number {
    return this.#uris.size
  }

  has(uri: string): boolean {
    return this.#uris.has(uri)
  }

  /**
   * @param mustFit Ignores the limits, for subscriptions that another process has accepted.
   * @returns A promise if the subscription has to be confirmed first. If it rejects, the URI is not in the set any more.
   */
  add(uri: string, mustFit = false): Promise<void> | undefined {
    if (this.#uris.has(uri)) return this.#confirming.get(uri)
    this.#uris.add(this.#all.add(this.#caller, uri, mustFit))
    const added = this.#follower?.added(uri)
    if (!added) return undefined
    const confirmed: Promise<void> = added.then(
      () => void this.#settle(uri, confirmed),
      (error) => {
        if (this.#settle(uri, confirmed)) this.delete(uri)
        throw error
      },
    )
    // Nobody waits for it if another resource of the same request is refused first.
    confirmed.catch(() => {})
    this.#confirming.set(uri, confirmed)
    return confirmed
  }

  /** Returns false if the subscription ended meanwhile. Another to the same resource may have begun. */
  #settle(uri: string, confirmed: Promise<void>): boolean {
    return this.#confirming.get(uri) === confirmed && this.#confirming.delete(uri)
  }

  delete(uri: string): void {
    if (!this.#uris.delete(uri)) return
    this.#confirming.delete(uri)
    this.#all.delete(this.#caller, uri)
    this.#follower?.removed(uri)
  }

  clear(): void {
    for (const uri of [...this.#uris]) this.delete(uri)
  }

  values(): string[] {
    return [...this.#uris]
  }
}

class Usage {
  uris = 0
  #characters = 0

  check(uri: string, { maxUris, maxCharacters }: UriLimits, who: string): void {
    if (this.uris < maxUris && this.#characters + uri.length <= maxCharacters) return
    throw new ProtocolError(
      ErrorCode.InvalidParams,
      `Subscription limit reached. ${who} to ${maxUris} resources with ${maxCharacters} characters in their URIs.`,
    )
  }

  add(uri: string, by: 1 | -1): void {
    this.uris += by
    this.#characters += by * uri.length
  }
}
