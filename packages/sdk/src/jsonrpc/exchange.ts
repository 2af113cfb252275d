import { McpError } from '../errors.ts'
import { joinSignals } from '../util/abort.ts'
import type { Link } from './link.ts'
import type { Batch, Params, Prepared, ResultObject, RpcErrorBody, RpcRequest } from './message.ts'
import type { SendOptions } from './pending.ts'
import type { ReplyStream } from './transport.ts'

const maxRefused = 100

/** One received request, until it has its response. */
export class Exchange {
  readonly request: RpcRequest
  readonly link: Link
  /** Carries everything that belongs to the request; undefined if the transport has a single channel. */
  readonly stream: ReplyStream | undefined
  /** The batch that the request is a member of. */
  readonly batch: Batch | undefined
  #controller: AbortController | undefined
  #reason: unknown
  #ended = false
  #cancelled = false
  #handled = false
  #onEnd: (() => void)[] | undefined
  #refused = 0
  /** Cancels our requests to the peer that belong to this one. */
  #questions: AbortController | undefined

  constructor(request: RpcRequest, link: Link, stream?: ReplyStream, batch?: Batch) {
    this.request = request
    this.link = link
    this.stream = stream
    this.batch = batch
  }

  /** True once the response was sent or the request was cancelled. Nothing more may be sent for it. */
  get ended(): boolean {
    return this.#ended
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  /** Created on first use: most handlers never read it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#cancelled) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  reply(result: ResultObject | Prepared): void {
    if (this.#end()) this.link.sendResult(this, result)
  }

  fail(error: RpcErrorBody): void {
    if (this.#end()) this.link.sendError(this, error)
  }

  /** Sends a notification that belongs to this request; ignored once the request has ended. */
  notify(method: string, params?: Params): void {
    if (!this.#ended) this.link.notify(method, params, this.stream)
  }

  /** Sends a request to the peer that belongs to this one and is cancelled when this one ends. */
  ask(method: string, params: Params | undefined, options: SendOptions): Promise<ResultObject> {
    if (this.#ended) return this.refuseLate(method)
    this.#questions ??= new AbortController()
    const over = this.#questions.signal
    const sent = { ...options, progress: true, stream: this.stream }
    if (!options.signal) return this.link.request(method, params, { ...sent, signal: over })
    const { signal, release } = joinSignals([options.signal, over])
    return this.link.request(method, params, { ...sent, signal }).finally(release)
  }

  /** Rejects a request to the peer after this one has ended. A handler that keeps trying gets a promise that never settles, so that it cannot loop. */
  refuseLate(method: string): Promise<never> {
    if (++this.#refused > maxRefused) return new Promise(() => {})
    return Promise.reject(new McpError('cancelled', `${method} was not sent: the request it belongs to has ended`))
  }

  /** Ends the request without a response. */
  cancel(reason: unknown): void {
    if (this.#ended) return
    this.#cancelled = true
    this.#reason = reason
    this.#end()
    this.link.sendNothing(this)
    this.#controller?.abort(reason)
  }

  /** The handler has returned, whether or not the request has ended. */
  handled(): void {
    if (this.#handled) return
    this.#handled = true
    this.link.handled()
  }

  onEnd(callback: () => void): void {
    if (this.#ended) return callback()
    this.#onEnd ??= []
    this.#onEnd.push(callback)
  }

  #end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.link.forget(this)
    this.#questions?.abort(this.#reason ?? 'The request has ended')
    if (this.#onEnd) for (const callback of this.#onEnd) callback()
    return true
  }
}

/** The requests of a peer that are in progress, by id. Most peers have one at a time, which needs no table. */
export class InFlight {
  #one: Exchange | undefined
  #others: Map<unknown, Exchange> | undefined

  get size(): number {
    return (this.#one ? 1 : 0) + (this.#others?.size ?? 0)
  }

  /** @param id As a peer sent it, so it can be anything. */
  get(id: unknown): Exchange | undefined {
    return this.#one && this.#one.request.id === id ? this.#one : this.#others?.get(id)
  }

  add(exchange: Exchange): void {
    if (!this.#one) {
      this.#one = exchange
      return
    }
    this.#others ??= new Map()
    this.#others.set(exchange.request.id, exchange)
  }

  delete(exchange: Exchange): void {
    if (this.#one === exchange) this.#one = undefined
    else this.#others?.delete(exchange.request.id)
  }

  all(): Exchange[] {
    return [...(this.#one ? [this.#one] : []), ...(this.#others?.values() ?? [])]
  }
}
