import { ProtocolError, RpcCode } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Link } from '../jsonrpc/link.ts'
import { accountOf } from '../util/account.ts'

export interface UriLimits {
  readonly maxUris: number
  readonly maxCharacters: number
}

const perCaller: UriLimits = { maxUris: 20_000, maxCharacters: 4_000_000 }
const inAll: UriLimits = { maxUris: 500_000, maxCharacters: 64_000_000 }

/**
 * The resources that clients subscribed to, over all sessions and streams of a server. Each URI is kept once, however many
 * wait for it, and what one caller can make us keep is bounded.
 */
export class SubscribedUris {
  readonly #kept = new Map<string, { readonly uri: string; count: number }>()
  readonly #callers = new Map<unknown, Usage>()
  readonly #total = new Usage()
  readonly #limits: { readonly perCaller: UriLimits; readonly inAll: UriLimits }

  constructor(limits = { perCaller, inAll }) {
    this.#limits = limits
  }

  /** Number of subscriptions, those of several clients to the same resource included. */
  get size(): number {
    return this.#total.uris
  }

  /** An empty set, which counts for the caller of a request: by principal, else by address, else by connection. */
  createSet({ stream, link }: Pick<Exchange, 'stream'> & { link: Link }): UriSet {
    const account = accountOf(stream?.request ?? link.transport)
    return new UriSet(this, account ? `${account.isAddress} ${account.name}` : link)
  }

  /** For sets: counts one more URI and returns the one to keep. Throws when there are too many, unless it `mustFit`. */
  add(caller: unknown, uri: string, mustFit: boolean): string {
    const usage = this.#callers.get(caller) ?? new Usage()
    if (!mustFit) {
      usage.check(uri, this.#limits.perCaller, 'One caller can subscribe')
      this.#total.check(uri, this.#limits.inAll, 'All callers together can subscribe')
    }
    usage.add(uri, 1)
    this.#total.add(uri, 1)
    this.#callers.set(caller, usage)
    const kept = this.#kept.get(uri) ?? { uri, count: 0 }
    kept.count++
    this.#kept.set(kept.uri, kept)
    return kept.uri
  }

  /** For sets. */
  delete(caller: unknown, uri: string): void {
    const usage = this.#callers.get(caller)!
    usage.add(uri, -1)
    this.#total.add(uri, -1)
    if (usage.uris === 0) this.#callers.delete(caller)
    const kept = this.#kept.get(uri)!
    if (--kept.count === 0) this.#kept.delete(uri)
  }
}

/** The resources that one session or stream subscribed to. */
export class UriSet {
  readonly #all: SubscribedUris
  readonly #caller: unknown
  readonly #uris = new Set<string>()

  constructor(all: SubscribedUris, caller: unknown) {
    this.#all = all
    this.#caller = caller
  }

  get size(): number {
    return this.#uris.size
  }

  has(uri: string): boolean {
    return this.#uris.has(uri)
  }

  /** @param mustFit Takes it even if there are too many, for a session that another process accepted. */
  add(uri: string, mustFit = false): void {
    if (!this.#uris.has(uri)) this.#uris.add(this.#all.add(this.#caller, uri, mustFit))
  }

  delete(uri: string): void {
    if (this.#uris.delete(uri)) this.#all.delete(this.#caller, uri)
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
      RpcCode.InvalidParams,
      `Too many subscriptions. ${who} to ${maxUris} resources with ${maxCharacters} characters in their URIs.`,
    )
  }

  add(uri: string, by: 1 | -1): void {
    this.uris += by
    this.#characters += by * uri.length
  }
}
