import { metaKeys } from 'tenon'
import { isObject, type JsonObject } from 'tenon/internal'
import { currentOperation } from './operation-context.ts'

/** The direction of a message. */
export type Direction = 'sent' | 'received'

/**
 * Finds the operation that each message of a connection belongs to: requests are sent while it runs, and everything else refers
 * to a request, by its id, by a progress token, or by the HTTP exchange that carries both.
 */
export class MessageOwners {
  /** Operations of requests that we sent, by id. */
  readonly #ours = new BoundedMap<string>()
  /** Operations of requests of the server, by id. */
  readonly #theirs = new BoundedMap<string>()
  readonly #exchanges = new BoundedMap<string>()
  readonly #pending = new BoundedMap<true>()
  readonly #lastOwners = new BoundedMap<string | undefined>()
  /** Operations that created a task, by its id. */
  readonly #tasks = new BoundedMap<string>()

  /** Returns the operation of a message. */
  ownerOf(direction: Direction, message: unknown, http: string | undefined): string | undefined {
    const owner = this.#find(direction, isObject(message) ? message : {}, http)
    if (owner !== undefined && http !== undefined && direction === 'sent') this.#exchanges.set(http, owner)
    return owner
  }

  /** Returns the operation that created a task. */
  taskOwner(taskId: string): string | undefined {
    return this.#tasks.get(taskId)
  }

  /** Returns the operation of the last request of the server with this method. */
  lastOwner(method: string): string | undefined {
    return this.#lastOwners.get(method)
  }

  /** Whether a message is the response to a request that we sent and that has none yet. */
  takePending(message: unknown): boolean {
    return isObject(message) && message.method === undefined && this.#pending.delete(keyOf(message.id))
  }

  #find(direction: Direction, message: JsonObject, http: string | undefined) {
    const { id, method } = message
    const isRequest = id !== undefined && method !== undefined
    if (direction === 'sent') {
      if (isRequest) return this.#sentRequest(keyOf(id))
      return method === undefined ? this.#theirs.get(keyOf(id)) : (this.#named(message) ?? currentOperation())
    }
    if (method === undefined) return this.#receivedResponse(message)
    const carried = http === undefined ? undefined : this.#exchanges.get(http)
    // Other notifications, such as those of subscriptions, belong to no request.
    const mayBelong = isRequest || method === 'notifications/message'
    const owner = this.#named(message) ?? carried ?? (mayBelong ? this.#only() : undefined)
    if (isRequest) this.#lastOwners.set(String(method), owner)
    if (isRequest && owner !== undefined) this.#theirs.set(keyOf(id), owner)
    return owner
  }

  #sentRequest(key: string): string | undefined {
    const owner = currentOperation()
    this.#pending.set(key, true)
    if (owner !== undefined) this.#ours.set(key, owner)
    return owner
  }

  #receivedResponse({ id, result }: JsonObject): string | undefined {
    const owner = this.#ours.get(keyOf(id))
    const taskId = isObject(result) ? createdTask(result) : undefined
    if (owner !== undefined && taskId !== undefined && !this.#tasks.get(taskId)) this.#tasks.set(taskId, owner)
    return owner
  }

  /** The operation of the request or task that a message names. */
  #named({ params }: JsonObject): string | undefined {
    const { progressToken, requestId, taskId, _meta } = isObject(params) ? params : {}
    const id = progressToken ?? requestId
    const related = isObject(_meta) ? _meta[metaKeys.relatedTask] : undefined
    const task = taskId ?? (isObject(related) ? related.taskId : undefined)
    return (id === undefined ? undefined : this.#ours.get(keyOf(id))) ?? this.#tasks.get(String(task))
  }

  /** On a connection without HTTP exchanges, a question or log message can only belong to the one operation that waits. */
  #only(): string | undefined {
    const owners = new Set<string>()
    for (const key of this.#pending.keys()) {
      const owner = this.#ours.get(key)
      if (owner !== undefined) owners.add(owner)
    }
    return owners.size === 1 ? [...owners][0] : undefined
  }
}

/** More than a connection has in flight. A server must not be able to fill the memory. */
const maxEntries = 1_000

class BoundedMap<V> {
  readonly #map = new Map<string, V>()

  get(key: string): V | undefined {
    return this.#map.get(key)
  }

  keys(): Iterable<string> {
    return this.#map.keys()
  }

  delete(key: string): boolean {
    return this.#map.delete(key)
  }

  set(key: string, value: V): void {
    this.#map.set(key, value)
    const [oldest] = this.#map.keys()
    if (this.#map.size > maxEntries && oldest !== undefined) this.#map.delete(oldest)
  }
}

/** The id of the task in the result of a call, of either dialect. */
function createdTask(result: JsonObject): string | undefined {
  const task = isObject(result.task) ? result.task : result
  return typeof task.taskId === 'string' ? task.taskId : undefined
}

/** The ids 1 and "1" are different. */
function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? ''
}
