import { type CloseDetail, ClosedError, McpError, PeerError } from '../errors.ts'
import { isThenable } from '../util/chain.ts'
import { warnOnce } from '../util/warn.ts'
import { Batch } from './batch.ts'
import { Exchange } from './exchange.ts'
import {
  encodeRequest,
  encodeResult,
  Fault,
  kindOf,
  type Params,
  Prepared,
  type RequestId,
  type ResultObject,
  type RpcErrorBody,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './message.ts'
import { PendingRequests, type RequestOptions } from './pending.ts'
import type { Transport } from './transport.ts'

/** The side that answers: a server, or a client for what servers ask. */
export interface Receiver {
  request(exchange: Exchange): void
  notification(notification: RpcNotification, link: Link): void
  /** The link is about to end: finish what would otherwise stay open for ever. */
  drain?(link: Link): void
  closed?(link: Link, detail: CloseDetail | undefined): void
  /** Takes what went wrong on our side and cannot be told to the peer. */
  error(error: unknown): void
}

/** What a request may need besides what callers can say. */
export interface SendOptions extends RequestOptions {
  /** Ask for progress even if nobody but the timeout listens to it. */
  progress?: boolean | undefined
  /** Takes the id that the request went out with. */
  onSent?: ((id: number) => void) | undefined
  /** Members that every request carries in `_meta`, as JSON text without braces. */
  meta?: string | undefined
}

export interface LinkLimits {
  /** Requests of one peer that may be worked on at a time. Default 10,000. */
  maxInFlight?: number | undefined
  /** Messages in one batch. Default 100. */
  maxBatch?: number | undefined
}

/**
 * One peer: receives its messages, matches answers to requests, and is the way back to it. All tables live here and
 * die with it, so equal ids of different peers never meet.
 */
export class Link {
  readonly transport: Transport
  readonly #receiver: Receiver
  readonly #limits: Required<LinkLimits>
  readonly #pending = new PendingRequests(
    (id, method, reason) => this.#giveUp(id, method, reason),
    (error) => this.#receiver.error(error),
  )
  readonly #inFlight = new Map<RequestId, Exchange>()
  readonly #batches = new Map<RequestId, Batch>()
  #running = 0
  #closed: CloseDetail | true | undefined
  #onIdle: (() => void) | undefined

  /** Set by an era: whether what cannot be read is answered with an error. A client of 2026-07-28 never answers. */
  answersFaults = true
  /** Set by an era: whether this peer may send batches. */
  batching = false
  /** Set by an era: whether an error about an unreadable request goes without id (2025-11-25 on) or with `id: null`. */
  omitsUnknownId = true
  /** What an era remembers about this peer. */
  session: unknown

  constructor(transport: Transport, receiver: Receiver, limits: LinkLimits = {}) {
    this.transport = transport
    this.#receiver = receiver
    this.#limits = { maxInFlight: limits.maxInFlight ?? 10_000, maxBatch: limits.maxBatch ?? 100 }
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  async open(): Promise<void> {
    const { transport } = this
    transport.onmessage = (message) => this.#receive(message)
    transport.onfault = (fault) => this.#refuse(fault)
    transport.onerror = (error) => this.#receiver.error(error)
    transport.onend = () => void this.close()
    transport.onclose = (detail) => this.#ended(detail)
    await transport.start()
  }

  request(method: string, params?: Params, options?: SendOptions): Promise<ResultObject> {
    if (this.#closed) return Promise.reject(this.#closedError(method))
    return this.#pending.add(method, options, (id) => {
      options?.onSent?.(id)
      const text = toText(method, () => encodeRequest(id, method, params, metaOf(id, options)))
      if (this.transport.sendText) return this.transport.sendText(text)
      this.#sendMessage(JSON.parse(text), (error) => this.#pending.fail(id, error))
    })
  }

  notify(method: string, params?: Params): void {
    if (this.#closed) return
    this.#sendMessage({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Ends gracefully: what is in flight gets `graceMs` to be answered, then the rest is cancelled. */
  async close(graceMs = 2_000): Promise<void> {
    if (this.#closed) return
    this.#receiver.drain?.(this)
    if (this.#inFlight.size > 0 && graceMs > 0) await this.#idle(graceMs)
    await this.transport.close()
    this.#ended()
  }

  /** For exchanges only. */
  sendResult(id: RequestId, result: ResultObject | Prepared): void {
    const batch = this.#batches.size > 0 ? this.#batches.get(id) : undefined
    if (batch) return this.#answerInBatch(batch, id, this.#toResponse(id, result))
    if (this.#closed) return
    if (!this.transport.sendText) return this.#sendMessage({ jsonrpc: '2.0', id, result: materialise(result) })
    let text: string
    try {
      text = encodeResult(id, result)
    } catch (error) {
      this.#receiver.error(error)
      return this.sendError(id, { code: -32603, message: 'Internal error' })
    }
    this.#sendText(text)
  }

  /** One member that cannot be sent must not take the others of its batch with it. */
  #toResponse(id: RequestId, result: ResultObject | Prepared): RpcResponse {
    try {
      return JSON.parse(encodeResult(id, result))
    } catch (error) {
      this.#receiver.error(error)
      return errorResponse(id, -32603, 'Internal error')
    }
  }

  /** For exchanges only. */
  sendError(id: RequestId, error: RpcErrorBody): void {
    const response: RpcResponse = { jsonrpc: '2.0', id, error }
    const batch = this.#batches.get(id)
    if (batch) this.#answerInBatch(batch, id, response)
    else if (!this.#closed) this.#sendMessage(response)
  }

  /** For exchanges only: a cancelled member must not hold back the answers of its batch. */
  sendNothing(id: RequestId): void {
    const batch = this.#batches.get(id)
    if (batch) this.#answerInBatch(batch, id, undefined)
  }

  /** For exchanges only. A handler goes on after its request was cancelled, and counts until it ends. */
  handled(): void {
    this.#running--
  }

  /** For exchanges only. */
  forget(exchange: Exchange): void {
    this.#inFlight.delete(exchange.request.id)
    if (this.#onIdle && this.#inFlight.size === 0) this.#onIdle()
  }

  #receive(value: unknown): void {
    if (Array.isArray(value)) return this.#receiveBatch(value)
    const kind = kindOf(value)
    if (kind === 'request') this.#startExchange(value as RpcRequest)
    else if (kind === 'notification') this.#notified(value as RpcNotification)
    else if (kind === 'response') this.#answered(value as RpcResponse)
    else this.#refuse(kind)
  }

  #startExchange(request: RpcRequest): void {
    const problem = this.#problemWith(request)
    // Not as the answer to the other request of this id, which may be a member of a batch.
    if (problem) return this.#sendMessage(errorResponse(request.id, -32600, problem))
    const exchange = new Exchange(request, this)
    this.#inFlight.set(request.id, exchange)
    this.#running++
    this.#receiver.request(exchange)
  }

  #problemWith(request: RpcRequest): string | undefined {
    if (this.#inFlight.has(request.id)) return 'A request with this id is still in progress'
    if (this.#running >= this.#limits.maxInFlight) return 'Too many requests in progress'
    return undefined
  }

  #notified(notification: RpcNotification): void {
    const { method, params } = notification
    if (method === 'notifications/progress') this.#pending.progress(params ?? {})
    else if (method === 'notifications/cancelled') this.#cancelled(params ?? {})
    this.#receiver.notification(notification, this)
  }

  /** Unknown, finished and malformed cancellations are ignored (2025-11-25 cancellation, error handling). */
  #cancelled(params: Params): void {
    const exchange = this.#inFlight.get(params.requestId as RequestId)
    if (!exchange || exchange.request.method === 'initialize') return
    exchange.cancel(typeof params.reason === 'string' ? params.reason : 'The peer cancelled the request')
  }

  #answered(response: RpcResponse): void {
    const { id, error } = response
    const known =
      id !== undefined &&
      id !== null &&
      (error
        ? this.#pending.fail(id, new PeerError(error.code, error.message, error.data))
        : this.#pending.settle(id, response.result!))
    // An answer that comes after its request was given up is normal; one that nobody asked for is worth a word.
    if (known || (id !== undefined && id !== null && this.#pending.wasOurs(id))) return
    if (error) this.#receiver.error(new PeerError(error.code, error.message, error.data))
    else warnOnce('response-to-nobody', 'The peer answered a request that was never made; the answer is ignored.')
  }

  #receiveBatch(messages: unknown[]): void {
    if (!this.batching)
      return this.#refuse(new Fault(-32600, 'This revision has no batches: send one message at a time'))
    if (messages.length === 0) return this.#refuse(new Fault(-32600, 'A batch cannot be empty'))
    if (messages.length > this.#limits.maxBatch) {
      return this.#refuse(new Fault(-32600, `A batch holds at most ${this.#limits.maxBatch} messages`))
    }
    const batch = new Batch((answers) => this.#sendMessage(answers))
    for (const message of messages) this.#receiveMember(message, batch)
    batch.seal()
  }

  #receiveMember(message: unknown, batch: Batch): void {
    const kind = kindOf(message)
    if (kind instanceof Fault && kind.meant === 'answer') return this.#refuse(kind)
    if (kind instanceof Fault) return batch.answer(this.#faultResponse(kind))
    if (kind !== 'request') return this.#receive(message)
    const request = message as RpcRequest
    if (request.method === 'initialize') {
      return batch.answer(errorResponse(request.id, -32600, 'initialize cannot be part of a batch'))
    }
    const problem = this.#problemWith(request)
    if (problem) return batch.answer(errorResponse(request.id, -32600, problem))
    batch.expect()
    this.#batches.set(request.id, batch)
    this.#startExchange(request)
  }

  #answerInBatch(batch: Batch, id: RequestId, response: RpcResponse | undefined): void {
    this.#batches.delete(id)
    batch.settle(response)
  }

  #refuse(fault: Fault): void {
    if (this.#closed || this.#failsWaiting(fault)) return
    if (fault.meant === 'answer' || !this.answersFaults) this.#receiver.error(unreadable(fault))
    else this.#sendMessage(this.#faultResponse(fault))
  }

  /** Whoever waits for an answer that turned out unreadable is told at once. */
  #failsWaiting(fault: Fault): boolean {
    return fault.meant !== 'request' && fault.id !== undefined && this.#pending.fail(fault.id, unreadable(fault))
  }

  #faultResponse(fault: Fault): RpcResponse {
    if (fault.id !== undefined) return errorResponse(fault.id, fault.code, fault.message)
    const response = errorResponse(null, fault.code, fault.message)
    if (this.omitsUnknownId) delete response.id
    return response
  }

  #giveUp(id: number, method: string, reason: string): void {
    // 2025-11-25 cancellation: initialize is never cancelled.
    if (method !== 'initialize') this.notify('notifications/cancelled', { requestId: id, reason })
  }

  /** @param onFailure Takes a failure that comes later; without it, every failure is reported and nothing thrown. */
  #sendMessage(message: RpcMessage | RpcMessage[], onFailure?: (error: unknown) => void): void {
    const failed = onFailure ?? ((error: unknown) => this.#receiver.error(error))
    try {
      if (this.transport.sendText) return this.transport.sendText(JSON.stringify(message))
      const sent = this.transport.send(message)
      if (isThenable(sent)) sent.then(undefined, failed)
    } catch (error) {
      if (onFailure) throw error
      failed(error)
    }
  }

  /** A peer that cannot be sent an answer, because it does not read, is given up. */
  #sendText(text: string): void {
    try {
      this.transport.sendText!(text)
    } catch (error) {
      this.#receiver.error(error)
      this.#ended()
      void this.transport.close()
    }
  }

  #idle(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #ended(detail?: CloseDetail): void {
    if (this.#closed) return
    this.#closed = detail ?? true
    for (const exchange of [...this.#inFlight.values()]) exchange.cancel('The connection closed')
    this.#pending.failAll(this.#closedError())
    this.#receiver.closed?.(this, detail)
  }

  #closedError(method?: string): McpError {
    const detail = this.#closed === true ? undefined : this.#closed
    const what = method
      ? `${method} was not sent: the connection is closed`
      : 'The connection closed before the answer came'
    return new ClosedError(what + describe(detail), detail)
  }
}

function toText(method: string, encode: () => string): string {
  try {
    return encode()
  } catch (cause) {
    throw new McpError(
      'invalid-argument',
      `${method}: the params cannot be sent as JSON: ${(cause as Error).message}`,
      { cause },
    )
  }
}

function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The peer sent something unreadable: ${fault.message}`)
}

function metaOf(id: number, options: SendOptions | undefined): string {
  if (!options) return ''
  const token = options.progress || options.onProgress ? `"progressToken":${id}` : ''
  if (options.meta === undefined) return token
  return token === '' ? options.meta : `${options.meta},${token}`
}

function errorResponse(id: RequestId | null, code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function materialise(result: ResultObject | Prepared): ResultObject {
  return result instanceof Prepared ? JSON.parse(result.json) : result
}

function describe(detail: CloseDetail | undefined): string {
  if (!detail) return ''
  const how = detail.signal ? `signal ${detail.signal}` : `exit code ${detail.exitCode}`
  const said = detail.stderr?.trim()
  return ` (${how})${said ? `. The last it wrote to stderr:\n${said}` : ''}`
}
