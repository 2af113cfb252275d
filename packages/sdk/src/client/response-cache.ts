import type { Params, ResultObject } from '../jsonrpc/message.ts'
import { clock } from '../util/clock.ts'

interface Entry {
  /** JSON text, so that every reader gets a copy and the size is known. */
  json: string
  freshUntil: number
  method: string
  uri: string | undefined
}

/** The maximum number of results and of their characters in total; the oldest is evicted first. */
const maxEntries = 500
const maxSize = 16_000_000

/**
 * Caches results until their TTL expires (2026-07-28 caching). Public results are served to every authorization context,
 * private ones only to the context that they were fetched in.
 */
export class ResponseCache {
  readonly #entries = new Map<string, Entry>()
  #invalidations = 0
  #size = 0

  /** Pass it to `put`, so that a result that became stale during the request is not cached. */
  get stamp(): number {
    return this.#invalidations
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  /** @param context The authorization context of the caller; undefined finds public results only. */
  get(method: string, params: Params | undefined, context: string | undefined): ResultObject | undefined {
    const key = keyOf(method, params)
    return this.#fresh(key) ?? (context === undefined ? undefined : this.#fresh(privateKey(key, context)))
  }

  /**
   * @param context The authorization context of the request. If it is unknown, only public results are cached.
   */
  put(
    method: string,
    params: Params | undefined,
    result: ResultObject,
    stamp: number,
    context: string | undefined,
  ): void {
    const ttlMs = result.ttlMs
    if (stamp !== this.#invalidations) return
    if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !isCacheable(params)) return
    const publicKey = keyOf(method, params)
    // If a public result became private, other users must not get the old one.
    this.#delete(publicKey)
    const isPublic = result.cacheScope === 'public'
    if (!isPublic && context === undefined) return
    const uri = typeof params?.uri === 'string' ? params.uri : undefined
    this.#add(isPublic ? publicKey : privateKey(publicKey, context!), {
      json: JSON.stringify(result),
      freshUntil: clock.now() + ttlMs,
      method,
      uri,
    })
  }

  /** Removes the results that became stale. */
  forget(matches: (method: string, uri: string | undefined) => boolean): void {
    this.#invalidations++
    for (const [key, { method, uri }] of this.#entries) if (matches(method, uri)) this.#delete(key)
  }

  clear(): void {
    this.#invalidations++
    this.#entries.clear()
    this.#size = 0
  }

  #fresh(key: string): ResultObject | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    if (clock.now() < entry.freshUntil) return JSON.parse(entry.json)
    this.#delete(key)
    return undefined
  }

  #add(key: string, entry: Entry): void {
    const size = entry.json.length
    this.#delete(key)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < maxEntries && this.#size + size <= maxSize) break
      this.#delete(oldest)
    }
    if (size > maxSize) return
    this.#entries.set(key, entry)
    this.#size += size
  }

  #delete(key: string): void {
    this.#size -= this.#entries.get(key)?.json.length ?? 0
    this.#entries.delete(key)
  }
}

/** Results of requests with input depend on that input, and are not cached. */
function isCacheable(params: Params | undefined): boolean {
  return params?.inputResponses === undefined && params?.requestState === undefined
}

/** The key contains everything that affects the result, that is all params except `_meta`. */
function keyOf(method: string, params: Params = {}): string {
  const relevant = Object.keys(params)
    .filter((name) => name !== '_meta' && params[name] !== undefined)
    .sort()
    .map((name) => [name, params[name]])
  return `${method} ${JSON.stringify(relevant)}`
}

/** Methods contain no line feed, so this never equals the key of a public result. */
function privateKey(key: string, context: string): string {
  return `\n${context}\n${key}`
}
