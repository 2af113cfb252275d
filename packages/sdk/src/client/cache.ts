import type { Params, ResultObject } from '../jsonrpc/message.ts'

interface Kept {
  result: ResultObject
  freshUntil: number
  method: string
  uri: string | undefined
}

/** Results kept at a time; the oldest goes first. */
const maxKept = 500

/**
 * Keeps results for as long as the server says (2026-07-28 caching). One cache belongs to one client and so to one
 * authorization, which is what `private` asks for.
 */
export class ResponseCache {
  readonly #kept = new Map<string, Kept>()
  #forgotten = 0

  /** Hand it to `put`, so that an answer which a change has overtaken is not kept. */
  get stamp(): number {
    return this.#forgotten
  }

  get(method: string, params: Params | undefined): ResultObject | undefined {
    const key = keyOf(method, params)
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    // A copy: whoever reads it may change it.
    if (Date.now() < kept.freshUntil) return structuredClone(kept.result)
    this.#kept.delete(key)
    return undefined
  }

  put(method: string, params: Params | undefined, result: ResultObject, stamp: number): void {
    const ttlMs = result.ttlMs
    if (stamp !== this.#forgotten) return
    if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !isCacheable(params)) return
    const oldest = this.#kept.size >= maxKept ? this.#kept.keys().next().value : undefined
    if (oldest !== undefined) this.#kept.delete(oldest)
    const uri = typeof params?.uri === 'string' ? params.uri : undefined
    const kept = { result: structuredClone(result), freshUntil: Date.now() + ttlMs, method, uri }
    this.#kept.set(keyOf(method, params), kept)
  }

  /** What a notification makes stale; a uri may be that of a part of what was read. */
  forget(matches: (method: string, uri: string | undefined) => boolean): void {
    this.#forgotten++
    for (const [key, { method, uri }] of this.#kept) if (matches(method, uri)) this.#kept.delete(key)
  }

  clear(): void {
    this.#forgotten++
    this.#kept.clear()
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
