import type { CallOptions } from '../era/client.ts'
import { ErrorCode, PeerError } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import { clock } from '../util/clock.ts'
import type { Connection } from './connection.ts'
import type { ClientMethod, ParamsOf, Requester, ResultOf } from './requester.ts'

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

export interface CachedRequestsOptions {
  readonly connection: Connection
  readonly requester: Requester
  /** `false`: no cache. `true`: caches private results although the transport hides whose they are. */
  readonly cache: boolean | undefined
}

/** Requests whose results are cached for as long as the server allows. */
export class CachedRequests {
  readonly #options: CachedRequestsOptions
  readonly #cache: ResponseCache | undefined

  constructor(options: CachedRequestsOptions) {
    this.#options = options
    this.#cache = options.cache === false ? undefined : new ResponseCache()
  }

  /** Returns the cached result, or sends the request. The result may be `input_required`, which is not cached. */
  call<M extends ClientMethod>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>
  async call(method: string, params: Params, options?: CallOptions): Promise<ResultObject> {
    const { requester } = this.#options
    const cache = this.#cache
    // A call with input of its own is made for one of several users.
    if (!cache || options?.input) return requester.send(method, params, options)
    const cached = cache.isEmpty ? undefined : cache.get(method, params, await this.#authorizationContext())
    if (cached) return cached
    const { stamp } = cache
    // The credentials may change until the request is sent, and again when the server rejects them.
    let context = this.#separatesUsers ? undefined : ''
    const onAuthorized = (sent: string) => {
      context = sent
    }
    const result = await requester.send(method, params, { ...options, onAuthorized })
    if (!requester.requiresInput(method, result)) {
      cache.put(method, params, result, stamp, this.#mayCachePrivate ? context : undefined)
    }
    return result
  }

  /** Fetches one page of a list. */
  async page<M extends ClientMethod>(
    method: M,
    cursor: string | undefined,
    options: RequestOptions | undefined,
  ): Promise<ResultOf<M>>
  async page(method: ClientMethod, cursor: string | undefined, options?: RequestOptions): Promise<ResultObject> {
    try {
      return await this.call(method, cursor === undefined ? {} : { cursor }, options)
    } catch (error) {
      // A cursor that became invalid came from a page that is outdated (2026-07-28 caching).
      const isStale = cursor !== undefined && error instanceof PeerError && error.rpcCode === ErrorCode.InvalidParams
      if (isStale) this.forget((cached) => cached === method)
      throw error
    }
  }

  /** Removes the results of some requests. `uri` is that of `resources/read`. */
  forget(matches: (method: string, uri: string | undefined) => boolean): void {
    this.#cache?.forget(matches)
  }

  clear(): void {
    this.#cache?.clear()
  }

  /** Whether requests on one connection may act for different users. */
  get #separatesUsers(): boolean {
    return this.#options.connection.transport?.authorizationContext !== undefined
  }

  /** Credentials that are invisible to the client may belong to another user by the next request. */
  get #mayCachePrivate(): boolean {
    const { cache, connection } = this.#options
    return cache === true || !connection.transport?.hidesCredentials
  }

  /** Undefined if it is unknown. The request that needs the credentials reports what is wrong with them. */
  async #authorizationContext(): Promise<string | undefined> {
    if (!this.#mayCachePrivate) return undefined
    try {
      return (await this.#options.connection.transport?.authorizationContext?.()) ?? ''
    } catch {
      return undefined
    }
  }
}
