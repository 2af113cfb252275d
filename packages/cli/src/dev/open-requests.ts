import type { RequestId, RpcRequest } from 'tenon'
import { isId, metaOf } from './messages.ts'

/** A request of the client that has no response yet. */
export interface OpenRequest<Server> {
  readonly request: RpcRequest
  /** The process that has it; undefined while it waits for the next one. */
  server: Server | undefined
  readonly since: number
}

/** The requests of the client that have no response yet, in the order in which they came. */
export class OpenRequests<Server> {
  readonly #open = new Map<RequestId, OpenRequest<Server>>()
  readonly #onEmpty: (() => void)[] = []

  /** Requests that wait for the next process. */
  get waiting(): OpenRequest<Server>[] {
    return this.of(undefined)
  }

  /** Requests that a process has. */
  of(server: Server | undefined): OpenRequest<Server>[] {
    return [...this.#open.values()].filter((open) => open.server === server)
  }

  get(id: unknown): OpenRequest<Server> | undefined {
    return isId(id) ? this.#open.get(id) : undefined
  }

  add(request: RpcRequest, server: Server | undefined): OpenRequest<Server> {
    const open = { request, server, since: performance.now() }
    this.#open.set(request.id, open)
    return open
  }

  /** Removes a request that has its response now. */
  delete({ request }: OpenRequest<Server>): void {
    this.#open.delete(request.id)
    if (this.newest === undefined) for (const resolve of this.#onEmpty.splice(0)) resolve()
  }

  /** Resolves when all requests have their responses. Listeners have none, so they do not count. */
  async allAnswered(): Promise<void> {
    if (this.newest !== undefined) await new Promise<void>((resolve) => this.#onEmpty.push(resolve))
  }

  /** The request with a progress token. */
  withToken(token: unknown): RpcRequest | undefined {
    for (const { request } of this.#open.values()) if (metaOf(request).progressToken === token) return request
    return undefined
  }

  /** The request that a message without a reference most probably belongs to: the newest. */
  get newest(): RpcRequest | undefined {
    return [...this.#open.values()].findLast(({ request }) => request.method !== 'subscriptions/listen')?.request
  }
}
