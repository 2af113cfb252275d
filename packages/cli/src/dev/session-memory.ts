import { type JsonObject, metaKeys, type RpcNotification, type RpcRequest } from 'tenon'
import { isObject } from 'tenon/internal'
import { metaOf } from './messages.ts'

/** The lists that a server can offer, which are also the names of their capabilities. */
export const listNames = ['tools', 'prompts', 'resources'] as const

/** What a client told the server so far. A new process is told the same, so that the session continues. */
export class SessionMemory {
  readonly #subscriptions = new Map<string, RpcRequest>()
  #initialize: JsonObject | undefined
  #stateless: JsonObject | undefined
  #setLevel: RpcRequest | undefined
  #capabilities: JsonObject = {}
  /** The client sent `notifications/initialized`. */
  isInitialized = false
  /** The revision that `initialize` negotiated. */
  revision: string | undefined

  /**
   * The first request to a new process. Its answer shows that the process is ready. Undefined if the client has not got an answer
   * yet: its own first request is sent instead.
   */
  get greeting(): Pick<RpcRequest, 'method' | 'params'> | undefined {
    // The client goes on in the revision that was negotiated, so that is the one to ask for.
    if (this.#initialize)
      return { method: 'initialize', params: { ...this.#initialize, protocolVersion: this.revision } }
    return this.#stateless && { method: 'server/discover', params: { _meta: this.#stateless } }
  }

  /** Requests that restore the state of the session. */
  get requests(): readonly RpcRequest[] {
    return [...(this.#setLevel ? [this.#setLevel] : []), ...this.#subscriptions.values()]
  }

  /** URIs that the client subscribed to with `resources/subscribe`. */
  get subscribedUris(): readonly string[] {
    return [...this.#subscriptions.keys()]
  }

  /** Whether the server offers a list, in this or an earlier version. */
  offers(list: string): boolean {
    return isObject(this.#capabilities[list])
  }

  /** Remembers what the capabilities of a new process add. Clients keep those of the first one. */
  learnCapabilities(result: JsonObject): void {
    if (isObject(result.capabilities)) this.#capabilities = { ...this.#capabilities, ...result.capabilities }
  }

  /** Remembers a request that succeeded. */
  learn(request: RpcRequest, result: JsonObject): void {
    const { method, params = {} } = request
    if (method === 'initialize') return this.#begin(params, result)
    const meta = metaOf(request)
    if (typeof meta[metaKeys.protocolVersion] === 'string') this.#stateless = callerOf(meta)
    if (method === 'server/discover') this.learnCapabilities(result)
    else if (method === 'logging/setLevel') this.#setLevel = request
    else if (method === 'resources/subscribe') this.#subscriptions.set(String(params.uri), request)
    else if (method === 'resources/unsubscribe') this.#subscriptions.delete(String(params.uri))
  }

  /** Remembers a notification of the client. */
  hear({ method }: RpcNotification): void {
    if (method === 'notifications/initialized') this.isInitialized = true
  }

  #begin(params: JsonObject, result: JsonObject): void {
    this.#initialize = params
    this.revision = typeof result.protocolVersion === 'string' ? result.protocolVersion : undefined
    this.isInitialized = false
    this.#setLevel = undefined
    this.#subscriptions.clear()
    this.#capabilities = {}
    this.learnCapabilities(result)
  }
}

/** The members of `_meta` that describe the client. Others, such as a progress token, belong to one request. */
function callerOf(meta: JsonObject): JsonObject {
  const keys = [metaKeys.protocolVersion, metaKeys.clientInfo, metaKeys.clientCapabilities]
  return Object.fromEntries(keys.filter((key) => meta[key] !== undefined).map((key) => [key, meta[key]]))
}
