import { metaKeys, type RequestId, type RpcMessage, type RpcNotification, type RpcRequest } from 'tenon'
import { isObject } from 'tenon/internal'
import type { DevSession } from './dev-session.ts'
import { isId, isNotification, isRequest, isResponse, metaOf, withMeta } from './messages.ts'

/** One HTTP request of a client without a session. */
export interface SharedClient {
  /** Receives its messages: the request, and perhaps its cancellation. */
  receive(message: unknown): void
}

/**
 * Lets clients of 2026-07-28 share one process: they have no session, so every request stands alone. Two clients may use the same
 * request id or progress token, so the process gets ids that are unique.
 */
export class SharedClients {
  readonly #start: (send: (message: unknown) => void) => DevSession
  readonly #open = new Map<RequestId, OpenRequest>()
  #session: DevSession | undefined
  #count = 0

  /** @param start Starts the process, when the first request comes. */
  constructor(start: (send: (message: unknown) => void) => DevSession) {
    this.#start = start
  }

  /** @param send Sends to the client, on the stream of its request. */
  attach(send: (message: RpcMessage) => void): SharedClient {
    const ids = new Map<RequestId, number>()
    return {
      receive: (message) => {
        this.#session ??= this.#start((answer) => this.#deliver(answer))
        if (isRequest(message)) {
          const id = ++this.#count
          ids.set(message.id, id)
          this.#open.set(id, { request: message, send })
          this.#session.receive(toShared(message, id))
        } else if (isNotification(message)) this.#session.receive(this.#notification(message, ids))
      },
    }
  }

  #notification(notification: RpcNotification, ids: ReadonlyMap<RequestId, number>): RpcNotification {
    const { requestId } = notification.params ?? {}
    const id = isId(requestId) ? ids.get(requestId) : undefined
    if (notification.method !== 'notifications/cancelled' || id === undefined) return notification
    this.#open.delete(id)
    return { ...notification, params: { ...notification.params, requestId: id } }
  }

  #deliver(message: unknown): void {
    const open = isResponse(message) ? this.#open.get(message.id) : this.#clientFor(message)
    if (!open) return
    if (isResponse(message)) {
      this.#open.delete(message.id)
      const { result } = message
      const id = open.request.id
      open.send({ ...message, id, ...(result && { result: ownMeta(result, id) }) })
    } else if (isNotification(message)) open.send(toOwn(message, open.request))
  }

  #clientFor(message: unknown): OpenRequest | undefined {
    if (!isNotification(message)) return undefined
    const id = message.params?.progressToken ?? metaOf(message)[metaKeys.subscriptionId]
    if (isId(id)) return this.#open.get(id)
    // A log message does not say which request it belongs to.
    return [...this.#open.values()].findLast(({ request }) => metaOf(request)[metaKeys.logLevel] !== undefined)
  }
}

interface OpenRequest {
  /** As the client sent it. */
  readonly request: RpcRequest
  send(message: RpcMessage): void
}

function toShared(request: RpcRequest, id: number): RpcRequest {
  const shared = { ...request, id }
  return metaOf(request).progressToken === undefined ? shared : withMeta(shared, { progressToken: id })
}

function toOwn(notification: RpcNotification, request: RpcRequest): RpcNotification {
  const { params = {} } = notification
  const own = params.progressToken === undefined ? params : { ...params, progressToken: metaOf(request).progressToken }
  return { ...notification, params: ownMeta(own, request.id) }
}

function ownMeta<T extends { readonly _meta?: unknown }>(value: T, id: RequestId): T {
  const { _meta } = value
  if (!isObject(_meta) || _meta[metaKeys.subscriptionId] === undefined) return value
  return { ...value, _meta: { ..._meta, [metaKeys.subscriptionId]: id } }
}
