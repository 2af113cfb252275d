import type { Params, ResultObject } from '../jsonrpc/message.ts'
import { clock } from '../util/clock.ts'

interface Kept {
  /** As text: it is a copy, and its size is known. */
  json: string
  freshUntil: number
  method: string
  uri: string | undefined
}

/** Results kept at a time, and their characters together; the oldest goes first. */
const maxKept = 500
const maxSize = 16_000_000

/**
 * Caches results until their TTL expires (2026-07-28 caching). Public results are served to every authorization context,
 * private ones only to the context that they were fetched in.
 */
export class ResponseCache {
  readonly #kept = new Map<string, Kept>()
  #forgotten = 0
  #size = 0

  /** Hand it to `put`, so that an answer which a change has overtaken is not kept. */
  get stamp(): number {
    return this.#forgotten
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  /** @param context The authorization context of the caller; undefined finds public results only. */
  get(method: string, params: Params | undefined, context: string | undefined): ResultObject | undefined {
    const key = keyOf(method, params)
    return this.#fresh(key) ?? (context === undefined ? undefined : this.#fresh(privateKey(key, context)))
  }

  /**
   * @param context The authorization context that the result was fetched in. Where it is unknown, only public results are kept.
   */
  put(
    method: string,
    params: Params | undefined,
    result: ResultObject,
    stamp: number,
    context: string | undefined,
  ): void {
    const ttlMs = result.ttlMs
    if (stamp !== this.#forgotten) return
    if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !isCacheable(params)) return
    const publicKey = keyOf(method, params)
    // Once public, a result may have become private: no other user may find the old one then.
    this.#delete(publicKey)
    const isPublic = result.cacheScope === 'public'
    if (!isPublic && context === undefined) return
    const uri = typeof params?.uri === 'string' ? params.uri : undefined
    this.#keep(isPublic ? publicKey : privateKey(publicKey, context!), {
      json: JSON.stringify(result),
      freshUntil: clock.now() + ttlMs,
      method,
      uri,
    })
  }

  /** What a notification makes stale; a uri may be that of a part of what was read. */
  forget(matches: (method: string, uri: string | undefined) => boolean): void {
    this.#forgotten++
    for (const [key, { method, uri }] of this.#kept) if (matches(method, uri)) this.#delete(key)
  }

  clear(): void {
    this.#forgotten++
    this.#kept.clear()
    this.#size = 0
  }

  #fresh(key: string): ResultObject | undefined {
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    if (clock.now() < kept.freshUntil) return JSON.parse(kept.json)
    this.#delete(key)
    return undefined
  }

  #keep(key: string, kept: Kept): void {
    const size = kept.json.length
    this.#delete(key)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < maxKept && this.#size + size <= maxSize) break
      this.#delete(oldest)
    }
    if (size > maxSize) return
    this.#kept.set(key, kept)
    this.#size += size
  }

  #delete(key: string): void {
    this.#size -= this.#kept.get(key)?.json.length ?? 0
    this.#kept.delete(key)
  }
}

/** Answers to questions belong to one conversation and are not kept. */
function isCacheable(params: Params | undefined): boolean {
  return params?.inputResponses === undefined && params?.requestState === undefined
}

/** Everything that affects the result, which is all but `_meta`. */
function keyOf(method: string, params: Params = {}): string {
  const salient = Object.keys(params)
    .filter((name) => name !== '_meta' && params[name] !== undefined)
    .sort()
    .map((name) => [name, params[name]])
  return `${method} ${JSON.stringify(salient)}`
}

/** No method holds a line feed, so this can never be the key of a public result. */
function privateKey(key: string, context: string): string {
  return `\n${context}\n${key}`
}
