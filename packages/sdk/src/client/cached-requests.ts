import { PeerError, RpcCode } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { Connection } from './connection.ts'
import type { ClientMethod, ParamsOf, Requester, ResultOf } from './requester.ts'
import { ResponseCache } from './response-cache.ts'

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
  call<M extends ClientMethod>(method: M, params: ParamsOf<M>, options?: RequestOptions): Promise<ResultOf<M>>
  async call(method: string, params: Params, options?: RequestOptions): Promise<ResultObject> {
    const { requester } = this.#options
    const cache = this.#cache
    if (!cache) return requester.send(method, params, options)
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
      const isStale = cursor !== undefined && error instanceof PeerError && error.rpcCode === RpcCode.InvalidParams
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
