import type { Params, ResultObject } from '../jsonrpc/message.ts'

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
 * Keeps results for as long as the server says (2026-07-28 caching). One cache belongs to one client and so to one
 * authorization, which is what `private` asks for.
 */
export class ResponseCache {
  readonly #kept = new Map<string, Kept>()
  #forgotten = 0
  #size = 0

  /** Hand it to `put`, so that an answer which a change has overtaken is not kept. */
  get stamp(): number {
    return this.#forgotten
  }

  get(method: string, params: Params | undefined): ResultObject | undefined {
    const key = keyOf(method, params)
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    if (Date.now() < kept.freshUntil) return JSON.parse(kept.json)
    this.#delete(key)
    return undefined
  }

  put(method: string, params: Params | undefined, result: ResultObject, stamp: number): void {
    const ttlMs = result.ttlMs
    if (stamp !== this.#forgotten) return
    if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !isCacheable(params)) return
    const json = JSON.stringify(result)
    const uri = typeof params?.uri === 'string' ? params.uri : undefined
    const key = keyOf(method, params)
    this.#delete(key)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < maxKept && this.#size + json.length <= maxSize) break
      this.#delete(oldest)
    }
    if (json.length > maxSize) return
    this.#kept.set(key, { json, freshUntil: Date.now() + ttlMs, method, uri })
    this.#size += json.length
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
